//! Prompts of servers: what a person asks for by name is said in the server's words.
//!
//! Nothing is kept of them: a server is asked each time, so that there are always those that it has now.
//! Start at [`crate::mcp::Servers::prompt`].

use rmcp::model::{JsonObject, Prompt};
use serde_json::Value;

use crate::mcp::excerpt;
use crate::mcp::listed::plain;

/// The most prompts that are told of.
const TOLD_MAX: usize = 50;
/// The most characters of what one is for.
const ABOUT_CHARS_MAX: usize = 120;

/// What a person asks for: `/notes:summary of March`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRequest {
    /// The server's name in the config.
    pub server: String,
    /// The prompt's name; empty: which there are.
    pub prompt: String,
    /// What stands behind it.
    pub words: String,
}

impl PromptRequest {
    /// From a message; none: it asks for no prompt.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (server, prompt) = name.split_once(':')?;
        let server = server.to_ascii_lowercase();
        let is_name = server.starts_with(|c: char| c.is_ascii_lowercase())
            && server.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        is_name.then(|| Self { server, prompt: prompt.to_owned(), words: words.trim().to_owned() })
    }
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptAnswer {
    /// What the prompt says.
    Said {
        /// The words.
        text: String,
        /// Whose they are; none: somebody vouches for them.
        from: Option<String>,
    },
    /// Nothing is asked of anybody: words for the person.
    Told(String),
}

/// Why nothing is asked for, in words for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct PromptRefusal(String);

/// The prompt of this name.
///
/// # Errors
/// When there is none: those that there are.
pub(super) fn find<'a>(server: &str, prompts: &'a [Prompt], name: &str) -> Result<&'a Prompt, PromptRefusal> {
    let alike = |prompt: &&Prompt| prompt.name.eq_ignore_ascii_case(name);
    let found = prompts.iter().find(|prompt| prompt.name == name).or_else(|| prompts.iter().find(alike));
    found.ok_or_else(|| {
        PromptRefusal(match prompts {
            [] => format!("The MCP server {server} has no prompts."),
            _ if name.is_empty() => format!("The MCP server {server} has prompts.\n{}", list(server, prompts)),
            _ => format!("The MCP server {server} has no prompt {:?}.\n{}", excerpt(name), list(server, prompts)),
        })
    })
}

/// How each is asked for.
fn list(server: &str, prompts: &[Prompt]) -> String {
    let line = |prompt: &Prompt| {
        let about = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
        let about = plain(about.lines().next().unwrap_or_default(), ABOUT_CHARS_MAX);
        let about = if about.is_empty() { about } else { format!(" – {about}") };
        format!("{}{about}", usage(server, prompt))
    };
    let mut lines: Vec<String> = prompts.iter().take(TOLD_MAX).map(line).collect();
    if prompts.len() > TOLD_MAX {
        lines.push(format!("and {} more", prompts.len() - TOLD_MAX));
    }
    format!("It has these:\n{}", lines.join("\n"))
}

/// `/notes:summary MONTH [STYLE]`.
fn usage(server: &str, prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten().map(|argument| {
        let name = excerpt(&argument.name).to_uppercase();
        if argument.required == Some(true) { format!(" {name}") } else { format!(" [{name}]") }
    });
    format!("/{server}:{}{}", excerpt(&prompt.name), arguments.collect::<String>())
}

