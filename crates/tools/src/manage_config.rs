//! `manage_config`: shows the config file without its secrets, and changes a key of it.
//!
//! Never: a file that the check would refuse, or a secret that was said in a conversation.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_config::change::{Edit, Secrets};
use hob_config::edit::{self, EditError};
use hob_config::writer::{PlannedChange, WriteError, Writer};
use hob_core::domain::clock::Clock;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade, GrantScope, Risk, ToolFacts};
use hob_core::policy::redact::redact;

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

/// The tool.
pub struct ManageConfig {
    spec: ToolSpec,
    /// None: no place for a config file is known.
    writer: Option<Writer>,
    clock: Arc<dyn Clock>,
}

/// Why the file was not changed.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    #[error("no place for a config file is known: set $HOME, or start Hob with --config FILE")]
    Nowhere,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl ManageConfig {
    /// For the file of this writer.
    pub fn new(writer: Option<Writer>, clock: Arc<dyn Clock>) -> Self {
        let spec = spec_of::<Arguments>("manage_config", ABOUT, false).of("system", Role::Admin).shown_on_need();
        let facts = ToolFacts { changes: true, by_state: true, risk: Risk::Write, ..spec.facts };
        Self { spec: spec.with(facts), writer, clock }
    }

    /// What the file says now; none: there is no file.
    fn text(&self) -> Result<Option<String>, ConfigError> {
        match &self.writer {
            Some(writer) => Ok(writer.text()?),
            None => Ok(None),
        }
    }

    fn show_config(&self, key: Option<&str>) -> Result<String, ConfigError> {
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

    fn plan(&self, key: &str, value: &str) -> Result<PlannedChange, ConfigError> {
        let writer = self.writer.as_ref().ok_or(ConfigError::Nowhere)?;
        Ok(writer.plan(&[Edit::set(key, value)], Secrets::Refused)?)
    }

    fn set(&self, key: &str, value: &str) -> Result<String, ConfigError> {
        let writer = self.writer.as_ref().ok_or(ConfigError::Nowhere)?;
        let plan = writer.change(&[Edit::set(key, value)], Secrets::Refused, self.clock.now())?;
        let file = writer.file().display();
        Ok(format!(
            "{file}: {}\nA running Hob takes it up within seconds, and tells its owners what needs a restart.",
            plan.told()
        ))
    }

    fn act(&self, invocation: &Invocation, arguments: &Arguments) -> ToolResult {
        let done = match (arguments.action, arguments.key.as_deref(), arguments.value.as_deref()) {
            (Action::Show, ..) => self.show_config(None),
            (Action::Get, Some(key), _) => self.show_config(Some(key)),
            (Action::Set, Some(key), Some(_)) if !may_set(invocation.principal.role, key) => {
                return Err(Outcome::Error(format!("Only the owner may set {key}. Nothing was changed.")));
            }
            (Action::Set, Some(key), Some(value)) => self.set(key, value),
            (Action::Get, None, _) => return Err(Outcome::Error("get needs a key.".to_owned())),
            (Action::Set, ..) => return Err(Outcome::Error("set needs a key and a value.".to_owned())),
        };
        done.map(Outcome::Text).map_err(|error| Outcome::Error(format!("{error}.")))
    }
}

fn may_set(role: Role, key: &str) -> bool {
    role == Role::Owner || (role == Role::Admin && !edit::is_owners(key))
}

#[async_trait]
impl Tool for ManageConfig {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        match parse::<Arguments>(&self.spec, invocation.arguments.clone()) {
            // Whoever may not set it is told so by the call, however things stand.
            Ok(Arguments { action: Action::Set, key: Some(key), value: Some(_) })
                if !may_set(invocation.principal.role, &key) =>
            {
                Assessment::usual(Risk::Read)
            }
            Ok(Arguments { action: Action::Set, key: Some(key), value: Some(value) }) => {
                // What cannot be set now may be set by the time that it is: it is no look.
                let what = match self.plan(&key, &value) {
                    Ok(plan) => redact(&plan.told()),
                    Err(error) => redact(&format!("as things stand it would fail: {error}")),
                };
                let reasons = vec!["it changes Hob's configuration".to_owned(), what];
                let always = GrantScope::Never;
                Assessment { grade: DangerGrade::Critical, reasons, always, ..Assessment::usual(Risk::Write) }
            }
            Ok(_) | Err(_) => Assessment::usual(Risk::Read),
        }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.act(&invocation, &parse(&self.spec, invocation.arguments.clone())?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use hob_config::environment::Environment;
    use hob_core::domain::clock::SystemClock;

    struct Harness {
        dir: tempfile::TempDir,
        tool: ManageConfig,
    }

    impl Harness {
        fn new(text: Option<&str>) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("hob/config.toml");
            if let Some(text) = text {
                fs::create_dir(dir.path().join("hob")).unwrap();
                fs::write(&path, text).unwrap();
            }
            let environment = Environment::of(dir.path(), [("HOME", dir.path())]);
            let writer = Writer::new(path, environment, |_| Vec::new());
            Self { dir, tool: ManageConfig::new(Some(writer), Arc::new(SystemClock)) }
        }

        fn file(&self) -> PathBuf {
            self.dir.path().join("hob/config.toml")
        }

        async fn call(&self, role: Role, arguments: Value) -> Result<String, String> {
            let mut invocation = Invocation::for_trial(arguments);
            invocation.principal.role = role;
            let home = self.dir.path().display().to_string();
            match Outcome::of(self.tool.call(invocation).await) {
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
    async fn a_key_is_set_and_secrets_are_not_shown() {
        let harness =
            Harness::new(Some("# sk-abcdefghijklmnop1234\n[telegram]\nbot_token = \"1:AA\"\nowner_user_ids = [1]\n"));
        let shown = harness.call(Role::Admin, json!({ "action": "show" })).await.unwrap();
        insta::assert_snapshot!(shown, @r#"
        # [redacted]
        [telegram]
        bot_token = "[redacted]"
        owner_user_ids = [1]
        "#);
        fs::set_permissions(harness.file(), fs::Permissions::from_mode(0o600)).unwrap();
        let told = harness.call(Role::Admin, setting("agent.iterations_max", "9")).await.unwrap();
        insta::assert_snapshot!(told, @"
        HOME/hob/config.toml: agent.iterations_max: not set → 9
        A running Hob takes it up within seconds, and tells its owners what needs a restart.
        ");
        let text = fs::read_to_string(harness.file()).unwrap();
        assert!(text.contains("bot_token = \"1:AA\"") && text.ends_with("iterations_max = 9\n"), "{text}");
        assert_eq!(
            harness.file().metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "who may read it stays as it was"
        );
        let got = harness.call(Role::Admin, json!({ "action": "get", "key": "agent.iterations_max" })).await;
        assert_eq!(got.unwrap(), "agent.iterations_max = 9");
    }

    #[tokio::test]
    async fn c5_what_gives_power_is_the_owners_to_set() {
        let harness = Harness::new(Some("[telegram]\nbot_token = \"1:AA\"\nowner_user_ids = [1]\n"));
        let power = || setting("telegram.owner_user_ids", "[1, 2]");
        let refused = harness.call(Role::Admin, power()).await.unwrap_err();
        assert_eq!(refused, "Only the owner may set telegram.owner_user_ids. Nothing was changed.");
        assert!(harness.call(Role::User, setting("agent.iterations_max", "9")).await.is_err());
        assert!(!fs::read_to_string(harness.file()).unwrap().contains("[1, 2]"));
        harness.call(Role::Owner, power()).await.unwrap();
        assert!(fs::read_to_string(harness.file()).unwrap().contains("owner_user_ids = [1, 2]"));
    }

    #[tokio::test]
    async fn without_a_file_one_is_made_at_the_usual_place() {
        let harness = Harness::new(None);
        let shown = harness.call(Role::Owner, json!({ "action": "show" })).await.unwrap();
        insta::assert_snapshot!(shown, @"There is no config file: everything is as it is by default. Setting a key makes one.");
        harness.call(Role::Owner, setting("agent.iterations_max", "9")).await.unwrap();
        assert_eq!(fs::read_to_string(harness.file()).unwrap(), "[agent]\niterations_max = 9\n");
    }

    #[tokio::test]
    async fn n6_where_the_talk_and_the_keys_go_is_the_owners_to_say() {
        let harness = Harness::new(Some(
            "[provider]\nkind = \"openai_compatible\"\nbase_url = \"https://api.example/v1\"\napi_key = \"k1\"\n",
        ));
        let before = fs::read_to_string(harness.file()).unwrap();
        let evil = || setting("provider.base_url", "https://evil.example/v1");
        for (key, value) in [
            ("provider.base_url", "https://evil.example/v1"),
            ("provider.kind", "openai"),
            ("provider.fallbacks", "[{ kind = 'ollama', model = 'x', base_url = 'http://evil.example' }]"),
            ("memory.embedding.base_url", "http://evil.example"),
            ("web.search.base_url", "http://evil.example"),
            ("mcp.x.url", "http://evil.example"),
        ] {
            let refused = harness.call(Role::Admin, setting(key, value)).await.unwrap_err();
            assert_eq!(refused, format!("Only the owner may set {key}. Nothing was changed."));
        }
        let refused = harness.call(Role::Owner, evil()).await.unwrap_err();
        assert!(refused.contains("provider.api_key would go along to another server"), "{refused}");
        assert_eq!(fs::read_to_string(harness.file()).unwrap(), before);
        harness.call(Role::Admin, setting("provider.models.primary", "small")).await.unwrap();
    }

    #[tokio::test]
    async fn d6_a_change_is_critical_and_says_what_it_changes() {
        let harness = Harness::new(Some("[agent]\niterations_max = 7\n"));
        let assess = async |arguments| {
            let mut invocation = Invocation::for_trial(arguments);
            invocation.principal.role = Role::Owner;
            harness.tool.assess(&invocation, &|_| false).await
        };
        let set = assess(setting("agent.iterations_max", "9")).await;
        assert_eq!((set.risk, set.grade), (Risk::Write, DangerGrade::Critical));
        assert_eq!(set.reasons, ["it changes Hob's configuration", "agent.iterations_max: 7 → 9"]);
        assert_eq!(assess(json!({ "action": "show" })).await, Assessment::usual(Risk::Read));
        let fails = assess(setting("agent.iterations_max", "many")).await;
        assert_eq!(fails.grade, DangerGrade::Critical, "what fails now may do something when its turn comes");
        assert!(fails.reasons[1].starts_with("as things stand it would fail: "), "{fails:?}");
    }
}
