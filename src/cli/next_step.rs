//! What to do about an error: no command ends without saying it.
//!
//! Most errors say it in their own words. For the others it stands here, by variant, so that a new one has to decide; what no type
//! is known of gets the step that always helps.

use std::error::Error;
use std::io::{self, ErrorKind};

use crate::cli::exit::Unconfigured;
use crate::daemon::error::StartError;
use hob_config::data_dir::DataDirError;
use hob_config::edit::EditError;
use hob_config::load::LoadError;
use hob_config::problem::Problems;
use hob_config::writer::WriteError;
use hob_config::writer::commit::CommitError;
use hob_console::ConsoleError;
use hob_core::domain::skills::SkillError;
use hob_http::HttpError;
use hob_memory::bench::BenchError;
use hob_memory::embedding::error::EmbedError;
use hob_model::discover::DiscoverError;
use hob_model::error::ModelError;
use hob_skill::archive::ArchiveError;
use hob_skill::fetch::FetchError;
use hob_skill::folder::FolderError;
use hob_skill::install::InstallError;
use hob_store::backup::BackupError;
use hob_store::error::StoreError;
use hob_store::lock::LockError;
use hob_telemetry::TelemetryError;
use hob_tools::changes::ChangesError;
use hob_tools::mcp::error::McpError;
use hob_tools::mcp::login::LoginError;
use hob_web::local::LocalError;
use hob_web::local_client::AskError;

/// What a command refuses or cannot do, and what to do about it. In the place of `anyhow::bail!`, which would let the second go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}{next}", if next.starts_with('\n') { "" } else { ": " })]
pub(super) struct Refusal {
    pub(super) what: String,
    /// It begins with a new line where what is wrong takes several.
    pub(super) next: String,
}

/// A [`Refusal`]: `refusal!("what is wrong"; "what to do")`, each with values as `format!` takes them.
macro_rules! refusal {
    ($what:literal $(, $of:expr)* ; $next:literal $(, $with:expr)* $(,)?) => {
        $crate::cli::next_step::Refusal { what: format!($what $(, $of)*), next: format!($next $(, $with)*) }
    };
}

/// Returns with one.
macro_rules! refuse {
    ($($words:tt)*) => { return Err($crate::cli::next_step::refusal!($($words)*).into()) };
}

pub(super) use {refusal, refuse};

/// What helps with whatever nobody has thought of.
const LOOK: &str = "`hob doctor` checks everything that Hob needs, and says what to do";
const REPORT: &str = "please report it: it is an error in Hob; `hob doctor` says whether the data is whole";
const AGAIN: &str = "try again in a moment; `hob doctor` says more";
const ACCESS: &str = "run it as the user that Hob runs as, or change the owner or the permissions";

/// What to do about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NextStep {
    /// Its own words say it.
    InItsWords,
    Do(&'static str),
}

use NextStep::{Do, InItsWords};

/// What to do about it, where its own words do not say that.
pub(super) fn missing_step(error: &anyhow::Error) -> Option<&'static str> {
    if error.is::<Refusal>() {
        return None;
    }
    let steps: Vec<NextStep> = error.chain().filter_map(step).collect();
    if steps.contains(&InItsWords) {
        return None;
    }
    let step = steps.into_iter().find_map(|step| if let Do(what) = step { Some(what) } else { None });
    Some(step.unwrap_or(LOOK))
}

