//! A person's word before a call is made (rows D6, N6).
//!
//! | the call | then |
//! |---|---|
//! | its tool refuses it | it is never made |
//! | what it changes can be judged afterwards (`draft`), and its tool is not asked about | it is made |
//! | it keeps what was changed so | a person is asked, and shown what that is |
//! | the persona wants a word to each such call, or it may change a protected path (`gate`) | a person is asked, each time |
//! | critical, or of a high grade | a person is asked, each time |
//! | more than a look, and the run has read what nobody vouches for | a person is asked, and told of whom it has read, unless it was planned before that ([`plan`]) |
//! | its tool is asked about | a person is asked, unless they have said "always" |
//! | of a medium grade | a person is asked, unless they have said "always", or it was planned |
//! | can be taken back (`undo`) | the same, of one grade less |
//! | takes something back, as a person has said | it is made |
//! | any other | it is made |
//!
//! What is said through a voice assistant is nobody's in particular: there an owner is asked, wherever a person is.
//!
//! Never: a word that counts twice. A call is started in the step that takes its approval in; whatever cuts it off after
//! that is asked about, and no approval of before stands for it.
//! Start at `verdict`; the words are in `words`.

pub(crate) mod classes;
mod gate;
mod keeping;
pub mod scope;
pub(crate) mod several;
pub(crate) mod words;

use crate::machine::batch::{Batch, CallProgress, OpenCall};
use crate::machine::digest::Digest;
use crate::machine::effect::Effect;
use crate::machine::human::{Decision, deny_call, unpause};
use crate::machine::question::{CallConcern, Question};
use crate::machine::run_start::RulesEdition;
use crate::machine::state::{ActiveState, Phase, ResumePoint};
use crate::machine::{draft, plan, tools, undo};
use hob_core::domain::ids::CallId;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, KEEP_CHANGES};
use hob_model::message::ToolCall;

/// What is to be done about a call now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// It may be made.
    Free,
    /// A person is asked.
    Asked {
        /// Whether "always" can be said.
        grantable: bool,
        /// What they are to know.
        concern: Box<CallConcern>,
    },
    /// It may not be made, whoever says so.
    Refused(Vec<String>),
}

/// Must a person approve this call of the open batch now?
pub fn is_due(run: &ActiveState, call: &CallId) -> bool {
    open_call(run, call).is_some_and(|open| verdict(run, open) != Verdict::Free)
}

/// Is it made without a person's word, as things stand now?
pub(super) fn is_free(run: &ActiveState, open: &OpenCall) -> bool {
    verdict(run, open) == Verdict::Free
}

/// May only an owner say that this call of the open batch be made?
pub(crate) fn is_for_owners(run: &ActiveState, call: &CallId) -> bool {
    let verdict = open_call(run, call).map(|open| verdict(run, open));
    matches!(verdict, Some(Verdict::Asked { concern, .. }) if concern.owners)
}

fn open_call<'a>(run: &'a ActiveState, call: &CallId) -> Option<&'a OpenCall> {
    match &run.phase {
        Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => batch.get(call),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    }
}

