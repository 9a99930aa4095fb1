//! `manage_config`: shows the config file without its secrets, and changes a key of it.
//!
//! Never: a file that the check would refuse, or a secret that was said in a conversation.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::edit::{self, Change, EditError};
use crate::config::environment::Environment;
use crate::domain::principal::Role;
use crate::domain::tools::{Assessment, Grade, Risk, ToolFacts};
use crate::policy::redact::redact;
use crate::tool::registry::{parse, spec_of};
use crate::tool::{Heard, Invocation, Outcome, Tool, ToolSpec};

const ABOUT: &str = "Shows Hob's config file, or sets a key of it. Secrets are neither shown nor set.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Show,
    Get,
    Set,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    /// get, set: such as `agent.iterations_max`.
    key: Option<String>,
    /// set: as TOML: `7`, `true`, `["a"]`, text.
    value: Option<String>,
}

/// Where the config file is.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// The file that was read when Hob started, if there was one.
    pub path: Option<PathBuf>,
    /// Where one is looked for, if there was none.
    pub usual: Option<PathBuf>,
    /// The environment that its `${NAME}` stand for.
    pub environment: Environment,
}

/// The tool.
pub struct ManageConfig {
    spec: ToolSpec,
    file: ConfigFile,
}

/// Why the file was not changed.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("no place for a config file is known: set $HOME, or start Hob with --config FILE")]
    Nowhere,
    #[error("{path} cannot be read: {source}; nothing was changed")]
    Unreadable { path: String, source: io::Error },
    #[error("{path} cannot be written: {source}; nothing was changed")]
    Unwritable { path: String, source: io::Error },
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl ManageConfig {
    /// For this file.
    #[must_use]
    pub fn new(file: ConfigFile) -> Self {
        let spec = spec_of::<Arguments>("manage_config", ABOUT, false).of("system", Role::Admin).on_need();
        let facts = ToolFacts { changes: true, exclusive: true, risk: Risk::Write, ..spec.facts };
        Self { spec: spec.with(facts), file }
    }

    /// What the file says now; none: there is no file.
    fn text(&self) -> Result<Option<String>, WriteError> {
        let Some(path) = self.file.path.as_ref().or(self.file.usual.as_ref()) else {
            return Ok(None);
        };
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(WriteError::Unreadable { path: path.display().to_string(), source }),
        }
    }

    fn look(&self, key: Option<&str>) -> Result<String, WriteError> {
        let Some(text) = self.text()? else {
            return Ok(
                "There is no config file: everything is as it is by default. Setting a key makes one.".to_owned()
            );
        };
        match key {
            // A key in a comment has no type that tells of it.
            None => Ok(redact(&edit::shown(&text)?)),
            Some(key) => Ok(match edit::get(&text, key)? {
                Some(value) => format!("{key} = {}", redact(&value)),
                None => format!("{key} is not set: the default holds."),
            }),
        }
    }

    fn change(&self, key: &str, value: &str) -> Result<(PathBuf, Change), WriteError> {
        let path = self.file.path.as_ref().or(self.file.usual.as_ref()).ok_or(WriteError::Nowhere)?;
        let text = self.text()?.unwrap_or_default();
        Ok((path.clone(), edit::set(path, &text, (key, value), &self.file.environment)?))
    }

    fn set(&self, key: &str, value: &str) -> Result<String, WriteError> {
        let (path, change) = self.change(key, value)?;
        write(&path, &change.text)
            .map_err(|source| WriteError::Unwritable { path: path.display().to_string(), source })?;
        Ok(format!("{}: {}\nIt takes effect when Hob is started the next time.", path.display(), change.told))
    }

    fn act(&self, invocation: &Invocation, arguments: &Arguments) -> Outcome {
        let done = match (arguments.action, arguments.key.as_deref(), arguments.value.as_deref()) {
            (Action::Show, ..) => self.look(None),
            (Action::Get, Some(key), _) => self.look(Some(key)),
            (Action::Set, Some(key), Some(_)) if !may_set(invocation.principal.role, key) => {
                return Outcome::Error(format!("Only the owner may set {key}. Nothing was changed."));
            }
            (Action::Set, Some(key), Some(value)) => self.set(key, value),
            (Action::Get, None, _) => return Outcome::Error("get needs a key.".to_owned()),
            (Action::Set, ..) => return Outcome::Error("set needs a key and a value.".to_owned()),
        };
        match done {
            Ok(text) => Outcome::Text(text),
            Err(error) => Outcome::Error(format!("{error}.")),
        }
    }
}

fn may_set(role: Role, key: &str) -> bool {
    role == Role::Owner || (role == Role::Admin && !edit::is_owners(key))
}

/// Puts the text in the file's place, whole or not at all, for this user only. A link stays one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_not_there| path.to_owned());
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    // Such a file is made for this user only.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    fs::File::open(dir)?.sync_all()
}

