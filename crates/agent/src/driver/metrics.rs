//! How long the stages of an answer take, and what becomes of tool calls: for metrics and traces.
//!
//! Never: a change to the run.
//! Start at [`StageTimers`] and [`ToolCallMeter`].

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::Span;

use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::ToolOutcome;
use hob_model::message::ToolCall;
use hob_telemetry::genai;
use hob_telemetry::meters::{AnswerStage, Meters};

/// The stages of one run's answer, as far as somebody waits for it; each is noted once.
#[derive(Clone)]
pub(super) struct StageTimers(Option<Arc<StageTimes>>);

struct StageTimes {
    meters: Arc<Meters>,
    begun: OnceLock<Instant>,
    first_token: OnceLock<Instant>,
    answered: OnceLock<()>,
}

impl StageTimers {
    /// Of a run; only of a person's message is it told how long they wait.
    pub(super) fn of(meters: &Arc<Meters>, accepted: &AcceptedInput) -> Self {
        let is_waited_for = accepted.agent.is_none() && accepted.order == RunKind::Answer;
        Self(is_waited_for.then(|| {
            Arc::new(StageTimes {
                meters: Arc::clone(meters),
                begun: OnceLock::new(),
                first_token: OnceLock::new(),
                answered: OnceLock::new(),
            })
        }))
    }

    /// The run begins now, and was taken in then.
    pub(super) fn begun(&self, taken_in_at: Option<i64>, now: Timestamp) {
        let Some(marks) = &self.0 else { return };
        if marks.begun.set(Instant::now()).is_err() {
            return;
        }
        if let Some(at) = taken_in_at {
            let waited = u64::try_from(now.as_millisecond().saturating_sub(at)).unwrap_or(0);
            marks.meters.stage(AnswerStage::Queued, Duration::from_millis(waited));
        }
    }

    /// A model says something. A run that began in another life of the daemon has no beginning to count from.
    pub(super) fn first_token(&self) {
        let Some(marks) = &self.0 else { return };
        if let Some(begun) = marks.begun.get()
            && marks.first_token.set(Instant::now()).is_ok()
        {
            marks.meters.stage(AnswerStage::FirstToken, begun.elapsed());
        }
    }

    /// The reply is stored; one that came whole had no first word.
    pub(super) fn answered(&self) {
        let Some(marks) = &self.0 else { return };
        if let Some(since) = marks.first_token.get().or_else(|| marks.begun.get())
            && marks.answered.set(()).is_ok()
        {
            marks.meters.stage(AnswerStage::Answered, since.elapsed());
        }
    }
}

/// A tool call under way; dropped without an end, it was stopped.
pub(super) struct ToolCallMeter {
    meters: Arc<Meters>,
    tool: String,
    begun: Instant,
    outcome: &'static str,
}

impl ToolCallMeter {
    /// A call begins. A tool that there is none of has one name, however the model calls it.
    pub(super) fn begin(meters: &Arc<Meters>, call: &ToolCall, is_known: bool) -> Self {
        let tool = if is_known { call.name.clone() } else { "unknown".to_owned() };
        Self { meters: Arc::clone(meters), tool, begun: Instant::now(), outcome: "interrupted" }
    }

    /// What came of it.
    pub(super) fn ended(&mut self, span: &Span, outcome: &ToolOutcome) {
        self.outcome = outcome_of(outcome);
        if matches!(self.outcome, "failed" | "transient" | "denied") {
            genai::failed(span, self.outcome);
        }
        if let ToolOutcome::Text { text, .. }
        | ToolOutcome::Seen { text, .. }
        | ToolOutcome::Exited { text, .. }
        | ToolOutcome::Transient { text } = outcome
        {
            genai::record_content(span, genai::TOOL_RESULT, || text.clone());
        }
    }
}

impl Drop for ToolCallMeter {
    fn drop(&mut self) {
        self.meters.tool_calls.of(&[&self.tool, self.outcome]).inc();
        self.meters.tool_time.of(&[&self.tool]).observe(self.begun.elapsed());
    }
}

pub(super) fn tool_span(call: &ToolCall) -> Span {
    let span = tracing::info_span!("tool.call", tool = call.name, call = %call.id);
    genai::record_attribute(&span, genai::OPERATION, genai::EXECUTE_TOOL);
    if genai::is_on() {
        genai::record_attribute(&span, genai::TOOL, call.name.clone());
        genai::record_attribute(&span, genai::TOOL_CALL, call.id.to_string());
        genai::record_attribute(&span, genai::TOOL_TYPE, "function");
    }
    genai::record_content(&span, genai::TOOL_ARGUMENTS, || call.arguments.clone());
    span
}

fn outcome_of(outcome: &ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Transient { .. } => "transient",
        ToolOutcome::Denied { .. } => "denied",
        ToolOutcome::Interrupted => "interrupted",
        outcome if outcome.words().1 => "failed",
        _ => "done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::accepted;
    use hob_core::domain::ids::CallId;

    fn took(meters: &Meters, stage: AnswerStage) -> (u64, f64) {
        let spread = meters.stages.of(&[stage.as_str()]).spread();
        (spread.count, spread.sum)
    }

    #[tokio::test(start_paused = true)]
    async fn n11_each_stage_of_an_answer_is_noted_once() {
        let meters = Arc::new(Meters::default());
        let stages = StageTimers::of(&meters, &accepted());
        stages.first_token();
        stages.begun(Some(10_000), Timestamp::from_second(12).unwrap());
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(1)).await;
            stages.first_token();
        }
        tokio::time::advance(Duration::from_secs(3)).await;
        stages.answered();
        stages.answered();
        assert_eq!(took(&meters, AnswerStage::Queued), (1, 2.0));
        assert_eq!(took(&meters, AnswerStage::FirstToken), (1, 1.0));
        assert_eq!(took(&meters, AnswerStage::Answered), (1, 4.0));
        let by_itself = StageTimers::of(&meters, &AcceptedInput { order: RunKind::Scheduled, ..accepted() });
        by_itself.begun(Some(0), Timestamp::from_second(12).unwrap());
        by_itself.answered();
        assert_eq!(took(&meters, AnswerStage::Answered).0, 1, "nobody waits for what begins by itself");
    }

    #[test]
    fn a_tool_call_has_one_outcome_and_a_name_that_there_is() {
        let meters = Arc::new(Meters::default());
        let call = ToolCall { id: CallId("1.0".to_owned()), name: "x".repeat(9), arguments: String::new() };
        ToolCallMeter::begin(&meters, &call, true)
            .ended(&Span::none(), &ToolOutcome::Exited { text: String::new(), code: 2 });
        drop(ToolCallMeter::begin(&meters, &call, false));
        let all: Vec<String> = meters.tool_calls.all().iter().map(|(values, _)| values.join(" ")).collect();
        assert_eq!(all, ["unknown interrupted", "xxxxxxxxx failed"]);
    }
}