fn verdict(run: &ActiveState, open: &OpenCall) -> Verdict {
    let call = &open.call;
    // What is not on offer is not made by anybody.
    let Some(facts) = run.tools.get(&call.name) else {
        return Verdict::Free;
    };
    let mut known = open.assessed.clone().unwrap_or_else(|| Assessment::usual(facts.most()));
    if known.grade == DangerGrade::Refused {
        return Verdict::Refused(known.reasons);
    }
    // Whoever may approve it has said so, of this very call.
    if run.input.undo.is_some() {
        return Verdict::Free;
    }
    if call.name == KEEP_CHANGES {
        return draft::concern(run).map_or(Verdict::Free, |concern| Verdict::Asked { grantable: false, concern });
    }
    let gated = gate::approval_reason(&run.policy.tools.gate, call, &known);
    if facts.approval == Approval::Free && gated.is_none() && draft::is_contained(run, &known) {
        return Verdict::Free;
    }
    let is_undoable = undo::counts(run, &call.name, &known);
    if is_undoable {
        known.grade = known.grade.lowered();
    }
    let each_time = gated.is_some() || facts.approval == Approval::Critical || known.grade >= DangerGrade::High;
    // Somebody who counts has said what steers it, before the run read what others wrote; or has asked for it, and can take it back.
    let is_vouched = plan::is_vouched(run, open) || undo::covers_open_values(run, open);
    let is_driven = !known.risk.is_read() && !run.taint.is_clean() && !is_vouched;
    // The word was said in view of another call: those that waited beside it are not meant.
    let excused = run.excused.get(&call.name).is_some_and(|said| *said < run.cycles);
    let scope = scope::of(call, &known);
    let allowed = excused || scope.as_ref().is_some_and(|scope| run.granted.contains(scope));
    let asked = facts.approval == Approval::Ask || (known.grade == DangerGrade::Medium && !plan::is_own(run, open));
    if !(each_time || (is_driven && !excused) || (asked && !allowed)) {
        return Verdict::Free;
    }
    let is_gated = gated.is_some();
    if let Some(why) = gated {
        known.reasons.insert(0, why);
    }
    known.reasons.extend(is_undoable.then(|| undo::CAN_BE_TAKEN_BACK.to_owned()));
    let sources: Vec<OriginSource> = run.taint.sources().filter(|_| is_driven).cloned().collect();
    // Whoever stands before a window has a voice, too: what is asked about there is an owner's to allow.
    let conversation = &run.input.destination.conversation;
    let owners = conversation.is_aloud()
        || (is_driven && OriginSource::of_speaker(&run.input.principal, conversation.channel).is_some());
    let this_run = is_driven && !each_time;
    let scope = scope.filter(|_| !each_time && !is_driven).unwrap_or_default();
    let Assessment { risk, grade, reasons, about, classing, .. } = known;
    let grantable = !scope.is_empty();
    let doubts = plan::doubts(run, open).filter(|_| is_driven).unwrap_or_default();
    // What a persona wants asked is asked whatever its class.
    let classing = classing.filter(|_| !is_gated);
    let draft = None;
    let concern = Box::new(CallConcern {
        risk,
        grade,
        reasons,
        sources,
        about,
        scope,
        this_run,
        owners,
        draft,
        classing,
        doubts,
    });
    Verdict::Asked { grantable, concern }
}

/// Holds those calls that wait for their turn and need a person's word; what is refused is settled.
pub(super) fn hold(run: &mut ActiveState) {
    draft::bind_keep_calls(run);
    let Some(batch) = batch(run) else { return };
    let waiting = batch.calls.iter().filter(|open| open.progress == CallProgress::Queued && is_known(run, open));
    let verdicts: Vec<(CallId, Verdict)> =
        waiting.map(|open| (open.call.id.clone(), verdict(run, open))).filter(|(_, is)| *is != Verdict::Free).collect();
    let Some(batch) = open_batch(&mut run.phase) else { return };
    for (call, verdict) in verdicts {
        match verdict {
            Verdict::Free => {}
            Verdict::Refused(reasons) => batch.deny(&call, words::refused(&reasons)),
            Verdict::Asked { .. } => {
                if let Some(open) = batch.find(&call) {
                    open.progress = CallProgress::Held;
                    open.approved = None;
                }
            }
        }
    }
}

/// Is it known what the call would do now? Where that depends on how things stand, only once its turn has come.
fn is_known(run: &ActiveState, open: &OpenCall) -> bool {
    open.looked || !run.tools.get(&open.call.name).is_some_and(|facts| facts.by_state)
}

/// A call's tool has looked at it, as it is about to start: it is started, unless a person has to be asked. What they have said
/// yes to stands as long as it is what would happen.
pub(super) fn on_looked(run: &mut ActiveState, call: &CallId, known: &Assessment) -> Vec<Effect> {
    let is_by_state = |tool: &str| run.tools.get(tool).is_some_and(|facts| facts.by_state);
    let open = match &mut run.phase {
        // What is said of a call before its turn is not how things stand then.
        Phase::Acting(batch) if batch.next_unassessed(is_by_state).is_some_and(|due| due.id == *call) => {
            batch.find(call)
        }
        Phase::Acting(_) | Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    };
    let Some(open) = open else {
        return vec![Effect::Ignored { why: "nobody waits for what is known of that call" }];
    };
    open.looked = true;
    open.assessed = Some(known.clone());
    if open.approved.as_ref() != Some(known) {
        hold(run);
    }
    tools::settle(run)
}

/// Something was read that nobody vouches for: as the result of `call`, or said. What was allowed until then is over,
/// unless these are words that the run has read from there before, as the result of that same tool.
pub(super) fn on_read(run: &mut ActiveState, source: &OriginSource, words: &str, call: Option<&ToolCall>) {
    if source.origin.is_trusted() {
        return;
    }
    if run.rules >= RulesEdition::MADE || run.taint.has_room(source) {
        run.taint.add(source.clone());
    }
    plan::on_read(run, source, call.map(|call| &call.id));
    let place = [source.origin.as_str(), &source.what, words].map(str::as_bytes);
    let is_new = run.read.insert(Digest::of("words1", &place));
    let own = call.filter(|_| !is_new).map(|call| call.name.clone());
    run.excused.retain(|tool, _| own.as_ref() == Some(tool));
    // Whoever let a call go did not know of this.
    run.phase.batch_mut().into_iter().flat_map(|batch| &mut batch.calls).for_each(|open| open.approved = None);
    hold(run);
}

