//! What an owner says of all tools of an MCP server in one go, with the answer to a question about one of them (row N16).
//!
//! The class holds in this run at once; the projection stores it for those that come.

use hob_core::domain::ids::CallId;
use hob_core::domain::tool_class::{ServerClassification, ToolClass};

use crate::machine::approval::words::quotable;
use crate::machine::human::Decision;
use crate::machine::question::{Answer, Question};
use crate::machine::state::{ActiveState, Phase, ResumePoint};

/// From here on these tools are of the classes that their server's hints amount to.
pub(super) fn apply(run: &mut ActiveState, classing: &ServerClassification) {
    for tool in &classing.tools {
        if let Some(facts) = run.tools.get_mut(&tool.name) {
            *facts = tool.hinted.facts(*facts);
        }
    }
    let batch = match &mut run.phase {
        Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => batch,
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => return,
    };
    for open in &mut batch.calls {
        let class = classing.tools.iter().find(|tool| tool.name == open.call.name).map(|tool| tool.hinted);
        if let (Some(class), Some(known)) = (class, &mut open.assessed) {
            class.apply(known);
        }
    }
}

/// What this answer to what the run stood at classes; the run stands at `after` now, and asks nothing about the same call.
pub(crate) fn said<'a>(
    before: &'a ActiveState,
    answer: &Answer,
    after: &ActiveState,
) -> Option<&'a ServerClassification> {
    let Phase::Waiting { question: question @ Question::Approval { call, concern, .. }, .. } = &before.phase else {
        return None;
    };
    let is_said = Decision::parse(&answer.text, question) == Some(Decision::AsItSays);
    concern.classing.as_deref().filter(|_| is_said && !asks_about(after, call))
}

fn asks_about(run: &ActiveState, call: &CallId) -> bool {
    matches!(&run.phase, Phase::Waiting { question: Question::Approval { call: asked, .. }, .. } if asked == call)
}

/// What a question says of it.
pub(super) fn told(classing: &ServerClassification) -> String {
    let named = |class: ToolClass| {
        let tools = classing.tools.iter().filter(|tool| tool.hinted == class);
        tools.map(|tool| quotable(&tool.name)).collect::<Vec<_>>().join(", ")
    };
    let part = |(class, what): (ToolClass, &str)| {
        let named = named(class);
        (!named.is_empty()).then(|| format!("{what}: {named}"))
    };
    let parts = [
        (ToolClass::Looks, "these only look, and I do not ask about them"),
        (ToolClass::Changes, "these change something, and I ask when somebody else may be behind it"),
        (ToolClass::Critical, "these may delete or overwrite something, and I ask each time"),
    ];
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    let (said, server) = (Decision::AsItSays.label(), quotable(&classing.server));
    format!(
        "\"{said}\": from now on I believe what {server} says of its tools: {}. `hob mcp class {server}` shows all its words, and sets each by itself.",
        parts.join("; ")
    )
}
