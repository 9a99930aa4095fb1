//! `hob service`: Hob under systemd, as the machine's service or as one user's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::cli::init::setup_environment::Service;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::{checked, show};
use crate::doctor::rules::service::InstalledUnit;
use hob_config::data_dir::data_dir;
use hob_config::environment::Environment;
use hob_config::load::load;

/// The unit for the machine.
const SYSTEM_UNIT: &str = include_str!("../../systemd/hob.service");
const USER_UNIT: &str = include_str!("../../systemd/hob-user.service");
/// What both start, as they stand.
const START: &str = "ExecStart=/usr/bin/hob run --config /etc/hob/config.toml";
/// What every unit of ours begins with.
const OURS: &str = "# Hob as a ";
/// The unit's name.
const NAME: &str = "hob.service";
/// Where packages keep theirs; what an operator writes stands before it.
const PACKAGED: &str = "/usr/lib/systemd/system";
/// Where systemd keeps who may have services while logged out.
const LINGER: &str = "/var/lib/systemd/linger";
/// What `status` asks about.
const PROPERTIES: &str = "ActiveState,SubState,UnitFileState,MainPID,NRestarts,Result,StatusText";

/// What `hob service` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ServiceCommand {
    /// Start Hob now and at each boot
    Install {
        #[command(flatten)]
        which: ServiceScope,
        /// Print the unit, and change nothing
        #[arg(long)]
        print: bool,
    },
    /// Stop Hob and remove the service; the data stays
    Uninstall {
        #[command(flatten)]
        which: ServiceScope,
    },
    /// Show whether it runs
    Status {
        #[command(flatten)]
        which: ServiceScope,
    },
}

/// Whose service.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServiceScope {
    /// A service of the machine, as a user without privileges; needs root
    #[arg(long, conflicts_with = "user")]
    system: bool,
    /// Your own service; the default unless you are root
    #[arg(long)]
    user: bool,
    /// The folder for the unit; by default systemd's own
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    System,
    User,
}

impl Manager {
    fn of(which: &ServiceScope) -> Self {
        let root = rustix::process::geteuid().is_root();
        if which.system || (root && !which.user) { Self::System } else { Self::User }
    }

    fn folder(self, environment: &Environment) -> anyhow::Result<PathBuf> {
        match self {
            Self::System => Ok(PathBuf::from("/etc/systemd/system")),
            Self::User => {
                let config =
                    environment.path("XDG_CONFIG_HOME").or_else(|| Some(environment.path("HOME")?.join(".config")));
                Ok(config
                    .context(refusal!("it is not known where your services are"; "set $HOME"))?
                    .join("systemd/user"))
            }
        }
    }

    /// The unit: the one that came with a package, where no other stands before it.
    fn file(self, environment: &Environment) -> anyhow::Result<PathBuf> {
        let (own, packaged) = (self.folder(environment)?.join(NAME), Path::new(PACKAGED).join(NAME));
        Ok(if self == Self::System && !own.exists() && packaged.exists() { packaged } else { own })
    }

    /// The command for people, as they would type it.
    fn systemctl(self) -> &'static str {
        match self {
            Self::System => "systemctl",
            Self::User => "systemctl --user",
        }
    }

    fn logs(self) -> &'static str {
        match self {
            Self::System => "journalctl --unit hob --follow",
            Self::User => "journalctl --user --unit hob --follow",
        }
    }

    fn ask(self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new("systemctl");
        if self == Self::User {
            command.arg("--user");
        }
        match command.args(arguments).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                refuse!("there is no systemctl here"; "without systemd, have `hob run` started by what starts your services")
            }
            asked => asked.with_context(|| format!("{} could not be started", self.systemctl())),
        }
    }

    /// Asks for something that must be done.
    fn tell(self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = self.ask(arguments)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        refuse!("`{} {}` failed: {}", self.systemctl(), arguments.join(" "), said.trim(); "`{} status {NAME}` and `hob doctor` say more", self.systemctl())
    }
}

/// The unit that starts this binary with this config.
fn unit(manager: Manager, binary: &Path, config: &Path) -> anyhow::Result<String> {
    let text = match manager {
        Manager::System => SYSTEM_UNIT,
        Manager::User => USER_UNIT,
    };
    let start = format!("ExecStart={} run --config {}", quoted(binary)?, quoted(config)?);
    Ok(text.replacen(START, &start, 1))
}

