//! `hob mcp add`: a server comes into the config once it has answered, and its owner says what its tools do.
//!
//! Never: a section that is half written, or one of a server that nobody has reached. What is said of the tools is stored before
//! the config names the server, so that a running Hob never offers them otherwise.

use std::io::{IsTerminal as _, stdin, stdout};

use anyhow::Context as _;
use toml_edit::{Array, Value};

use crate::cli::init::asker::{Asker, SetupError, choose};
use crate::cli::init::terminal::TerminalAsker;
use crate::cli::mcp::{class, probe_server, quarantined};
use crate::cli::next_step::refuse;
use crate::cli::{CliContext, runtime, show};
use crate::daemon::toolset::mcp::settings;
use crate::daemon::triggers;
use hob_config::change::{Edit, Secrets};
use hob_config::writer::Writer;
use hob_config::{edit, good_configs, load};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::tool_class::ToolClass;
use hob_tools::mcp::error::McpError;
use hob_tools::mcp::probe;
use hob_tools::mcp::settings::Settings;
use hob_tools::mcp::tool_table::{ClassChange, ServerTools};

/// What is asked of all tools together.
const WHAT_DO_THEY_DO: &str = "What do these tools do? What you say holds as long as the server describes a tool just so: you vouch for these words.";
/// How that is answered.
const FOR_ALL: [&str; 3] =
    ["as the server says", "I say it of each", "nothing is said yet: a person is asked at each call"];
/// Which of them Enter takes.
const OF_EACH: usize = 1;

/// How the new server is reached.
pub(super) enum NewServer<'a> {
    /// By HTTP, at this address.
    Address(&'a str),
    /// A program and its arguments.
    Program(&'a [String]),
}

impl NewServer<'_> {
    /// What is written into the config for it.
    fn edit(&self, section: &str) -> Edit {
        match self {
            Self::Address(url) => Edit::set_value(&format!("{section}.url"), *url),
            Self::Program(vector) => {
                let vector: Array = vector.iter().map(String::as_str).collect();
                Edit::set_value(&format!("{section}.command"), Value::from(vector))
            }
        }
    }
}

/// Reaches the server, has its tools classed, and writes it into the config.
///
/// # Errors
/// When it is there already, the check refuses it, or it does not answer. Nothing is written then.
pub(super) fn add(name: &str, server: &NewServer<'_>, base: &CliContext) -> anyhow::Result<()> {
    let env = &base.environment;
    let file = good_configs::place(base.loaded.path.as_deref(), env)
        .context("no place for a config file is known: set $HOME, or name one with --config")?;
    let writer = Writer::new(file, env.clone(), triggers::check_beyond_schema);
    let section = format!("mcp.{name}");
    let text = writer.text()?.unwrap_or_default();
    if edit::get(&text, &section)?.is_some() {
        refuse!("there is [{section}] in the config already"; "`hob mcp class {name}` shows its tools");
    }
    let edits = [server.edit(&section)];
    let planned = writer.plan(&edits, Secrets::Refused)?;
    let config = load::parse(writer.file(), planned.text(), env)?;
    let known = config.mcp.get(name).with_context(|| format!("{name:?} cannot name a server"))?;
    let known = settings(name, known, &config, &base.data_dir);
    let runtime = runtime()?;
    let next = match runtime.block_on(Box::pin(probe_server(&known, base))) {
        Ok(seen) => {
            quarantined(&seen).iter().try_for_each(|line| show(&format!("{}\n", base.redactor.redact(line))))?;
            runtime.block_on(Box::pin(class_tools(&known, base)))?
        }
        Err(error) if matches!(error.downcast_ref(), Some(McpError::NeedsLogin(_) | McpError::Challenged(_))) => {
            format!("It needs a login: hob mcp login {name}\nThen say what its tools do: hob mcp class {name}\n")
        }
        Err(error) => return Err(error.context("nothing was written")),
    };
    let done = writer.change(&edits, Secrets::Refused, SystemClock.now())?;
    Ok(show(&format!(
        "{next}{}: {}\nA running Hob uses it from now on. To take it out again: hob config unset {section}\n",
        writer.file().display(),
        done.told()
    ))?)
}

/// Shows the tools, and has whoever sits at the terminal say what they do. Gives how to go on.
async fn class_tools(server: &Settings, base: &CliContext) -> anyhow::Result<String> {
    let store = base.state().open().await?;
    let classed = async |wish: &ClassChange| {
        probe::class(server, wish, &base.data_dir, &store, SystemClock.now()).await.map_err(anyhow::Error::from)
    };
    let tools = classed(&ClassChange::default()).await?;
    let table = |tools: &ServerTools| base.redactor.redact(&class::class_table(tools)).into_owned();
    if !stdin().is_terminal() || !stdout().is_terminal() {
        store.close().await;
        return Ok(table(&tools));
    }
    let mut asker = TerminalAsker::open(base.environment.text("TERM"))?;
    asker.tell(&base.redactor.redact(&tools.tools.iter().map(class::tool_line).collect::<Vec<_>>().join("\n")));
    let wish = match said(&mut asker, &tools) {
        Ok(wish) => wish,
        Err(SetupError::Left) => {
            refuse!("left, and nothing was written"; "run it again when you know what the tools may do")
        }
        Err(SetupError::Failed(error)) => return Err(error),
    };
    let tools = classed(&wish).await;
    store.close().await;
    Ok(table(&tools?))
}

