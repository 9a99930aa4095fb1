//! Finds out, by trying, what walls this machine allows.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use crate::tool::sandbox::spec::{Found, Limits, Reach, Trial};
use crate::tool::sandbox::{Namespaces, Room, Sandbox, Strength, way_in};

/// How long one try may take.
const WITHIN: Duration = Duration::from_secs(10);

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// Hob itself.
    pub program: &'a Path,
    /// Hob's data, which no program may reach.
    pub data_dir: &'a Path,
    /// What programs may reach besides the system.
    pub reach: &'a Reach,
    /// Whether Hob may make namespaces itself.
    pub namespaces: bool,
    /// Where bubblewrap may be looked for; none: it is not to be used.
    pub path: Option<&'a std::ffi::OsStr>,
}

impl Sandbox {
    /// Tries, in a folder beside Hob's data, what must not be possible.
    pub async fn probe(question: &Question<'_>) -> Self {
        let program = match question.program.canonicalize() {
            Ok(program) => program,
            Err(error) => return Self::none(&format!("Hob's own program cannot be found ({error})")),
        };
        let strength = match Scene::make(question.data_dir) {
            Ok(scene) => look(&program, question, &scene).await,
            Err(error) => Strength::None { why: format!("the trial could not be prepared ({error})") },
        };
        Self { program: program.into(), strength: Arc::new(strength) }
    }
}

/// A secret, somebody who listens, and a folder for the trial to work in.
struct Scene {
    dir: TempDir,
    tcp: TcpListener,
    _local: UnixListener,
}

impl Scene {
    fn make(data_dir: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("trial-").tempdir_in(data_dir)?;
        fs::create_dir(dir.path().join("out"))?;
        fs::create_dir(dir.path().join("in"))?;
        fs::write(dir.path().join("out/secret"), "nobody may read this")?;
        let local = UnixListener::bind(dir.path().join("out/socket"))?;
        Ok(Self { tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, dir, _local: local })
    }

    fn trial(&self) -> io::Result<Trial> {
        Ok(Trial { file: self.dir.path().join("out/secret"), port: self.tcp.local_addr()?.port() })
    }
}

/// The strongest of what works: Hob's own namespaces, then bubblewrap's, then none.
async fn look(program: &Path, question: &Question<'_>, scene: &Scene) -> Strength {
    let bubblewrap = question.path.and_then(find_bubblewrap).map(Namespaces::Bubblewrap);
    let ways = [question.namespaces.then_some(Some(Namespaces::Own)), bubblewrap.map(Some), Some(None)];
    let mut why = String::new();
    for namespaces in ways.into_iter().flatten() {
        match attempt(program, namespaces.as_ref(), scene).await {
            Ok(found) => return strength(&found, namespaces, question),
            Err(error) => {
                tracing::debug!(?namespaces, %error, "sandbox.way_closed");
                why = error.to_string();
            }
        }
    }
    Strength::None { why }
}

fn find_bubblewrap(path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|dir| dir.join("bwrap")).find(|path| path.is_absolute() && path.is_file())
}

async fn attempt(program: &Path, namespaces: Option<&Namespaces>, scene: &Scene) -> io::Result<Found> {
    let reach = Reach { read: Vec::new(), write: Vec::new(), network: false, limits: Limits::default() };
    let room = Room { reach, temporary: scene.dir.path().join("in"), input: None };
    let vector = way_in(program, namespaces, &room, Some(scene.trial()?));
    let Some((first, rest)) = vector.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(first);
    command.args(rest).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.kill_on_drop(true).spawn()?;
    let Output { stdout, stderr, .. } = tokio::time::timeout(WITHIN, child.wait_with_output()).await??;
    serde_json::from_slice(&stdout).map_err(|_no_report| {
        let said = String::from_utf8_lossy(&stderr);
        io::Error::other(said.lines().last().unwrap_or("the trial said nothing").to_owned())
    })
}

fn strength(found: &Found, namespaces: Option<Namespaces>, question: &Question<'_>) -> Strength {
    let mut missing: Vec<String> =
        found.leaks.iter().map(|what| format!("a command could {what} what lies outside")).collect();
    if !found.counted {
        missing.push("nothing bounds how many processes a command starts".to_owned());
    }
    let data = question.data_dir.canonicalize().unwrap_or_else(|_| question.data_dir.to_owned());
    for path in question.reach.read.iter().chain(&question.reach.write) {
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        if data.starts_with(&path) {
            missing.push(format!("Hob's own data lies within {}, which commands may reach", path.display()));
        }
    }
    if missing.is_empty() { Strength::Full { namespaces } } else { Strength::Partial { missing, namespaces } }
}