/// A path as systemd reads it: `%` begins a specifier, `$` a variable, and what has blanks stands in quotes.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let path = path.to_str().filter(|path| !path.contains(['\n', '\r']));
    let path = path.context(refusal!("a path with signs that systemd does not take"; "move it elsewhere"))?;
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let plain = escaped.chars().all(|sign| sign.is_alphanumeric() || "/._-+@:".contains(sign));
    Ok(if plain { escaped } else { format!("\"{escaped}\"") })
}

/// What the machine's service cannot see: it has no homes.
fn is_at_home(path: &Path) -> bool {
    ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].iter().any(|home| path.starts_with(home))
}

/// Carries it out.
///
/// # Errors
/// When systemd is not there or refuses, or a file cannot be written.
pub(super) fn run(command: ServiceCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    match command {
        ServiceCommand::Install { which, print } => install(&which, print, named, &environment),
        ServiceCommand::Uninstall { which } => uninstall(&which, named, &environment),
        ServiceCommand::Status { which } => status(&which, &environment),
    }
}

fn place(which: &ServiceScope, environment: &Environment) -> anyhow::Result<(Manager, PathBuf)> {
    let manager = Manager::of(which);
    let file = match &which.into {
        Some(folder) => folder.join(NAME),
        None => manager.file(environment)?,
    };
    Ok((manager, file))
}

fn install(which: &ServiceScope, print: bool, named: Option<&Path>, environment: &Environment) -> anyhow::Result<()> {
    let (manager, mut file) = place(which, environment)?;
    // What could not start as a service is better told now.
    let loaded = checked(named, &service_environment(manager, environment)?)?;
    // A credential is there for the service alone: what is missing here is told, and keeps nobody from installing it.
    for off in &loaded.off {
        eprintln!("note: {off}");
    }
    let config = loaded
        .path
        .context(refusal!("there is no config.toml yet"; "`hob init` makes one, or name it with --config"))?;
    let config = fs::canonicalize(&config).with_context(|| config.display().to_string())?;
    let binary = std::env::current_exe()
        .context(refusal!("it is not known where this binary is"; "start it by its whole path"))?;
    if manager == Manager::System {
        for (what, path, fix) in [
            ("this binary", &binary, "sudo install -m 755 HOB /usr/local/bin/hob"),
            ("the config", &config, "sudo install -D -m 644 config.toml /etc/hob/config.toml"),
        ] {
            if is_at_home(path) {
                refuse!(
                    "{what} is {}, where the machine's service cannot see it", path.display();
                    "`{fix}`, or `hob service install --user`"
                );
            }
        }
    }
    let text = unit(manager, &binary, &config)?;
    if print {
        return Ok(show(&text)?);
    }
    let present = fs::read_to_string(&file);
    if present.as_ref().is_ok_and(|present| !present.starts_with(OURS)) {
        refuse!("{} is somebody else's unit", file.display(); "move it away first");
    }
    let is_new = present.is_err();
    // A package's is left as it is: one that starts something else stands before it.
    if !present.is_ok_and(|present| present == text) {
        if file.starts_with(PACKAGED) {
            file = manager.folder(environment)?.join(NAME);
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, &text));
        written.with_context(|| format!("{} cannot be written", file.display()))?;
    }
    if let Err(error) = manager.tell(&["daemon-reload"]) {
        // Where no systemd answers, nothing is left behind for it.
        if is_new {
            fs::remove_file(&file).with_context(|| format!("{error:#}; {} is left", file.display()))?;
        }
        return Err(error);
    }
    manager.tell(&["enable", NAME])?;
    // One that runs already takes up the new unit.
    manager.tell(&["restart", NAME])?;
    let mut told = vec![format!("Hob runs, and starts at each boot ({}).", file.display())];
    told.extend(linger_hint(manager, environment));
    told.push(format!("Its log: {}", manager.logs()));
    Ok(show(&(told.join("\n") + "\n"))?)
}

