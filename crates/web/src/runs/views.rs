//! A run as the API shows it. Texts are cut, and say how long they are.

use jiff::Timestamp;
use serde::Serialize;

use hob_agent::machine::effect::ModelCallPurpose;
use hob_agent::replay::story::{StoryStep, story};
use hob_agent::replay::tree::{Cycle, ModelRequest, ModelRequestOutcome, RecordedCall, Remark, RunTree};
use hob_core::domain::money::Money;
use hob_core::domain::origin::Taint;
use hob_model::message::Usage;

/// The longest message or reply that is shown, in characters.
pub(super) const WORDS_MAX: usize = 4_000;
/// The longest result, argument or remark.
pub(super) const DETAIL_MAX: usize = 1_200;
/// Cycles that are shown at once.
const CYCLES_MAX: usize = 50;

/// A text, perhaps only its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct TextExcerpt {
    /// The words.
    text: String,
    /// The size of the whole.
    bytes: usize,
    /// There is more of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl TextExcerpt {
    /// At most so many characters of a text.
    pub(super) fn of(text: &str, chars_max: usize) -> Self {
        let end = text.char_indices().nth(chars_max).map(|(at, _)| at);
        let shown = end.and_then(|end| text.get(..end)).unwrap_or(text);
        Self { text: shown.to_owned(), bytes: text.len(), cut: shown.len() < text.len() }
    }
}

/// How long texts may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSize {
    /// As long as fits a page with many.
    Cut,
    Whole,
}

impl TextSize {
    fn piece(self, text: &str, chars_max: usize) -> TextExcerpt {
        TextExcerpt::of(text, if self == Self::Cut { chars_max } else { usize::MAX })
    }
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Tokens {
    /// Read, from the provider's cache or not.
    read: u64,
    /// Of those, from the cache.
    cached: u64,
    /// Of those, written to the cache.
    cache_written: u64,
    /// Written, thinking included.
    written: u64,
    /// Of those, thinking.
    thinking: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            read: usage.input_tokens,
            cached: usage.cached_tokens,
            cache_written: usage.cache_write_tokens,
            written: usage.output_tokens,
            thinking: usage.reasoning_tokens,
        }
    }
}

/// What a run's cycles add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct RunCost {
    /// Tokens.
    pub(super) tokens: Tokens,
    /// Money, in nano-dollars, as far as prices are known.
    pub(super) cost_nano_usd: i64,
    /// One of the models has no known price.
    pub(super) unpriced: bool,
}

impl RunCost {
    pub(super) fn new(usage: Usage, cost: Money, unpriced: bool) -> Self {
        Self { tokens: usage.into(), cost_nano_usd: cost.nanos(), unpriced }
    }
}

/// A place of a journal and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct AtEvent {
    /// The event's number.
    pub(super) seq: i64,
    /// What.
    pub(super) what: String,
}

/// A run as a tree.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct TreeShown {
    /// The message it answers; the whole is event 1.
    message: TextExcerpt,
    /// When that came, in milliseconds since 1970.
    accepted_at: Option<i64>,
    /// When the run was over.
    ended_at: Option<i64>,
    /// The models, in the order in which they are asked.
    models: Vec<String>,
    /// What ended it; none: it is not over.
    terminated_by: Option<String>,
    /// What the person was told last.
    answer: Option<TextExcerpt>,
    /// What it took.
    spent: RunCost,
    /// What it has read that nobody vouches for.
    taint: Vec<String>,
    /// The agents that worked for it.
    agents: Vec<i64>,
    /// What happened before the first cycle.
    before: Vec<RemarkShown>,
    /// What was done, in a few words each: the newest.
    story: Vec<StepShown>,
    /// How many cycles there are.
    cycle_count: usize,
    /// Some of them, in order: the newest, or what was asked for.
    cycles: Vec<CycleShown>,
    /// Where the journal cannot be read any further.
    unreadable: Option<AtEvent>,
}

/// One thing that a run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct StepShown {
    /// In which cycle, from 1.
    cycle: u32,
    /// What.
    words: String,
    /// So many times, one after another.
    times: u32,
    /// It failed, or was not let through.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

impl From<StoryStep> for StepShown {
    fn from(StoryStep { cycle, words, times, failed }: StoryStep) -> Self {
        Self { cycle, words, times, failed }
    }
}

/// One turn of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct CycleShown {
    /// From 1.
    number: u32,
    /// The calls of models until one answered.
    asks: Vec<AskShown>,
    /// The model's words.
    text: TextExcerpt,
    /// The tool calls, in the model's order.
    calls: Vec<CallShown>,
    /// Tokens, as billed.
    tokens: Tokens,
    /// What it cost, in nano-dollars; none: nobody knows.
    cost_nano_usd: Option<i64>,
    /// What else happened, in order.
    remarks: Vec<RemarkShown>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct AskShown {
    /// Whom.
    model: String,
    /// Why: `work`, `wrap_up_time`, `wrap_up_iterations` or `summary`.
    purpose: Option<&'static str>,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The tokens it was estimated to read.
    estimate: u64,
    /// How long it took, in milliseconds.
    took_ms: Option<i64>,
    /// `open`, `answered`, `failed` or `unheard`.
    outcome: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<TextExcerpt>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct CallShown {
    /// The run's id for it.
    id: String,
    /// The tool.
    name: String,
    /// What it was given, as the model wrote it.
    arguments: TextExcerpt,
    /// What it may do, as its tool says, where it is more than to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'static str>,
    /// How dangerous it is, as its tool says, where it is not safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<&'static str>,
    /// Where the words of its result come from, if nobody vouches for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// How often it was started; 0: it was not let through.
    attempts: u32,
    /// How long it took, in milliseconds.
    took_ms: Option<i64>,
    /// What the model was told; none: it is not settled.
    result: Option<TextExcerpt>,
    /// Whether it failed.
    is_error: bool,
}

/// Something that happened beside model and tools.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct RemarkShown {
    /// The event's number.
    seq: i64,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The event's name.
    kind: &'static str,
    /// What there is to say of it.
    text: TextExcerpt,
}

