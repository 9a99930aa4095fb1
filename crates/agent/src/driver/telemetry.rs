//! What the log says of a run's decisions: their names (row B13), and never what anybody wrote.

use crate::machine::event::{Event, RunEnd};
use crate::machine::question::Question;
use crate::machine::state::State;
use hob_core::domain::ids::RunId;

const TAINTED: &str = "agent.run.tainted";

/// A run cannot go on without a person's word.
const RESUME_UNSAFE: &str = "agent_run.resume_unsafe";

/// The machine put something on record. What it carries beside its name is in the journal (`hob replay`).
pub(super) fn noted(run: RunId, event: &Event) {
    tracing::info!(%run, event = event.kind(), "{}", event.kind());
}

/// A run has read what nobody vouches for, for the first time (row N6).
pub(super) fn tainted(run: RunId, before: &State, after: &State) {
    let is_tainted = |state: &State| state.active().is_some_and(|run| !run.taint.is_clean());
    if is_tainted(after) && !is_tainted(before) {
        let origins = after.active().into_iter().flat_map(|run| run.taint.sources());
        let origins: Vec<&str> = origins.map(|source| source.origin.as_str()).collect();
        tracing::info!(%run, event = TAINTED, origins = origins.join(", "), "{TAINTED}");
    }
}

/// A run asks a person: where it could not go on safely by itself, that has a name.
pub(super) fn asked(run: RunId, question: &Question) {
    let why = match question {
        Question::UnsafeCall { .. } => "unsafe_call",
        Question::PromptChanged { .. } => "prompt_changed",
        Question::Mismatch(_) => "mismatch",
        Question::CrashLoop => "crash_loop",
        Question::Asked { .. }
        | Question::Approval { .. }
        | Question::ContextFull
        | Question::Circling { .. }
        | Question::Paused { .. }
        | Question::Agents => return,
    };
    tracing::warn!(%run, event = RESUME_UNSAFE, why, "{RESUME_UNSAFE}");
}

pub(super) fn ended(run: RunId, end: &RunEnd) {
    let name = name_of(end);
    tracing::info!(%run, event = name, ?end, "{name}");
}

/// The published name of how a run ended.
fn name_of(end: &RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "agent_run.completed",
        RunEnd::Cancelled | RunEnd::GivenUp => "agent_run.cancelled",
        RunEnd::Failed { .. } => "agent_run.failed",
        // These never began.
        RunEnd::Withdrawn => "agent_run.withdrawn",
        RunEnd::Joined => "agent_run.joined",
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::machine::note::{
        Compaction, CompactionMeans, DeclaredEnd, Detection, Escalation, EscalationStep, GuardVerdict, LoopKind,
        Recovery, RecoveryStep, ToolRetry, UnfoundedClaim,
    };
    use hob_core::domain::ids::CallId;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn notes() -> Vec<Event> {
        vec![
            Event::ToolRetried(ToolRetry { call: CallId("1.0".to_owned()), attempt: 2, delay_ms: 500 }),
            Event::LoopDetected(Detection {
                circle: LoopKind::Identical,
                tool: Some("PRIVATE".to_owned()),
                seen: 3,
                verdict: GuardVerdict::Warn,
            }),
            Event::Escalated(Escalation { step: EscalationStep::Nudge, forced: None }),
            Event::PhantomCaught(UnfoundedClaim { text: "PRIVATE".to_owned() }),
            Event::Compacted(Compaction {
                means: CompactionMeans::Summary,
                messages: 3,
                tokens_before: 9,
                tokens_after: 1,
                model: None,
            }),
            Event::RecoveryFired(Recovery { step: RecoveryStep::Compact, number: 1 }),
            Event::SoftExhausted,
            Event::Terminated(DeclaredEnd { condition: Some(0), ceiling: None }),
        ]
    }

    #[test]
    fn b13_each_decision_is_logged_by_its_name_and_without_words() {
        let log = Log::default();
        let to = log.clone();
        let subscriber = tracing_subscriber::fmt().json().with_writer(move || to.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("run", run = 4, session = "7", channel = "telegram");
            span.in_scope(|| notes().iter().for_each(|event| noted(RunId(4), event)));
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = lines.iter().map(|line| line["fields"]["message"].as_str().unwrap()).collect();
        insta::assert_snapshot!(names.join("\n"), @"
        agent.tool.retry
        agent.loop.detected
        agent.guardrail.escalated
        agent.phantom.caught
        agent.compaction.run
        agent.recovery.fired
        agent.exhaustion.soft
        agent.loop.terminated
        ");
        assert!(notes().iter().all(Event::is_note));
        for line in &lines {
            let span = &line["span"];
            assert_eq!(
                (&span["run"], &span["session"], &span["channel"]),
                (&4.into(), &"7".into(), &"telegram".into())
            );
        }
        assert!(!text.contains("PRIVATE"), "{text}");
    }

    #[test]
    fn b13_a_runs_end_has_its_published_name() {
        let names = [RunEnd::Completed, RunEnd::Cancelled, RunEnd::GivenUp, RunEnd::Failed { why: "panic".to_owned() }];
        let expected = ["agent_run.completed", "agent_run.cancelled", "agent_run.cancelled", "agent_run.failed"];
        assert_eq!(names.each_ref().map(name_of), expected);
    }
}