/// As `hob service install`, for whom the setup has asked.
///
/// # Errors
/// As [`run`].
pub(super) fn set_up(service: Service, config: &Path) -> anyhow::Result<()> {
    let (system, user) = match service {
        Service::System => (true, false),
        Service::User => (false, true),
        Service::None => return Ok(()),
    };
    let which = ServiceScope { system, user, into: None };
    install(&which, false, Some(config), &Environment::of_process())
}

/// The environment as the service will have it: with what the unit's `EnvironmentFile=` names.
fn service_environment(manager: Manager, environment: &Environment) -> anyhow::Result<Environment> {
    let file = match manager {
        Manager::System => Some(PathBuf::from("/etc/hob/environment")),
        Manager::User => environment.path("HOME").map(|home| home.join(".config/hob/environment")),
    };
    let text = match file.as_deref().map(|file| (file, fs::read_to_string(file))) {
        None => return Ok(environment.clone()),
        Some((_, Err(error))) if error.kind() == ErrorKind::NotFound => return Ok(environment.clone()),
        Some((file, text)) => text.with_context(|| file.display().to_string())?,
    };
    Ok(environment.with(variables(&text)))
}

/// The `VARIABLE=value` lines of such a file.
fn variables(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let bare = |value: &str| {
        let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        quoted.unwrap_or(value).to_owned()
    };
    pairs.map(|(name, value)| (name.trim().to_owned(), bare(value.trim()))).collect()
}

/// The units that are installed here, for `hob doctor`.
pub(super) fn installed(environment: &Environment) -> Vec<InstalledUnit> {
    let Ok(binary) = std::env::current_exe() else { return Vec::new() };
    let unit = |manager: Manager| {
        let file = manager.file(environment).ok()?;
        let text = fs::read_to_string(&file).ok()?;
        Some(inspect_unit(manager, file, &text, &binary, environment))
    };
    [Manager::System, Manager::User].into_iter().filter_map(unit).collect()
}

fn inspect_unit(
    manager: Manager,
    file: PathBuf,
    text: &str,
    binary: &Path,
    environment: &Environment,
) -> InstalledUnit {
    let start = text.lines().find(|line| line.starts_with("ExecStart="));
    let shipped = match manager {
        Manager::System => SYSTEM_UNIT,
        Manager::User => USER_UNIT,
    };
    let resolved = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_gone| path.to_owned());
    InstalledUnit {
        file,
        install: match manager {
            Manager::System => "hob service install --system",
            Manager::User => "hob service install --user",
        },
        is_ours: text.starts_with(OURS),
        starts: start.and_then(program).map(|program| resolved(&program)),
        binary: resolved(binary),
        is_current: start.is_some_and(|start| shipped.replacen(START, start, 1) == text),
        is_watched: text.lines().any(|line| line.starts_with("WatchdogSec=")),
        lingers: (manager == Manager::User).then(|| linger_hint(manager, environment).is_none()),
    }
}

/// The program of an `ExecStart=` line that [`unit`] has written; none: it is another's.
fn program(start: &str) -> Option<PathBuf> {
    let words = start.strip_prefix("ExecStart=")?;
    let written = match words.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\" run ")?.0,
        None => words.split_once(' ')?.0,
    };
    let plain = written.replace("$$", "$").replace("%%", "%").replace("\\\"", "\"").replace("\\\\", "\\");
    plain.starts_with('/').then(|| PathBuf::from(plain))
}

/// A user's services end with their last session, unless they linger.
fn linger_hint(manager: Manager, environment: &Environment) -> Option<String> {
    if manager == Manager::System {
        return None;
    }
    let user = environment.get("USER").or_else(|| environment.get("LOGNAME"));
    let lingers = user.is_some_and(|user| Path::new(LINGER).join(user).exists());
    let why =
        "It ends when you log out, and starts when you log in: `loginctl enable-linger` lets it go on without you.";
    (!lingers).then(|| why.to_owned())
}

