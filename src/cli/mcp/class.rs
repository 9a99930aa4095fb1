//! `hob mcp class`: the tools of a server with what it says of them, and what an owner says. By the Hob that runs, or else by
//! itself.

use std::time::Duration;

use anyhow::Context as _;

use crate::cli::next_step::{refusal, refuse};
use crate::cli::{CliContext, skill};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::text::one_line;
use hob_core::domain::tool_class::ToolClass;
use hob_tools::mcp::probe;
use hob_tools::mcp::settings::Settings;
use hob_tools::mcp::tool_table::{ClassChange, ServerTools, ToolLine};
use hob_web::classes::{ClassRequest, PATH};
use hob_web::local_client::{AskError, post};

/// How long a running Hob may take.
const WITHIN: Duration = Duration::from_secs(20);
/// The word by which nothing is said of a tool any more.
const ASK: &str = "ask";

/// What an owner says in `TOOL=CLASS`.
pub(super) fn parse_classes(tools: &[String], as_it_says: bool) -> anyhow::Result<ClassChange> {
    let one = |text: &String| {
        let (tool, class) = text
            .rsplit_once('=')
            .with_context(|| refusal!("{text:?} is no TOOL=CLASS"; "write it like send=changes"))?;
        let known = ToolClass::parse(class);
        if known.is_none() && class != ASK {
            let all: Vec<&str> = ToolClass::ALL.into_iter().map(ToolClass::as_str).collect();
            refuse!("{class:?} is not a class"; "there are {}, {ASK}", all.join(", "));
        }
        Ok((tool.to_owned(), known))
    };
    Ok(ClassChange { tools: tools.iter().map(one).collect::<anyhow::Result<_>>()?, as_it_says })
}

/// Says it, and gives the tools as they are classed then.
///
/// # Errors
/// When the server's tools are not known, or there is no such tool.
pub(super) async fn class(server: &Settings, wish: ClassChange, base: &CliContext) -> anyhow::Result<ServerTools> {
    let said = serde_json::to_string(&ClassRequest { server: server.name.clone(), wish: wish.clone() })?;
    match post(&base.data_dir, PATH, &said, WITHIN) {
        Ok(answer) if answer.status == 200 => Ok(serde_json::from_str(&answer.body)?),
        Ok(answer) => refuse!("{}", answer.body; "`hob mcp test {}` shows its tools", server.name),
        Err(AskError::NotRunning) => {
            let store = skill::open(&base.state()).await?;
            let done = probe::class(server, &wish, &base.data_dir, &store, SystemClock.now()).await;
            store.close().await;
            Ok(done?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The tools, a line each, and how to say more.
pub(super) fn class_table(tools: &ServerTools) -> String {
    let server = &tools.server;
    let mut lines: Vec<String> = tools.tools.iter().map(tool_line).collect();
    let unsaid: Vec<&ToolLine> = tools.tools.iter().filter(|tool| tool.class.is_none()).collect();
    if let Some(first) = unsaid.first() {
        lines.push(format!("\"{ASK}\": nobody has said what it does, so a person is asked at each call."));
        lines.push(format!("  hob mcp class {server} {}=CLASS   looks, changes, critical, off or {ASK}", first.own));
        lines.push(format!("  hob mcp class {server} --as-it-says   takes the server's word for all of these"));
    }
    lines.join("\n") + "\n"
}

/// A tool: what was said of it, and all that its server says.
pub(super) fn tool_line(tool: &ToolLine) -> String {
    let class = tool.class.map_or(ASK, ToolClass::as_str);
    // All of it: whoever classes a tool vouches for these words.
    let about = one_line(&tool.about);
    let says = if tool.has_hints { tool.hinted.as_str() } else { "nothing" };
    let was = tool.was.map(|was| format!("; it was {} when the server said something else of it", was.as_str()));
    format!("{class:<9} {}: {about} (its server says: {says}{})", tool.own, was.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n16_the_tools_of_a_server_are_shown_with_both_words() {
        let tool = |own: &str, hinted, class, was| ToolLine {
            name: format!("files__{own}"),
            own: own.to_owned(),
            about: format!("Does {own}.\nMore."),
            hinted,
            has_hints: own != "move",
            class,
            was,
            digest: String::new(),
        };
        let tools = vec![
            tool("read", ToolClass::Looks, Some(ToolClass::Looks), None),
            tool("delete", ToolClass::Critical, None, Some(ToolClass::Off)),
            tool("move", ToolClass::Changes, None, None),
        ];
        insta::assert_snapshot!(class_table(&ServerTools { server: "files".to_owned(), tools }), @r#"
        looks     read: Does read. More. (its server says: looks)
        ask       delete: Does delete. More. (its server says: critical; it was off when the server said something else of it)
        ask       move: Does move. More. (its server says: nothing)
        "ask": nobody has said what it does, so a person is asked at each call.
          hob mcp class files delete=CLASS   looks, changes, critical, off or ask
          hob mcp class files --as-it-says   takes the server's word for all of these
        "#);
    }

    #[test]
    fn n16_a_class_that_is_none_is_told() {
        let of = |text: &str| parse_classes(&[text.to_owned()], false);
        assert_eq!(of("a=b=looks").unwrap().tools, [("a=b".to_owned(), Some(ToolClass::Looks))].into());
        assert_eq!(of("a=ask").unwrap().tools, [("a".to_owned(), None)].into());
        insta::assert_snapshot!(of("a").unwrap_err(), @r#""a" is no TOOL=CLASS: write it like send=changes"#);
        insta::assert_snapshot!(of("a=Looks").unwrap_err(), @r#""Looks" is not a class: there are looks, changes, critical, off, ask"#);
    }
}