#[async_trait]
impl Tool for ManageConfig {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _heard: &Heard<'_>) -> Assessment {
        match parse::<Arguments>(&self.spec, invocation.arguments.clone()) {
            Ok(Arguments { action: Action::Set, key: Some(key), value: Some(value) }) => {
                // What cannot be set is answered by the call; nobody need be asked about it.
                let Ok((_, change)) = self.change(&key, &value) else { return Assessment::usual(Risk::Read) };
                let reasons = vec!["it changes Hob's configuration".to_owned(), redact(&change.told)];
                Assessment { risk: Risk::Write, grade: Grade::Critical, reasons }
            }
            Ok(_) | Err(_) => Assessment::usual(Risk::Read),
        }
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        match parse::<Arguments>(&self.spec, invocation.arguments.clone()) {
            Ok(arguments) => self.act(&invocation, &arguments),
            Err(outcome) => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::{Value, json};

    use super::*;

    struct Desk {
        dir: tempfile::TempDir,
        tool: ManageConfig,
    }

    impl Desk {
        fn new(text: Option<&str>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("hob/config.toml");
            if let Some(text) = text {
                fs::create_dir(dir.path().join("hob")).unwrap();
                fs::write(&path, text).unwrap();
            }
            let environment = Environment::of(dir.path(), [("HOME", dir.path())]);
            let (path, usual) = (text.map(|_| path.clone()), Some(path));
            Self { dir, tool: ManageConfig::new(ConfigFile { path, usual, environment }) }
        }

        fn file(&self) -> PathBuf {
            self.dir.path().join("hob/config.toml")
        }

        async fn call(&self, role: Role, arguments: Value) -> Result<String, String> {
            let mut invocation = Invocation::trial(arguments);
            invocation.principal.role = role;
            let home = self.dir.path().display().to_string();
            match self.tool.call(invocation).await {
                Outcome::Text(text) => Ok(text.replace(&home, "HOME")),
                Outcome::Error(text) => Err(text.replace(&home, "HOME")),
                other => panic!("{other:?}"),
            }
        }
    }

    fn setting(key: &str, value: &str) -> Value {
        json!({ "action": "set", "key": key, "value": value })
    }

    #[tokio::test]
    async fn n6_a_key_is_set_for_this_user_only_and_secrets_are_not_shown() {
        let desk =
            Desk::new(Some("# sk-abcdefghijklmnop1234\n[telegram]\nbot_token = \"1:AA\"\nowner_user_ids = [1]\n"));
        let shown = desk.call(Role::Admin, json!({ "action": "show" })).await.unwrap();
        insta::assert_snapshot!(shown, @r#"
        # [redacted]
        [telegram]
        bot_token = "[redacted]"
        owner_user_ids = [1]
        "#);
        let told = desk.call(Role::Admin, setting("agent.iterations_max", "9")).await.unwrap();
        insta::assert_snapshot!(told, @"
        HOME/hob/config.toml: agent.iterations_max: not set → 9
        It takes effect when Hob is started the next time.
        ");
        let text = fs::read_to_string(desk.file()).unwrap();
        assert!(text.contains("bot_token = \"1:AA\"") && text.ends_with("iterations_max = 9\n"), "{text}");
        assert_eq!(desk.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let got = desk.call(Role::Admin, json!({ "action": "get", "key": "agent.iterations_max" })).await;
        assert_eq!(got.unwrap(), "agent.iterations_max = 9");
    }

    #[tokio::test]
    async fn c5_what_gives_power_is_the_owners_to_set() {
        let desk = Desk::new(Some("[telegram]\nbot_token = \"1:AA\"\nowner_user_ids = [1]\n"));
        let power = || setting("telegram.owner_user_ids", "[1, 2]");
        let refused = desk.call(Role::Admin, power()).await.unwrap_err();
        assert_eq!(refused, "Only the owner may set telegram.owner_user_ids. Nothing was changed.");
        assert!(desk.call(Role::User, setting("agent.iterations_max", "9")).await.is_err());
        assert!(!fs::read_to_string(desk.file()).unwrap().contains("[1, 2]"));
        desk.call(Role::Owner, power()).await.unwrap();
        assert!(fs::read_to_string(desk.file()).unwrap().contains("owner_user_ids = [1, 2]"));
    }

    #[tokio::test]
    async fn without_a_file_one_is_made_at_the_usual_place() {
        let desk = Desk::new(None);
        let shown = desk.call(Role::Owner, json!({ "action": "show" })).await.unwrap();
        insta::assert_snapshot!(shown, @"There is no config file: everything is as it is by default. Setting a key makes one.");
        desk.call(Role::Owner, setting("agent.iterations_max", "9")).await.unwrap();
        assert_eq!(fs::read_to_string(desk.file()).unwrap(), "[agent]\niterations_max = 9\n");
    }

    #[tokio::test]
    async fn d6_a_change_is_critical_and_says_what_it_changes() {
        let desk = Desk::new(Some("[agent]\niterations_max = 7\n"));
        let assess = async |arguments| desk.tool.assess(&Invocation::trial(arguments), &|_| false).await;
        let set = assess(setting("agent.iterations_max", "9")).await;
        assert_eq!((set.risk, set.grade), (Risk::Write, Grade::Critical));
        assert_eq!(set.reasons, ["it changes Hob's configuration", "agent.iterations_max: 7 → 9"]);
        assert_eq!(assess(json!({ "action": "show" })).await, Assessment::usual(Risk::Read));
        assert_eq!(assess(setting("agent.iterations_max", "many")).await, Assessment::usual(Risk::Read));
    }
}
