//! A house with a workspace, a secret beside it, and a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hob_config::environment::Environment;
use hob_core::domain::ids::{CallId, UserId};
use hob_core::domain::principal::Principal;
use hob_tools::changes::Drafts;
use hob_tools::draft_workspace::DraftWorkspace;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::confinement::Confinement;
use hob_tools::sandbox::probe::ProbeRequest;
use hob_tools::sandbox::spec::{Limits, SandboxAccess};
use hob_tools::terminal::{Settings, Terminal};
use hob_tools::workspace::Workspace;
use hob_tools::{Invocation, Outcome, Tool};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Whether Hob makes namespaces of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsolationMode {
    Namespaces,
    /// Where it is installed.
    Bubblewrap,
    LandlockAlone,
}

impl IsolationMode {
    /// How a command is told that it may not have what lies outside: in namespaces of its own there is nothing.
    pub(crate) fn refusal(self) -> &'static str {
        match self {
            Self::Namespaces | Self::Bubblewrap => "No such file or directory",
            Self::LandlockAlone => "Permission denied",
        }
    }
}

/// How many commands were run in this process.
static CALLS: AtomicUsize = AtomicUsize::new(1);

pub(crate) const WAYS: [IsolationMode; 2] = [IsolationMode::Namespaces, IsolationMode::LandlockAlone];

pub(crate) struct Harness {
    pub(crate) dir: TempDir,
    pub(crate) sandbox: Sandbox,
    pub(crate) confinement: Confinement,
    pub(crate) draft_workspace: DraftWorkspace,
    pub(crate) terminal: Terminal,
}

impl Harness {
    pub(crate) async fn new(way: IsolationMode) -> Self {
        // Not in /tmp: a command has one of its own there, to write in.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let data_dir = dir.path().join("data");
        let workspace = Workspace::of(&data_dir);
        fs::create_dir_all(&workspace.root).unwrap();
        fs::write(data_dir.join("hob.db"), "a secret").unwrap();
        fs::create_dir_all(dir.path().join("home/.ssh")).unwrap();
        fs::write(dir.path().join("home/.ssh/id_ed25519"), "a secret").unwrap();
        fs::write(dir.path().join("config.toml"), "key = \"a secret\"").unwrap();
        let limits = Limits { memory_mb: 1_024, processes: 200, file_mb: 8, ..Limits::default() };
        let reach = SandboxAccess { read: Vec::new(), write: vec![workspace.root.clone()], network: false, limits };
        let sandbox = Sandbox::probe(&ProbeRequest {
            program: Path::new(env!("CARGO_BIN_EXE_hob")),
            data_dir: &data_dir,
            config: Some(&dir.path().join("config.toml")),
            reach: &reach,
            namespaces: way == IsolationMode::Namespaces,
            path: Environment::of_process().get("PATH").filter(|_| way == IsolationMode::Bubblewrap),
        })
        .await;
        assert!(sandbox.is_there(), "{}", sandbox.strength());
        let confinement = Confinement::new(sandbox.clone(), reach, &data_dir);
        let drafts = Drafts::new(&data_dir, &workspace);
        let draft_workspace = DraftWorkspace { confinement: confinement.clone(), drafts };
        let settings = Settings {
            draft_workspace: draft_workspace.clone(),
            workspace,
            shell: "/bin/bash".into(),
            timeout: Duration::from_secs(60),
            trusted_output: false,
            data_dir,
        };
        Self { dir, sandbox, confinement, draft_workspace, terminal: Terminal::new(settings) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("data/workspace")
    }

    /// What a call answers, with whether its words taint.
    pub(crate) async fn call(&self, arguments: Value) -> (Outcome, bool) {
        self.call_of(UserId(1), arguments).await
    }

    pub(crate) async fn call_of(&self, user: UserId, arguments: Value) -> (Outcome, bool) {
        match Outcome::of(self.terminal.call(invocation(user, arguments)).await) {
            Outcome::From(source, outcome) => {
                assert_eq!(source.to_string(), "a tool (terminal)");
                (*outcome, true)
            }
            outcome => (outcome, false),
        }
    }

    /// What a command prints, and its code.
    pub(crate) async fn run(&self, command: &str) -> (String, i32) {
        match self.call(json!({ "command": command })).await.0 {
            Outcome::Exited { text, code } => (text, code),
            other => panic!("{command}: {other:?}"),
        }
    }

    /// The answer in words.
    pub(crate) async fn told(&self, arguments: Value) -> String {
        match self.call(arguments).await.0 {
            Outcome::Text(text) | Outcome::Error(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// The processes that tools of this house have started and that live.
    pub(crate) fn alive(&self) -> usize {
        let mark = format!("HOB_TOOL_OF={}", self.path("data").canonicalize().unwrap().display());
        let marked = |entry: std::io::Result<fs::DirEntry>| {
            let environment = fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        fs::read_dir("/proc").unwrap().map(marked).filter(|marked| *marked).count()
    }

    /// Waits until nothing is left of what was started.
    pub(crate) async fn quiet(&self) {
        let quiet = async {
            while self.alive() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let left = tokio::time::timeout(Duration::from_secs(120), quiet).await;
        assert!(left.is_ok(), "{} processes are left", self.alive());
    }
}

pub(crate) fn invocation(user: UserId, arguments: Value) -> Invocation {
    // No two calls of a run have one name: a draft bears it.
    let number = if arguments.get("action").is_some() { 0 } else { CALLS.fetch_add(1, Ordering::Relaxed) };
    let invocation = Invocation::for_trial(arguments);
    Invocation { principal: Principal { user, ..invocation.principal }, call: CallId::new(1, number), ..invocation }
}
