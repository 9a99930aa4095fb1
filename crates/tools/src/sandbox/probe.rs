//! Finds out, by trying, what restrictions this machine allows.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use crate::sandbox::restrictions::SYSTEM;
use crate::sandbox::spec::{CHANGED, EscapeTrial, Limits, Overlay, SandboxAccess, TrialReport};
use crate::sandbox::{Namespaces, Sandbox, SandboxProfile, Strength, entry_arguments};
use hob_store::work_dir::{self, WorkDir};

/// How long one try may take.
const WITHIN: Duration = Duration::from_secs(10);

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct ProbeRequest<'a> {
    /// Hob itself.
    pub program: &'a Path,
    /// Hob's data, which no program may reach.
    pub data_dir: &'a Path,
    /// Hob's config, likewise: whoever writes it says who the owners are, and what runs outside of any sandbox.
    pub config: Option<&'a Path>,
    /// What programs may reach besides the system.
    pub reach: &'a SandboxAccess,
    /// Whether Hob may make namespaces itself.
    pub namespaces: bool,
    /// Where bubblewrap may be looked for; none: it is not to be used.
    pub path: Option<&'a std::ffi::OsStr>,
}

impl Sandbox {
    /// Tries, in a folder beside Hob's data, what must not be possible.
    pub async fn probe(question: &ProbeRequest<'_>) -> Self {
        let program = match question.program.canonicalize() {
            Ok(program) => program,
            Err(error) => return Self::none(&format!("Hob's own program cannot be found ({error})")),
        };
        let (strength, overlays) = match ProbeFixture::make(question.data_dir) {
            Ok(scene) => {
                let strength = strongest(&program, question, &scene).await;
                let own = matches!(&strength, Strength::Full { namespaces: Some(Namespaces::Own) });
                let overlays = own && overlays(&program, question, &scene).await;
                (strength, overlays)
            }
            Err(error) => (Strength::None { why: format!("the trial could not be prepared ({error})") }, false),
        };
        Self { program: program.into(), strength: Arc::new(strength), overlays }
    }
}

/// A secret, somebody who listens, and a folder for the trial to work in.
struct ProbeFixture {
    dir: WorkDir,
    tcp: TcpListener,
    name: String,
    _local: (UnixListener, UnixListener, UnixDatagram),
}

impl ProbeFixture {
    fn make(data_dir: &Path) -> io::Result<Self> {
        let dir = WorkDir::begin(work_dir::TRIAL, data_dir)?;
        fs::create_dir(dir.path().join("out"))?;
        for name in ["in", "root", "upper", "work"] {
            fs::create_dir(dir.path().join(name))?;
        }
        fs::write(dir.path().join("root/changed"), "as it was")?;
        fs::write(dir.path().join("out/secret"), "nobody may read this")?;
        std::os::unix::fs::symlink("secret", dir.path().join("out/link"))?;
        // Its name is chance's, which no other Hob here has.
        let name = dir.path().display().to_string();
        let local = (
            UnixListener::bind(dir.path().join("out/socket"))?,
            UnixListener::bind_addr(&LocalAddr::from_abstract_name(&name)?)?,
            UnixDatagram::bind(dir.path().join("out/datagrams"))?,
        );
        Ok(Self { tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, name, dir, _local: local })
    }

    fn trial(&self) -> io::Result<EscapeTrial> {
        let port = self.tcp.local_addr()?.port();
        Ok(EscapeTrial { file: self.dir.path().join("out/secret"), port, name: self.name.clone(), change: None })
    }
}