fn batch(run: &ActiveState) -> Option<&Batch> {
    match &run.phase {
        Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => Some(batch),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    }
}

fn open_batch(phase: &mut Phase) -> Option<&mut Batch> {
    match phase {
        Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => Some(batch),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    }
}

/// The question about the first call that is held. What it was held for may be over: then it is asked about as it is now.
pub(super) fn question(run: &ActiveState) -> Option<Question> {
    let open = batch(run)?.held()?;
    Some(several::question(run, open))
}

/// The question about one call.
fn held_question(run: &ActiveState, open: &OpenCall) -> Question {
    let (grantable, concern) = match verdict(run, open) {
        Verdict::Asked { grantable, concern } => (grantable, concern),
        Verdict::Free | Verdict::Refused(_) => (false, Box::default()),
    };
    let ToolCall { id, name, arguments } = open.call.clone();
    Question::Approval { call: id, name, arguments, grantable, concern, beside: Vec::new() }
}

/// A person said something to a question for approval.
pub(super) fn on_answered(run: &mut ActiveState, question: &Question, text: &str) -> Vec<Effect> {
    let Question::Approval { call, name, concern, beside, .. } = question else {
        return vec![Effect::Ignored { why: "no approval was asked for" }];
    };
    if !beside.is_empty() {
        return several::on_answered(run, question, text);
    }
    let decision = Decision::parse(text, question);
    if decision == Some(Decision::Deny) {
        unpause(run);
        if name == KEEP_CHANGES {
            draft::settled(run);
            return deny_call(run, call, draft::denied(words::reason(text)));
        }
        return deny_call(run, call, words::denied(words::reason(text)));
    }
    // Whoever says yes has been told of all that the run has read: what came meanwhile is asked about anew.
    if let Some(changed) = several::renewed(run, question).filter(|_| decision.is_some()) {
        return vec![Effect::AskHuman(changed)];
    }
    if decision == Some(Decision::Always) {
        run.granted.insert(concern.scope.clone());
    } else if decision == Some(Decision::ThisRun) {
        run.excused.insert(name.clone(), run.cycles);
    } else if let Some(classing) = concern.classing.as_deref().filter(|_| decision == Some(Decision::AsItSays)) {
        classes::apply(run, classing);
    } else if decision != Some(Decision::Approve) {
        return vec![Effect::AskHuman(question.clone())];
    }
    unpause(run);
    release(run, call, name);
    tools::settle(run)
}

/// One word lets one call go; one that covers more also those that wait for nothing else.
fn release(run: &mut ActiveState, call: &CallId, name: &str) {
    let Some(batch) = batch(run) else { return };
    let is_free = |open: &&OpenCall| verdict(run, open) == Verdict::Free;
    let by_state = run.tools.get(name).is_some_and(|facts| facts.by_state);
    let held = batch.calls.iter().filter(|open| open.progress == CallProgress::Held);
    let free: Vec<CallId> =
        held.filter(|open| open.call.id == *call || is_free(open)).map(|open| open.call.id.clone()).collect();
    for call in free {
        if let Some(open) = open_batch(&mut run.phase).and_then(|batch| batch.find(&call)) {
            open.progress = CallProgress::Queued;
            if by_state {
                (open.looked, open.approved) = (false, open.assessed.clone());
            }
        }
    }
}

/// The call that an expiry of question `number` settles, if it does (lesson 17).
pub(crate) fn expiring(run: &ActiveState, number: u32) -> Option<&Question> {
    match &run.phase {
        Phase::Waiting { question: question @ Question::Approval { .. }, .. } if run.questions == number => {
            Some(question)
        }
        Phase::Waiting { .. } | Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_) => None,
    }
}

/// Nobody approved in time: the call is not made.
pub(super) fn on_expired(run: &mut ActiveState, number: u32) -> Vec<Effect> {
    let Some(question) = expiring(run, number).cloned() else {
        return vec![Effect::Ignored { why: "that question is no longer open" }];
    };
    unpause(run);
    let Question::Approval { call, name, .. } = &question else { return Vec::new() };
    if name == KEEP_CHANGES {
        draft::settled(run);
        return deny_call(run, call, draft::LATE.to_owned());
    }
    several::deny_all(run, &question, words::EXPIRED)
}

/// What was allowed for good is taken back: at once, also for what waits for its turn.
pub(super) fn on_revoked(run: &mut ActiveState, tool: &str) -> Vec<Effect> {
    if !run.granted.remove(tool) {
        return vec![Effect::Ignored { why: "that was not granted to this run" }];
    }
    hold(run);
    Vec::new()
}