fn uninstall(which: &ServiceScope, named: Option<&Path>, environment: &Environment) -> anyhow::Result<()> {
    let (manager, file) = place(which, environment)?;
    match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            refuse!("{} is not there: nothing is installed", file.display(); "`hob service install` does it");
        }
        present if !present.as_ref().is_ok_and(|present| present.starts_with(OURS)) => {
            refuse!("{} is somebody else's unit, and stays", file.display(); "remove it by hand");
        }
        _ if file.starts_with(PACKAGED) => {
            let file = file.display();
            refuse!("{file} came with a package"; "`apt remove hob` takes it away, `systemctl disable --now hob` only stops it");
        }
        _ => {}
    }
    manager.tell(&["disable", "--now", NAME])?;
    fs::remove_file(&file).with_context(|| file.display().to_string())?;
    manager.tell(&["daemon-reload"])?;
    // The machine's service has a place of its own.
    let data = match manager {
        Manager::System => PathBuf::from("/var/lib/hob"),
        Manager::User => data_dir(&load(named, environment)?.config.state, environment)?,
    };
    Ok(show(&format!("Hob is stopped, and starts no more. Its data stays in {}.\n", data.display()))?)
}

fn status(which: &ServiceScope, environment: &Environment) -> anyhow::Result<()> {
    let (manager, file) = place(which, environment)?;
    if !file.exists() {
        refuse!("{} is not there: nothing is installed", file.display(); "`hob service install` does it");
    }
    let output = manager.ask(&["show", NAME, &format!("--property={PROPERTIES}")])?;
    if !output.status.success() {
        refuse!("`{} show {NAME}` failed: {}", manager.systemctl(), String::from_utf8_lossy(&output.stderr).trim(); "`{} status {NAME}` says more", manager.systemctl());
    }
    let mut told = vec![format!("Unit: {}", file.display())];
    told.extend(String::from_utf8_lossy(&output.stdout).lines().map(|line| line.replacen('=', ": ", 1)));
    told.extend(linger_hint(manager, environment));
    told.push(format!("Log: {}", manager.logs()));
    Ok(show(&(told.join("\n") + "\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_starts_what_it_was_made_for() {
        for manager in [Manager::System, Manager::User] {
            let text = unit(manager, Path::new("/opt/my hob/50%/hob"), Path::new("/etc/hob/$x/config.toml")).unwrap();
            assert!(text.starts_with(OURS));
            let start: Vec<&str> = text.lines().filter(|line| line.starts_with("ExecStart=")).collect();
            assert_eq!(start, [r#"ExecStart="/opt/my hob/50%%/hob" run --config "/etc/hob/$$x/config.toml""#]);
        }
        let plain = unit(Manager::System, Path::new("/usr/bin/hob"), Path::new("/etc/hob/config.toml")).unwrap();
        assert_eq!(plain, SYSTEM_UNIT);
    }

    #[test]
    fn an_installed_unit_is_known_again() {
        let config = Path::new("/etc/hob/config.toml");
        let nobody = Environment::of("/", [("HOME", "/h")]);
        for (manager, binary) in [(Manager::System, "/usr/bin/hob"), (Manager::User, "/opt/my \"hob\"/50%/$x/hob")] {
            let binary = Path::new(binary);
            let text = unit(manager, binary, config).unwrap();
            let look = |text: &str| inspect_unit(manager, "/u/hob.service".into(), text, binary, &nobody);
            let seen = look(&text);
            assert!(seen.is_ours && seen.is_current && seen.is_watched, "{seen:?}");
            assert_eq!(seen.starts.as_deref(), Some(binary));
            assert_eq!(seen.lingers, (manager == Manager::User).then_some(false));
            let older = text.replace("WatchdogSec=60", "");
            assert!(!look(&older).is_current && !look(&older).is_watched);
            let other = look("[Service]\nExecStart=hob run\n");
            assert!(!other.is_ours && other.starts.is_none());
        }
    }

    #[test]
    fn the_services_own_variables_are_read() {
        let text = "# keys\nA=1\n B = \"two words\"\n;C=3\nD='x=y'\n\nno line\n";
        let read = variables(text);
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read, [("A", "1"), ("B", "two words"), ("D", "x=y")]);
    }

    #[test]
    fn the_machine_has_no_homes() {
        let table = [
            ("/home/ada/.cargo/bin/hob", true),
            ("/root/hob", true),
            ("/usr/local/bin/hob", false),
            ("/homes/hob", false),
            ("/etc/hob/config.toml", false),
        ];
        for (path, expected) in table {
            assert_eq!(is_at_home(Path::new(path)), expected, "{path}");
        }
    }
}