/// By the type of an error; none: it is none of these.
fn step(error: &(dyn Error + 'static)) -> Option<NextStep> {
    /// The first of these types that it is.
    macro_rules! first {
        ($($of:ty => $step:expr),* $(,)?) => {
            $(if let Some(error) = error.downcast_ref::<$of>() { return Some($step(error)); })*
        };
    }
    first! {
        StartError => of_start,
        StoreError => of_store,
        BackupError => of_backup,
        LoadError => of_load,
        DataDirError => of_data_dir,
        WriteError => of_write,
        AskError => of_ask,
        ConsoleError => of_console,
        McpError => of_mcp,
        LoginError => of_mcp_login,
        InstallError => of_install,
        SkillError => of_skill,
        FetchError => of_fetch,
        ChangesError => of_changes,
        ModelError => of_model,
        BenchError => of_bench,
        EmbedError => of_embedding,
        TelemetryError => of_telemetry,
        HttpError => |_| Do(LOOK),
        io::Error => of_io,
    }
    #[cfg(feature = "postgres")]
    first! { hob_store::copy::CopyError => of_copy }
    #[cfg(feature = "mail")]
    first! { hob_mail::login::LoginError => of_mail_login }
    let says_it = error.is::<Problems>() || error.is::<Unconfigured>() || error.is::<LockError>();
    let says_it = says_it || error.is::<EditError>() || error.is::<DiscoverError>() || error.is::<LocalError>();
    says_it.then_some(InItsWords)
}

fn of_start(error: &StartError) -> NextStep {
    match error {
        StartError::Lock(_) | StartError::Provider(_) | StartError::Fallback { .. } | StartError::Config(_) => {
            InItsWords
        }
        StartError::Store(error) => of_store(error),
        StartError::Restore(error) => of_backup(error),
        StartError::Model(error) => of_model(error),
        StartError::Table(_) => Do(REPORT),
        StartError::Channel { .. } => Do("mend that section of config.toml; `hob doctor --only channels` tries it"),
        StartError::Listen { .. } => Do("end what has that address, or change `listen` under [server] in config.toml"),
    }
}

fn of_store(error: &StoreError) -> NextStep {
    match error {
        StoreError::Full
        | StoreError::Server { .. }
        | StoreError::Led(_)
        | StoreError::Fenced
        | StoreError::ReadOnly(_)
        | StoreError::Damaged(_)
        | StoreError::Newer { .. }
        | StoreError::Older { .. }
        | StoreError::Snapshot(_) => InItsWords,
        StoreError::Missing(_) => Do("`hob run` starts Hob, `hob chat` talks with it here, `hob init` sets it up"),
        StoreError::Busy(_)
        | StoreError::Conflict(_)
        | StoreError::Overlong
        | StoreError::LeaseLost
        | StoreError::Closed => Do(AGAIN),
        StoreError::Inconsistent { .. } | StoreError::Panicked(_) => Do(REPORT),
        StoreError::Migration(_) => {
            Do("start the version that ran before, or restore the backup made before it (`hob help upgrade`)")
        }
        StoreError::Database(_) | StoreError::Disconnected(_) | StoreError::Unknown => Do(LOOK),
    }
}

#[cfg(feature = "postgres")]
fn of_copy(error: &hob_store::copy::CopyError) -> NextStep {
    use hob_store::copy::CopyError;
    match error {
        CopyError::Store(error) => of_store(error),
        CopyError::Io { source, .. } => of_io(source),
        CopyError::Taken(_) | CopyError::Occupied(_) | CopyError::OtherTables | CopyError::Differs { .. } => InItsWords,
    }
}

fn of_backup(error: &BackupError) -> NextStep {
    match error {
        BackupError::Io { source, .. } => of_io(source),
        BackupError::Store(error) => of_store(error),
        BackupError::Broken { .. } | BackupError::Room { .. } | BackupError::Mounted { .. } | BackupError::Taken(_) => {
            InItsWords
        }
        BackupError::Low => Do("free some space, or name a folder on another disk: `hob backup FOLDER`"),
        BackupError::Stopped => Do("`hob backup` begins anew"),
        BackupError::Key(_) => Do("`hob help backup` says which keys there can be; `age-keygen` makes one"),
        BackupError::Bug(_) => Do(REPORT),
    }
}

fn of_load(error: &LoadError) -> NextStep {
    match error {
        LoadError::NotFound { .. } => {
            Do("name a file that is there; `hob init` makes one, and without any Hob uses its defaults")
        }
        LoadError::Unreadable { why, .. } => of_io(why),
        LoadError::TooBig { .. } => Do("name the config file; `hob config example` shows what one looks like"),
        LoadError::Refused { .. } => Do("mend it; `hob config check` and `hob doctor` say more"),
        LoadError::Gone { .. } | LoadError::IsDirectory { .. } | LoadError::NotUtf8 { .. } | LoadError::Invalid(_) => {
            InItsWords
        }
    }
}

fn of_data_dir(error: &DataDirError) -> NextStep {
    match error {
        DataDirError::Failed { why, .. } => of_io(why),
        DataDirError::Homeless
        | DataDirError::NotADirectory { .. }
        | DataDirError::ReadOnly { .. }
        | DataDirError::Denied { .. } => InItsWords,
    }
}

fn of_write(error: &WriteError) -> NextStep {
    match error {
        WriteError::Unusable { .. } => Do("change it with an editor; `hob config check` says whether it is right"),
        WriteError::Unreadable { source, .. } => of_io(source),
        WriteError::Unwritable { source: CommitError::Io(source), .. } => of_io(source),
        WriteError::Unwritable { source: CommitError::Changed, .. } => Do(AGAIN),
        WriteError::Unwritable { source: CommitError::Owner { .. }, .. }
        | WriteError::Busy { .. }
        | WriteError::Edit(_) => InItsWords,
    }
}

fn of_ask(error: &AskError) -> NextStep {
    match error {
        AskError::NotRunning
        | AskError::Place(_)
        | AskError::Silent(_)
        | AskError::Denied { .. }
        | AskError::NotServed => InItsWords,
        AskError::Foreign => Do("end that program, remove hob.sock from the data directory, and start `hob run`"),
    }
}

fn of_console(error: &ConsoleError) -> NextStep {
    match error {
        ConsoleError::Terminal(_) => Do("`hob chat < FILE` and `hob ask \"…\"` need no terminal"),
        ConsoleError::NotStored { .. } => Do("`hob doctor` looks why; then send that line and those after it again"),
        ConsoleError::Input(error) | ConsoleError::Thread(error) | ConsoleError::Signals(error) => of_io(error),
    }
}

fn of_mcp(error: &McpError) -> NextStep {
    match error {
        McpError::NotStarted { .. } => Do("install it, or mend `command` in its section of config.toml"),
        McpError::Header(_) | McpError::NeedsLogin(_) | McpError::Changed => InItsWords,
        McpError::Silent { .. } | McpError::Lost(_) | McpError::Resting { .. } => {
            Do("look whether the server runs and its section of config.toml is right, then try again")
        }
        McpError::Refused(_) | McpError::WantsInput => Do("`hob mcp test NAME` shows its tools and what they take"),
        McpError::Strange => Do("look whether `url` or `command` in its section of config.toml names an MCP server"),
        McpError::Challenged(_) => Do("`hob mcp login NAME` logs in"),
        McpError::Gone => Do("`hob mcp test NAME` shows the tools that it has"),
        McpError::Stopping => Do(AGAIN),
    }
}

fn of_mcp_login(error: &LoginError) -> NextStep {
    match error {
        LoginError::NoServer(_) => Do("`hob mcp list` shows those that there are"),
        LoginError::NotBegun(_) | LoginError::Expired | LoginError::HasBearer(_) => InItsWords,
        LoginError::Program(_) => Do("`hob mcp test NAME` shows whether it works without one"),
        LoginError::Unavailable(_) => Do("set `bearer` or `headers` in its section of config.toml, if it takes a key"),
        LoginError::Foreign(_) => Do("begin again, and paste the whole address that the browser ends up at"),
        LoginError::Refused(_) => Do("begin again, and allow it in the browser"),
        LoginError::Unkept(error) => of_io(error),
    }
}

#[cfg(feature = "mail")]
fn of_mail_login(error: &hob_mail::login::LoginError) -> NextStep {
    use hob_mail::login::LoginError;
    match error {
        LoginError::Needed { .. } | LoginError::Expired => InItsWords,
        LoginError::Unreachable(_) => {
            Do("look at the mailbox's `oauth` section in config.toml and at the network, then begin again")
        }
        LoginError::Refused(_) => {
            Do("begin again, and allow it in the browser; `hob help mail` says what the issuer has to know")
        }
        LoginError::Unkept(error) => of_io(error),
    }
}

fn of_skill(error: &SkillError) -> NextStep {
    match error {
        SkillError::Unknown { .. }
        | SkillError::Inert { .. }
        | SkillError::Outside { .. }
        | SkillError::NoFile { .. }
        | SkillError::NotInstalled { .. }
        | SkillError::NothingToDraft => InItsWords,
        SkillError::Unreadable { .. } | SkillError::Files(_) => {
            Do("`hob skill list` says what keeps a skill from being one")
        }
        SkillError::Store(_) => Do(LOOK),
    }
}

fn of_install(error: &InstallError) -> NextStep {
    const MEND: &str = "mend that, and add it again; `hob help skills` says what a skill is made of";
    match error {
        InstallError::Archive(ArchiveError::Folder(error)) | InstallError::Folder(error) => match error {
            FolderError::Format(_) | FolderError::Unreadable { .. } => Do(MEND),
            FolderError::NoSkill
            | FolderError::Link(_)
            | FolderError::Linked
            | FolderError::Special(_)
            | FolderError::TooLarge
            | FolderError::Name => InItsWords,
        },
        InstallError::Archive(error) => match error {
            ArchiveError::NoSkill | ArchiveError::Several(_) | ArchiveError::Link(_) => InItsWords,
            ArchiveError::Outside(_)
            | ArchiveError::Twice(_)
            | ArchiveError::TooLarge
            | ArchiveError::Damaged(_)
            | ArchiveError::Folder(_) => Do(MEND),
        },
        InstallError::Format(_) => Do(MEND),
        InstallError::Taken(_) | InstallError::Room(_) => InItsWords,
        InstallError::Unwritable { source, .. } => of_io(source),
    }
}

fn of_fetch(error: &FetchError) -> NextStep {
    const BY_HAND: &str = "download it yourself, and take the file: `hob skill add FILE`";
    match error {
        FetchError::Address(_) | FetchError::Refused(..) | FetchError::Page(_) => InItsWords,
        FetchError::Open(_) => Do("name an https:// address, or download it and name the file"),
        FetchError::Unreachable(..) | FetchError::Redirects(_) | FetchError::TooLong(_) | FetchError::Late(_) => {
            Do(BY_HAND)
        }
    }
}

fn of_changes(error: &ChangesError) -> NextStep {
    match error {
        ChangesError::Io { source, .. } => of_io(source),
        ChangesError::TooMuch(_) | ChangesError::Strange { .. } | ChangesError::Differs { .. } | ChangesError::Gone => {
            Do("have it done anew")
        }
        ChangesError::Notes(_) => Do(REPORT),
        ChangesError::NoUndo(_) | ChangesError::NothingToUndo => {
            Do("a backup has what was there before: `hob help backup`")
        }
    }
}

fn of_model(_error: &ModelError) -> NextStep {
    Do("`hob models` shows what is configured, `hob models test` asks it; [provider] in config.toml says which")
}

fn of_bench(error: &BenchError) -> NextStep {
    match error {
        BenchError::Data(_) | BenchError::Day(_) => Do("name LoCoMo's file, locomo10.json, as it is published"),
        BenchError::Embed(error) => of_embedding(error),
        BenchError::Store(error) => of_store(error),
    }
}

fn of_embedding(error: &EmbedError) -> NextStep {
    match error {
        EmbedError::Transient { .. } => Do(AGAIN),
        EmbedError::Setup(_) | EmbedError::Refused(_) | EmbedError::Malformed(_) => {
            Do("look at [memory.embedding] in config.toml; `hob help memory` says what it takes")
        }
    }
}

fn of_telemetry(error: &TelemetryError) -> NextStep {
    match error {
        TelemetryError::File { source, .. } => of_io(source),
        TelemetryError::Filter(_) => Do("mend `log` under [daemon] in config.toml, for example \"info\""),
        TelemetryError::Twice(_) => Do(REPORT),
    }
}

fn of_io(error: &io::Error) -> NextStep {
    Do(match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "look whether the path is right and the file is there",
        ErrorKind::PermissionDenied => ACCESS,
        ErrorKind::AlreadyExists => "name another file, or move that one away",
        ErrorKind::IsADirectory => "name a file in it",
        ErrorKind::ReadOnlyFilesystem => "name a place that can be written",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, then try again",
        ErrorKind::InvalidData => "look whether it is the right file, and whole",
        _ => LOOK,
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use anyhow::Context as _;
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;
    use crate::cli::exit::told;
    use hob_config::load::NamedBy;

    fn lines(error: impl Into<anyhow::Error>) -> String {
        told(&error.into())
    }

    #[test]
    fn every_error_names_the_next_step() {
        let io = |kind: ErrorKind| io::Error::from(kind);
        let path = || PathBuf::from("/d/x");
        let table: Vec<(anyhow::Error, &str)> = vec![
            (
                LoadError::NotFound { path: path(), by: NamedBy::Argument }.into(),
                "name a file that is there; `hob init`",
            ),
            (LoadError::Unreadable { path: path(), why: io(ErrorKind::PermissionDenied) }.into(), ACCESS),
            (StoreError::Missing("/d/hob.db".to_owned()).into(), "`hob run` starts Hob"),
            (StoreError::Busy(String::new()).into(), AGAIN),
            (StartError::Store(StoreError::Closed).into(), AGAIN),
            (StartError::Listen { address: "x".to_owned(), source: io(ErrorKind::AddrInUse) }.into(), "`listen` under"),
            (BackupError::Low.into(), "another disk"),
            (BackupError::Io { path: path(), source: io(ErrorKind::StorageFull) }.into(), "free some space"),
            (DataDirError::Failed { dir: path(), why: io(ErrorKind::StorageFull) }.into(), "free some space"),
            (AskError::Foreign.into(), "`hob run`"),
            (McpError::Strange.into(), "names an MCP server"),
            (LoginError::NoServer("u".to_owned()).into(), "`hob mcp list`"),
            (FetchError::Redirects("https://a.b".to_owned()).into(), "`hob skill add FILE`"),
            (InstallError::Folder(FolderError::NoSkill).into(), ""),
            (ChangesError::NothingToUndo.into(), "`hob help backup`"),
            (
                TelemetryError::File { path: "/d/chat.log".to_owned(), source: io(ErrorKind::NotFound) }.into(),
                "look whether",
            ),
            (io(ErrorKind::AlreadyExists).into(), "name another file"),
            (anyhow::Error::msg("nobody thought of that"), LOOK),
            // Those whose own words say it.
            (StoreError::Full.into(), ""),
            (AskError::NotRunning.into(), ""),
            (LockError::Taken { pid: "7".to_owned(), directory: "/d".to_owned() }.into(), ""),
            (Unconfigured("no channel: `hob init`".to_owned()).into(), ""),
            (refusal!("there is no {}", 7; "name one of {}", 8).into(), ""),
        ];
        for (error, next) in table {
            let shown = told(&error);
            // However deep it lies.
            let within = lines(Err::<(), _>(error).context("while starting").unwrap_err());
            for shown in [shown, within] {
                let found = shown.split_once("\nnext: ").map_or("", |(_, next)| next);
                assert!(found.contains(next) && found.is_empty() == next.is_empty(), "{shown:?}: {next}");
            }
        }
        insta::assert_snapshot!(lines(refusal!("there is no {}", 7; "name one of {}", 8)), @"there is no 7: name one of 8");
        let nothing: Option<u8> = None;
        insta::assert_snapshot!(lines(nothing.context(refusal!("a\nb"; "\nmend them")).unwrap_err()), @r"
        a
        b
        mend them
        ");
    }

    /// The text of every file of the command line.
    fn sources(folder: &Path) -> String {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).unwrap() };
        files.map(text).collect()
    }

    #[test]
    fn every_command_that_is_named_is_there() {
        let text = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli"));
        let mut seen = 0;
        for named in text.split("`hob ").skip(1).filter_map(|rest| rest.split_once('`')).map(|(named, _)| named) {
            let mut command = Arguments::command();
            for word in named.split_whitespace().take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())) {
                if !command.has_subcommands() {
                    break;
                }
                command = command.find_subcommand(word).unwrap_or_else(|| panic!("no {word}: `hob {named}`")).clone();
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