/// The strongest of what works: Hob's own namespaces, then bubblewrap's, then none.
async fn strongest(program: &Path, question: &ProbeRequest<'_>, scene: &ProbeFixture) -> Strength {
    let bubblewrap = question.path.and_then(find_bubblewrap).map(Namespaces::Bubblewrap);
    let ways = [question.namespaces.then_some(Some(Namespaces::Own)), bubblewrap.map(Some), Some(None)];
    let mut why = String::new();
    for namespaces in ways.into_iter().flatten() {
        match attempt(program, namespaces.as_ref(), false, scene).await {
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

/// Whether a program can work in a copy of a folder here.
async fn overlays(program: &Path, question: &ProbeRequest<'_>, scene: &ProbeFixture) -> bool {
    let at = |name: &str| scene.dir.path().join(name);
    if let Err(error) = attempt(program, Some(&Namespaces::Own), true, scene).await {
        tracing::debug!(%error, "sandbox.no_overlay");
        return false;
    }
    let holds = |path: PathBuf, text: &str| fs::read_to_string(path).is_ok_and(|there| there == text);
    let apart = holds(at("root/changed"), "as it was") && holds(at("upper/changed"), CHANGED);
    // A mount within a folder cannot be copied, and may not be bared.
    apart && !question.reach.write.iter().any(|path| has_mounts(path))
}

/// Whether another file system is mounted in this folder.
fn has_mounts(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let Ok(table) = fs::read_to_string("/proc/self/mountinfo") else { return true };
    let mut places = table.lines().filter_map(|line| line.split(' ').nth(4));
    places.any(|place| Path::new(place).starts_with(&folder) && Path::new(place) != folder)
}

async fn attempt(
    program: &Path,
    namespaces: Option<&Namespaces>,
    overlaid: bool,
    scene: &ProbeFixture,
) -> io::Result<TrialReport> {
    let at = |name: &str| scene.dir.path().join(name);
    let write = if overlaid { vec![at("root")] } else { Vec::new() };
    let overlay = Overlay { root: at("root"), upper: at("upper"), work: at("work") };
    let overlays = if overlaid { vec![overlay] } else { Vec::new() };
    let reach = SandboxAccess { read: Vec::new(), write, network: false, limits: Limits::default() };
    let room = SandboxProfile { reach, overlays, temporary: at("in") };
    let trial = EscapeTrial { change: overlaid.then(|| at("root/changed")), ..scene.trial()? };
    let vector = entry_arguments(program, namespaces, &room, Some(trial));
    let Some((first, rest)) = vector.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(first);
    command.args(rest).env_clear().current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.kill_on_drop(true).spawn()?;
    let Output { stdout, stderr, .. } = tokio::time::timeout(WITHIN, child.wait_with_output()).await??;
    serde_json::from_slice(&stdout).map_err(|_no_report| {
        let said = String::from_utf8_lossy(&stderr);
        io::Error::other(said.lines().last().unwrap_or("the trial said nothing").to_owned())
    })
}

fn strength(found: &TrialReport, namespaces: Option<Namespaces>, question: &ProbeRequest<'_>) -> Strength {
    let mut missing: Vec<String> =
        found.leaks.iter().map(|what| format!("a command could {what} what lies outside")).collect();
    if !found.counted {
        missing.push("nothing bounds how many processes a command starts".to_owned());
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let own = [("data", Some(question.data_dir)), ("config", question.config)];
    for (what, own) in own.into_iter().filter_map(|(what, own)| Some((what, own?))) {
        let reached = question.reach.read.iter().chain(&question.reach.write).map(PathBuf::as_path);
        for path in reached.chain(SYSTEM.map(Path::new)) {
            // A link to it can be laid anew where it lies.
            if [own.to_owned(), real(own)].iter().any(|own| own.starts_with(path) || own.starts_with(real(path))) {
                let path = real(path);
                missing.push(format!("Hob's own {what} lies within {}, which commands may reach", path.display()));
            }
        }
    }
    if missing.is_empty() { Strength::Full { namespaces } } else { Strength::Partial { missing, namespaces } }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn d6_what_hob_goes_by_lies_where_no_command_reaches() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["data", "work", "home"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("work/hob.toml"), "").unwrap();
        fs::write(at("home/hob.toml"), "").unwrap();
        symlink(at("work/hob.toml"), at("home/link")).unwrap();
        symlink(at("home/hob.toml"), at("work/link")).unwrap();
        let found = TrialReport { counted: true, alone: true, ..TrialReport::default() };
        let reach =
            SandboxAccess { read: Vec::new(), write: vec![at("work")], network: false, limits: Limits::default() };
        let holds = |config: &str, data: &str| {
            let (program, config, data) = (Path::new("/"), at(config), at(data));
            let (data_dir, config) = (data.as_path(), Some(config.as_path()));
            let question = ProbeRequest { program, data_dir, config, reach: &reach, namespaces: true, path: None };
            matches!(strength(&found, Some(Namespaces::Own), &question), Strength::Full { .. })
        };
        assert!(holds("home/hob.toml", "data"));
        for (config, data) in [
            ("work/hob.toml", "data"),
            ("home/link", "data"),
            ("work/link", "data"),
            ("home/x", "work"),
            // Every command may read what the system is.
            ("home/hob.toml", "/opt/hob/data"),
            ("/usr/local/etc/hob.toml", "data"),
        ] {
            assert!(!holds(config, data), "{config}, {data}");
        }
    }
}
