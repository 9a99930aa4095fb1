//! Whether and how much the model thinks in one request.
//!
//! Never: a combination that the API refuses.
//! Start at [`ThinkingPlan::new`].

use serde::Serialize;
use serde_json::value::RawValue;

use crate::anthropic::ModelProfile;
use crate::anthropic::family::Mode;
use crate::message::{Message, ReplyPart, Sealed};
use hob_core::domain::choices::Effort;

/// The tokens of a reply where the owner names no number, thinking aside.
pub(super) const REPLY_TOKENS: u64 = 8192;
/// The smallest budget that the API takes.
const BUDGET_TOKENS_MIN: u64 = 1024;
/// What is left for the reply itself, at least.
const REST_TOKENS_MIN: u64 = 1024;

/// What else the request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingConstraint {
    /// Nothing that concerns thinking.
    Free,
    /// A tool must be called: no model may think before that.
    ToolForced,
    /// A loop that began without thinking is to go on: see [`resumable`].
    BegunWithout,
}

/// What the request says about thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThinkingPlan {
    /// The field `thinking`.
    pub(super) thinking: Option<Thinking>,
    /// The field `output_config`.
    pub(super) output: Option<OutputConfig>,
    /// The field `max_tokens`.
    pub(super) max_tokens: u64,
    /// Whether the model thinks: then it wants its thinking back and takes no temperature.
    pub(super) thinks: bool,
}

/// The field `thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Enabled { budget_tokens: u64 },
    Adaptive,
    Disabled,
}

/// The field `output_config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig {
    effort: &'static str,
}

impl ThinkingPlan {
    /// The plan for a request whose reply has `asked` tokens at most.
    pub(super) fn new(speaker: &ModelProfile, case: ThinkingConstraint, asked: Option<u64>) -> Self {
        let forced = case == ThinkingConstraint::ToolForced;
        let effort = speaker.tuning.effort;
        match speaker.family.mode {
            Mode::Never => Self::without_thinking(asked, None),
            Mode::Budget | Mode::Adaptive if effort.is_none() || forced => Self::without_thinking(asked, None),
            Mode::Budget if case == ThinkingConstraint::BegunWithout => Self::without_thinking(asked, None),
            Mode::Budget => Self::with_budget(asked, tokens(effort)),
            Mode::AdaptiveUnlessDisabled if forced => Self::without_thinking(asked, Some(Thinking::Disabled)),
            Mode::Adaptive | Mode::AdaptiveUnlessDisabled | Mode::AlwaysAdaptive => Self {
                thinking: effort.map(|_| Thinking::Adaptive),
                output: effort.map(|effort| OutputConfig { effort: word(effort) }),
                max_tokens: asked.unwrap_or(REPLY_TOKENS + tokens(effort)),
                thinks: true,
            },
        }
    }

    fn without_thinking(asked: Option<u64>, thinking: Option<Thinking>) -> Self {
        Self { thinking, output: None, max_tokens: asked.unwrap_or(REPLY_TOKENS), thinks: false }
    }

    /// Thinking counts as output: it is added to our own limit, and takes from the owner's.
    fn with_budget(asked: Option<u64>, wanted: u64) -> Self {
        let max_tokens = asked.unwrap_or(REPLY_TOKENS + wanted);
        let budget_tokens = wanted.min(max_tokens.saturating_sub(REST_TOKENS_MIN));
        if budget_tokens < BUDGET_TOKENS_MIN {
            return Self::without_thinking(asked, None);
        }
        Self { thinking: Some(Thinking::Enabled { budget_tokens }), output: None, max_tokens, thinks: true }
    }
}

/// The room that thinking takes; no effort is what the models do by themselves.
fn tokens(effort: Option<Effort>) -> u64 {
    match effort {
        Some(Effort::Low) => 2048,
        Some(Effort::Medium) | None => 8192,
        Some(Effort::High) => 20_000,
    }
}

fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Whether a model with a budget may go on thinking: what it said since the user spoke must begin with its own thinking.
/// After a switch of models in mid-run it does not.
pub(super) fn can_resume_thinking(messages: &[Message]) -> bool {
    let spoke = |at: usize| matches!(messages[at], Message::User { .. });
    let after_result = |at: usize| at > 0 && matches!(messages[at - 1], Message::Tool(_));
    let begun = (0..messages.len()).rev().find(|&at| spoke(at) && !after_result(at)).unwrap_or(0);
    (begun..messages.len()).filter(|&at| spoke(at)).all(|at| match messages.get(at + 1) {
        Some(Message::Assistant { parts }) if messages[at + 1].calls().next().is_some() => {
            matches!(parts.first(), Some(ReplyPart::Sealed(sealed)) if block(sealed).is_some())
        }
        _ => true,
    })
}