/// A prompt's arguments from a person's words: a word each in their order, all further ones to the last; or `name=words`.
///
/// # Errors
/// When one is missing, or it takes none: how it is asked for.
pub(super) fn arguments(server: &str, prompt: &Prompt, words: &str) -> Result<JsonObject, PromptRefusal> {
    let named = prompt.arguments.as_deref().unwrap_or_default();
    let mut given: Vec<Option<String>> = vec![None; named.len()];
    // Which one a further word belongs to, once one was named.
    let mut open = None;
    for word in words.split_whitespace() {
        let by_name = word.split_once('=').and_then(|(name, value)| {
            let at = named.iter().position(|argument| argument.name.eq_ignore_ascii_case(name))?;
            Some((at, value))
        });
        let (at, value) = match by_name {
            Some((at, value)) => {
                open = Some(at);
                (Some(at), value)
            }
            None => (open.or_else(|| given.iter().position(Option::is_none)).or(named.len().checked_sub(1)), word),
        };
        let Some(place) = at.and_then(|at| given.get_mut(at)) else {
            let told = format!("That prompt takes no words. It is asked for by {}", usage(server, prompt));
            return Err(PromptRefusal(told));
        };
        *place = Some(place.take().map_or_else(|| value.to_owned(), |before| format!("{before} {value}")));
    }
    let missing = |(argument, given): &(&rmcp::model::PromptArgument, &Option<String>)| {
        argument.required == Some(true) && given.as_ref().is_none_or(String::is_empty)
    };
    if named.iter().zip(&given).any(|pair| missing(&pair)) {
        let told = format!("Something is missing. It is asked for by {}", usage(server, prompt));
        return Err(PromptRefusal(told));
    }
    let all = named.iter().zip(given).filter_map(|(argument, value)| Some((argument.name.clone(), value?)));
    Ok(all.map(|(name, value)| (name, Value::String(value))).collect())
}

#[cfg(test)]
mod tests {
    use rmcp::model::PromptArgument;

    use super::*;

    fn prompt(name: &str, arguments: &[(&str, bool)]) -> Prompt {
        let argument = |(name, required): &(&str, bool)| PromptArgument::new(*name).with_required(*required);
        Prompt::new(name, Some("Sums up."), Some(arguments.iter().map(argument).collect()))
    }

    #[test]
    fn a_prompt_is_asked_for_by_its_servers_name_and_its_own() {
        let read = |text: &str| PromptRequest::parse(text).map(|asked| (asked.server, asked.prompt, asked.words));
        let some = |server: &str, prompt: &str, words: &str| Some((server.into(), prompt.into(), words.into()));
        assert_eq!(read("/Notes:Sum-up.all  of   March "), some("notes", "Sum-up.all", "of   March"));
        assert_eq!(read("/my-notes:"), some("my-notes", "", ""));
        assert_eq!(read("/notes:a\nb"), some("notes", "a", "b"));
        for other in ["/notes", "notes:a", "/etc/x:y", "/:a", "/1:2", "/a b:c", "https://a:b", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn words_become_arguments() {
        let (none, one) = (prompt("p", &[]), prompt("p", &[("of", true)]));
        let two = prompt("p", &[("month", true), ("style", false)]);
        let read = |prompt: &Prompt, words: &str| {
            arguments("s", prompt, words).map(|all| Value::Object(all).to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(read(&none, "").unwrap(), "{}");
        assert_eq!(read(&none, "x").unwrap_err(), "That prompt takes no words. It is asked for by /s:p");
        assert_eq!(read(&one, "all of March").unwrap(), r#"{"of":"all of March"}"#);
        assert_eq!(read(&two, "March").unwrap(), r#"{"month":"March"}"#);
        assert_eq!(read(&two, "March short and dry").unwrap(), r#"{"month":"March","style":"short and dry"}"#);
        assert_eq!(
            read(&two, "style=short and dry MONTH=March").unwrap(),
            r#"{"month":"March","style":"short and dry"}"#
        );
        assert_eq!(read(&two, "a=b x").unwrap(), r#"{"month":"a=b","style":"x"}"#, "what is no name is a word");
        let missing = "Something is missing. It is asked for by /s:p MONTH [STYLE]";
        assert_eq!(read(&two, "").unwrap_err(), missing);
        assert_eq!(read(&two, "month= style=dry").unwrap_err(), missing);
    }

    #[test]
    fn what_there_is_is_told() {
        let all = [prompt("sum", &[("of", true)]), prompt("plan", &[])];
        assert_eq!(find("s", &all, "SUM").unwrap().name, "sum");
        insta::assert_snapshot!(find("s", &all, "x").unwrap_err().to_string(), @r#"
        The MCP server s has no prompt "x".
        It has these:
        /s:sum OF – Sums up.
        /s:plan – Sums up.
        "#);
        assert_eq!(find("s", &[], "x").unwrap_err().to_string(), "The MCP server s has no prompts.");
    }
}