/// What whoever is asked says of the tools.
fn said(asker: &mut dyn Asker, tools: &ServerTools) -> Result<ClassChange, SetupError> {
    if tools.tools.is_empty() {
        return Ok(ClassChange::default());
    }
    let options = FOR_ALL.map(str::to_owned);
    match choose(asker, WHAT_DO_THEY_DO, &options, OF_EACH)? {
        0 => Ok(ClassChange { as_it_says: true, ..ClassChange::default() }),
        OF_EACH => of_each(asker, tools),
        _ => Ok(ClassChange::default()),
    }
}

/// The same of each by itself. Enter takes its server's hint; without one nothing is said.
fn of_each(asker: &mut dyn Asker, tools: &ServerTools) -> Result<ClassChange, SetupError> {
    let mut options: Vec<String> = ToolClass::ALL.into_iter().map(meaning).collect();
    options.push("ask: nothing is said yet, so a person is asked at each call".to_owned());
    let mut wish = ClassChange::default();
    for tool in &tools.tools {
        let hinted = ToolClass::ALL.into_iter().position(|class| tool.has_hints && class == tool.hinted);
        let chosen = choose(asker, &class::tool_line(tool), &options, hinted.unwrap_or(ToolClass::ALL.len()))?;
        wish.tools.extend(ToolClass::ALL.get(chosen).map(|class| (tool.own.clone(), Some(*class))));
    }
    Ok(wish)
}

fn meaning(class: ToolClass) -> String {
    let what = match class {
        ToolClass::Looks => "it changes nothing and tells nobody anything, so nobody is asked",
        ToolClass::Changes => "a person is asked when somebody else's words were read before",
        ToolClass::Critical => "a person is asked each time",
        ToolClass::Off => "not at all; it is not offered",
    };
    format!("{}: {what}", class.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::secret::Secret;
    use hob_tools::mcp::tool_table::ToolLine;

    /// Somebody who has these lines to say.
    struct Script(Vec<&'static str>, String);

    impl Asker for Script {
        fn tell(&mut self, text: &str) {
            self.1.push_str(text);
            self.1.push('\n');
        }

        fn line(&mut self, prompt: &str) -> Result<String, SetupError> {
            self.tell(prompt.trim_end());
            if self.0.is_empty() { Err(SetupError::Left) } else { Ok(self.0.remove(0).to_owned()) }
        }

        fn secret(&mut self, _prompt: &str) -> Result<Secret, SetupError> {
            Err(SetupError::Left)
        }
    }

    fn tools() -> ServerTools {
        let tool = |own: &str, hinted, has_hints| ToolLine {
            name: format!("files__{own}"),
            own: own.to_owned(),
            about: format!("Does {own}."),
            hinted,
            has_hints,
            class: None,
            was: None,
            digest: String::new(),
        };
        let tools = vec![
            tool("read", ToolClass::Looks, true),
            tool("move", ToolClass::Changes, false),
            tool("wipe", ToolClass::Critical, true),
        ];
        ServerTools { server: "files".to_owned(), tools }
    }

    #[test]
    fn n16_who_adds_a_server_says_what_its_tools_do_in_one_go() {
        let of = |lines: &[&'static str]| {
            let mut script = Script(lines.to_vec(), String::new());
            (said(&mut script, &tools()), script.1)
        };
        assert_eq!(of(&["1"]).0.unwrap(), ClassChange { as_it_says: true, ..ClassChange::default() });
        assert_eq!(of(&["3"]).0.unwrap(), ClassChange::default());
        // Enter takes a server's hint, and says nothing of what has none.
        let (wish, told) = of(&["", "", "", "4"]);
        let expected = [("read", ToolClass::Looks), ("wipe", ToolClass::Off)];
        let expected = expected.map(|(tool, class)| (tool.to_owned(), Some(class))).into();
        assert_eq!(wish.unwrap(), ClassChange { tools: expected, as_it_says: false });
        insta::assert_snapshot!(told, @r"

        What do these tools do? What you say holds as long as the server describes a tool just so: you vouch for these words.
          1. as the server says
          2. I say it of each
          3. nothing is said yet: a person is asked at each call
        Number [2]:

        ask       read: Does read. (its server says: looks)
          1. looks: it changes nothing and tells nobody anything, so nobody is asked
          2. changes: a person is asked when somebody else's words were read before
          3. critical: a person is asked each time
          4. off: not at all; it is not offered
          5. ask: nothing is said yet, so a person is asked at each call
        Number [1]:

        ask       move: Does move. (its server says: nothing)
          1. looks: it changes nothing and tells nobody anything, so nobody is asked
          2. changes: a person is asked when somebody else's words were read before
          3. critical: a person is asked each time
          4. off: not at all; it is not offered
          5. ask: nothing is said yet, so a person is asked at each call
        Number [5]:

        ask       wipe: Does wipe. (its server says: critical)
          1. looks: it changes nothing and tells nobody anything, so nobody is asked
          2. changes: a person is asked when somebody else's words were read before
          3. critical: a person is asked each time
          4. off: not at all; it is not offered
          5. ask: nothing is said yet, so a person is asked at each call
        Number [3]:
        ");
        // Whoever leaves in between has said nothing.
        assert!(matches!(of(&["2", "1"]).0, Err(SetupError::Left)));
    }

    #[test]
    fn a_new_server_is_a_key_of_the_config() {
        let vector = ["npx", "-y", "a \"b\""].map(str::to_owned);
        let told = |server: &NewServer<'_>| match server.edit("mcp.files") {
            Edit::Set { key, value } => format!("{key} = {value}"),
            other => format!("{other:?}"),
        };
        assert_eq!(told(&NewServer::Program(&vector)), r#"mcp.files.command = ["npx", "-y", 'a "b"']"#);
        assert_eq!(told(&NewServer::Address("https://a.example/mcp")), r#"mcp.files.url = "https://a.example/mcp""#);
    }
}