/// Which cycles are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CycleWindow {
    pub(super) from: Option<u32>,
    /// The last ones before this.
    pub(super) before: Option<u32>,
}

impl TreeShown {
    /// The part of a tree that is wanted.
    pub(super) fn of(tree: &RunTree, window: CycleWindow) -> Self {
        let count = tree.cycles.len();
        let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1).min(count);
        let (from, to) = match (window.from, window.before) {
            (Some(from), _) => (place(from), place(from).saturating_add(CYCLES_MAX).min(count)),
            (None, Some(before)) => (place(before).saturating_sub(CYCLES_MAX), place(before)),
            (None, None) => (count.saturating_sub(CYCLES_MAX), count),
        };
        let cycles = tree.cycles.get(from..to).unwrap_or_default();
        Self {
            message: TextExcerpt::of(&tree.message, WORDS_MAX),
            accepted_at: tree.accepted_at.map(Timestamp::as_millisecond),
            ended_at: tree.ended_at.map(Timestamp::as_millisecond),
            models: tree.models.clone(),
            terminated_by: tree.evaluation.terminated_by.clone(),
            answer: tree.evaluation.text.as_ref().map(|text| TextExcerpt::of(text, WORDS_MAX)),
            spent: RunCost::new(tree.usage, tree.cost, tree.unpriced),
            taint: sources(&tree.taint),
            agents: tree.agents.iter().map(|run| run.0).collect(),
            before: tree.before.iter().map(|remark| RemarkShown::of(remark, TextSize::Cut)).collect(),
            story: story(tree).into_iter().map(StepShown::from).collect(),
            cycle_count: count,
            cycles: cycles.iter().map(|cycle| CycleShown::of(cycle, TextSize::Cut)).collect(),
            unreadable: tree.unreadable.clone().map(|(seq, what)| AtEvent { seq, what }),
        }
    }
}

/// Where words come from that nobody vouches for.
pub(super) fn sources(taint: &Taint) -> Vec<String> {
    taint.sources().map(ToString::to_string).collect()
}

impl CycleShown {
    pub(super) fn of(cycle: &Cycle, size: TextSize) -> Self {
        Self {
            number: cycle.number,
            asks: cycle.asks.iter().map(|ask| AskShown::of(ask, size)).collect(),
            text: size.piece(&cycle.text, WORDS_MAX),
            calls: cycle.calls.iter().map(|call| CallShown::of(call, size)).collect(),
            tokens: cycle.usage.into(),
            cost_nano_usd: cycle.cost.map(Money::nanos),
            remarks: cycle.remarks.iter().map(|remark| RemarkShown::of(remark, size)).collect(),
        }
    }
}

impl AskShown {
    fn of(ask: &ModelRequest, size: TextSize) -> Self {
        let (outcome, failure) = match &ask.outcome {
            ModelRequestOutcome::Open => ("open", None),
            ModelRequestOutcome::Answered => ("answered", None),
            ModelRequestOutcome::Unheard => ("unheard", None),
            ModelRequestOutcome::Failed { class, message } => ("failed", Some(format!("{class}: {message}"))),
        };
        Self {
            model: ask.model.clone(),
            purpose: ask.purpose.map(purpose_name),
            at: ask.at.as_millisecond(),
            estimate: ask.estimate,
            took_ms: ask.took_ms,
            outcome,
            failure: failure.map(|text| size.piece(&text, DETAIL_MAX)),
        }
    }
}

/// The stored name of a purpose.
pub(super) fn purpose_name(purpose: ModelCallPurpose) -> &'static str {
    match purpose {
        ModelCallPurpose::Work => "work",
        ModelCallPurpose::WrapUpTime => "wrap_up_time",
        ModelCallPurpose::WrapUpIterations => "wrap_up_iterations",
        ModelCallPurpose::Summary => "summary",
    }
}

impl CallShown {
    fn of(call: &RecordedCall, size: TextSize) -> Self {
        let known = call.assessed.as_ref();
        Self {
            id: call.id.0.clone(),
            name: call.name.clone(),
            arguments: size.piece(&call.arguments, DETAIL_MAX),
            risk: known.map(|known| known.risk).filter(|risk| !risk.is_read()).map(|risk| risk.as_str()),
            grade: known.map(|known| known.grade).filter(|grade| !grade.is_safe()).map(|grade| grade.as_str()),
            source: call.source.as_ref().map(ToString::to_string),
            attempts: call.attempts,
            took_ms: call.took_ms,
            result: call.result.as_ref().map(|result| size.piece(&result.text, DETAIL_MAX)),
            is_error: call.result.as_ref().is_some_and(|result| result.is_error),
        }
    }
}

impl RemarkShown {
    fn of(remark: &Remark, size: TextSize) -> Self {
        Self {
            seq: remark.seq,
            at: remark.at.as_millisecond(),
            kind: remark.kind,
            text: size.piece(&remark.text, DETAIL_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_how_long_it_is() {
        let table = [("äöü", 3, "äöü", 6, false), ("äöüß", 3, "äöü", 8, true), ("", 3, "", 0, false)];
        for (text, chars_max, shown, bytes, cut) in table {
            assert_eq!(TextExcerpt::of(text, chars_max), TextExcerpt { text: shown.to_owned(), bytes, cut });
        }
        assert!(!TextSize::Whole.piece(&"x".repeat(9_999), 3).cut);
    }
}