/// What was sealed, as the block that is given back; none if it is something else.
pub(super) fn block(sealed: &Sealed) -> Option<Box<RawValue>> {
    let known = matches!(sealed.kind.as_str(), "thinking" | "redacted_thinking");
    let block = RawValue::from_string(sealed.data.clone()).ok().filter(|_| known)?;
    block.get().starts_with('{').then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anthropic::family::Family;
    use crate::message::{ToolCall, ToolResult};
    use crate::settings::Tuning;
    use hob_core::domain::ids::CallId;

    fn plan(model: &str, effort: Option<Effort>, max_output_tokens: Option<u64>, forced: bool) -> String {
        let tuning = Tuning { effort, max_output_tokens, temperature: None };
        let (model, label) = (model.to_owned(), String::new());
        let family = Family::of(&model);
        let case = if forced { ThinkingConstraint::ToolForced } else { ThinkingConstraint::Free };
        let plan = ThinkingPlan::new(
            &ModelProfile { model, label, family, tuning, sees_images: true },
            case,
            max_output_tokens,
        );
        let thinking = plan.thinking.map(|thinking| serde_json::to_string(&thinking).unwrap()).unwrap_or_default();
        let effort = plan.output.map(|output| output.effort).unwrap_or_default();
        format!("{} {thinking}{effort}{}", plan.max_tokens, if plan.thinks { " thinks" } else { "" })
    }

    #[test]
    fn each_family_is_told_in_its_own_way() {
        let (low, high) = (Some(Effort::Low), Some(Effort::High));
        let table = [
            ("claude-3-5-haiku", high, None, false, "8192 "),
            ("claude-opus-4-5", None, None, false, "8192 "),
            ("claude-opus-4-5", low, None, false, r#"10240 {"type":"enabled","budget_tokens":2048} thinks"#),
            ("claude-opus-4-5", high, Some(4096), false, r#"4096 {"type":"enabled","budget_tokens":3072} thinks"#),
            ("claude-opus-4-5", high, Some(2048), false, r#"2048 {"type":"enabled","budget_tokens":1024} thinks"#),
            ("claude-opus-4-5", high, Some(2047), false, "2047 "),
            ("claude-opus-4-5", high, Some(4096), true, "4096 "),
            ("claude-opus-4-6", None, Some(99), false, "99 "),
            ("claude-opus-4-6", high, None, false, r#"28192 {"type":"adaptive"}high thinks"#),
            ("claude-opus-4-6", high, None, true, "8192 "),
            ("claude-opus-5", None, None, false, "16384  thinks"),
            ("claude-opus-5", low, None, true, r#"8192 {"type":"disabled"}"#),
            ("claude-opus-5-5", None, None, true, "16384  thinks"),
            ("claude-opus-5-5", low, Some(5), false, r#"5 {"type":"adaptive"}low thinks"#),
        ];
        for (model, effort, max, forced, expected) in table {
            assert_eq!(plan(model, effort, max, forced), expected, "{model} {effort:?} {max:?} {forced}");
        }
    }

    #[test]
    fn a_loop_that_began_without_thinking_goes_on_without() {
        let sealed = || {
            let (model, kind) = (String::new(), "thinking".to_owned());
            ReplyPart::Sealed(Sealed { model, kind, data: "{}".to_owned() })
        };
        let call = || {
            let (id, name, arguments) = (CallId::new(0, 0), "look".to_owned(), "{}".to_owned());
            ReplyPart::Call(ToolCall { id, name, arguments })
        };
        let said = |parts: Vec<ReplyPart>| Message::Assistant { parts };
        let result = || {
            let (name, text) = ("look".to_owned(), "x".to_owned());
            Message::Tool(ToolResult { call: CallId::new(0, 0), name, text, is_error: false })
        };
        let user = || Message::user("a");
        let table = [
            (vec![user()], true),
            (vec![user(), said(vec![call()]), result()], false),
            (vec![user(), said(vec![sealed(), call()]), result()], true),
            // Only the loop's first message need think.
            (vec![user(), said(vec![sealed(), call()]), result(), said(vec![call()]), result()], true),
            (vec![user(), said(vec![call()]), result(), said(vec![sealed(), call()]), result()], false),
            // An earlier turn does not matter.
            (vec![user(), said(vec![call()]), result(), said(vec![ReplyPart::text("b")]), user()], true),
            // The user spoke in mid-loop.
            (vec![user(), said(vec![call()]), result(), user(), said(vec![sealed(), call()]), result()], false),
            (vec![user(), said(vec![sealed(), call()]), result(), user(), said(vec![call()]), result()], false),
        ];
        for (messages, expected) in table {
            assert_eq!(can_resume_thinking(&messages), expected, "{messages:?}");
        }
    }
}
