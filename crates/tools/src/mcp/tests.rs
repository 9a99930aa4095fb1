//! Servers, good and bad: the reference servers from npm, and one of our own that does what no server should.

mod asking;
mod hostile;
mod reference;
mod remote;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::mcp::classes::Classes;
use crate::mcp::login::NOWHERE;
use crate::mcp::parked::ParkedCalls;
use crate::mcp::server::Server;
use crate::mcp::settings::{LoginSettings, ServerTransport, Settings};
use crate::mcp::{ServerContext, Servers};
use crate::process_reaper::ProcessReaper;
use crate::registry::Registry;
use crate::registry_handle::ToolRegistryHandle;
use crate::sandbox::program_sandbox::ProgramSandbox;
use crate::{Invocation, Outcome};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::network::NamedPlace;
use hob_core::domain::principal::Role;
use hob_core::domain::rng::SystemRng;

/// A server that is this program.
pub(super) fn program(vector: &[&str]) -> Settings {
    let way = ServerTransport::Program {
        vector: vector.iter().map(|part| (*part).to_owned()).collect(),
        environment: Vec::new(),
        dir: Path::new("/").to_owned(),
        own: None,
    };
    Settings {
        name: "s".to_owned(),
        way,
        trusted_output: false,
        trusted_annotations: false,
        meta: true,
        role: Role::User,
        approval: None,
        undo: BTreeMap::new(),
        arguments: BTreeMap::new(),
        allow: Vec::new(),
        deny: Vec::new(),
        start_within: Duration::from_secs(20),
        call_within: Duration::from_secs(20),
        idle: Duration::from_secs(600),
    }
}

/// One at this address. Tokens may be asked for on this machine.
pub(super) fn at(url: &str) -> ServerTransport {
    let private = vec![NamedPlace::parse("127.0.0.1").unwrap()];
    let login = LoginSettings { client: None, redirect: NOWHERE.to_owned(), private };
    ServerTransport::Address { url: url.to_owned(), bearer: None, headers: Vec::new(), login }
}

/// A house with one server.
pub(super) struct Harness {
    pub(super) dir: Arc<TempDir>,
    shed: Arc<ToolRegistryHandle>,
    servers: Servers,
    stop: CancellationToken,
}

impl Harness {
    /// With this server; what it takes from `settings` may be told by the data directory.
    pub(super) fn with(settings: impl FnOnce(&Path) -> Settings) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let settings = settings(dir.path());
        Self::at(dir, settings)
    }

    pub(super) fn at(dir: Arc<TempDir>, settings: Settings) -> Self {
        let shed = Arc::new(ToolRegistryHandle::new(Registry::default()));
        let place = place(dir.path());
        let stop = place.stop.clone();
        let servers = Servers::new(vec![settings], place, &shed);
        Self { dir, shed, servers, stop }
    }

    /// The same house after a restart of Hob, with this server.
    pub(super) async fn restarted(self, settings: Settings) -> Self {
        self.stopped().await;
        Self::at(Arc::clone(&self.dir), settings)
    }

    pub(super) fn server(&self) -> &Arc<Server> {
        &self.servers.all[0]
    }

    /// Has it asked for its tools, as in the background of a start.
    pub(super) async fn asked(self) -> Self {
        self.server().ask(&tokio::sync::Semaphore::new(1)).await;
        self
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.call_as(tool, Invocation::for_trial(arguments)).await
    }

    async fn call_as(&self, tool: &str, invocation: Invocation) -> Outcome {
        let tool = self.shed.now().get(tool).unwrap_or_else(|| panic!("no {tool}: {}", self.line()));
        Outcome::of(tool.call(invocation).await)
    }

    /// What it answers, whether it is a failure, and what that comes from.
    pub(super) async fn says(&self, tool: &str, arguments: Value) -> String {
        told(self.call(tool, arguments).await)
    }

    pub(super) fn line(&self) -> String {
        self.servers.standing(jiff::Timestamp::UNIX_EPOCH).join("\n")
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.dir.path().join("starts")).unwrap_or_default().lines().count()
    }

    /// Hob stops; everything is gone then.
    pub(super) async fn stopped(&self) {
        self.stop.cancel();
        self.servers.keep(false);
        self.gone().await;
    }

    /// Waits until every process that was let go is gone.
    async fn gone(&self) {
        let tracker = &self.servers.place.as_ref().unwrap().tracker;
        tracker.close();
        tokio::time::timeout(Duration::from_secs(120), tracker.wait()).await.unwrap();
    }
}

fn place(data_dir: &Path) -> ServerContext {
    ServerContext {
        data_dir: data_dir.to_owned(),
        leftovers: ProcessReaper::of(data_dir),
        program_sandbox: ProgramSandbox::none(data_dir),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        tracker: TaskTracker::new(),
        stop: CancellationToken::new(),
        classes: Classes::default(),
        parked: ParkedCalls::default(),
    }
}

fn told(outcome: Outcome) -> String {
    match outcome {
        Outcome::From(source, outcome) => format!("<{}> {}", source.what, told(*outcome)),
        Outcome::Along(files, outcome) => {
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            format!("{} + {}", told(*outcome), names.join(", "))
        }
        Outcome::Text(text) => text,
        Outcome::Error(text) => format!("error: {text}"),
        Outcome::Transient(text) => format!("for now: {text}"),
        other => panic!("{other:?}"),
    }
}

/// Is such a process there? One that has ended and was not yet waited for is not.
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}
