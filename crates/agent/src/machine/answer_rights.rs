//! Who may answer what a run asks, and what comes when nobody does.
//!
//! Never: a second rule for it. Who takes an answer in, who draws the buttons and who puts the question somewhere all ask
//! [`PermittedAnswerer::of`]; whoever may answer is asked.
//! Start there; time is `on_expired`'s.

use crate::machine::effect::Effect;
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{approval, detached_agents, elicitation};
use hob_core::domain::elicitation::ElicitReply;
use hob_core::domain::ids::UserId;
use hob_core::domain::principal::{Principal, Role, Trust};

/// How long a question that is no approval waits before it is put again; then twice as long, and so on.
const REMIND_SECS: u64 = 12 * 60 * 60;
/// So often the time doubles: to eight days.
const DOUBLED_MAX: u32 = 4;
/// A letter is answered at the next look at the mailbox: a question in one stays open for at least so long (lesson 17).
pub(crate) const BY_LETTER_SECS: i64 = 30 * 60;

/// Who may answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermittedAnswerer {
    /// Whoever may act for the requester.
    Anybody,
    /// The requester or an owner.
    Requester,
    Owner,
}

impl PermittedAnswerer {
    /// An approval is bound to who asked for the call; so is the word that such a call be made once more (row D6). What a
    /// run wants that listens to words nobody vouches for, and for somebody whom nobody vouches for either, is an owner's
    /// to allow (row N6).
    pub fn of(run: &ActiveState, question: &Question) -> Self {
        match question {
            Question::Approval { concern, beside, .. }
                if concern.owners || beside.iter().any(|beside| beside.concern.owners) =>
            {
                Self::Owner
            }
            Question::Approval { .. } | Question::Asked { form: Some(_), .. } => Self::Requester,
            Question::UnsafeCall { call, .. } if approval::is_for_owners(run, call) => Self::Owner,
            Question::UnsafeCall { call, .. } if approval::is_due(run, call) => Self::Requester,
            Question::UnsafeCall { .. }
            | Question::Asked { .. }
            | Question::PromptChanged { .. }
            | Question::Mismatch(_)
            | Question::CrashLoop
            | Question::ContextFull
            | Question::Circling { .. }
            | Question::Agents
            | Question::Paused { .. } => Self::Anybody,
        }
    }

    /// May somebody answer, where this person in this role wanted the run?
    pub fn admits(self, principal: &Principal, requester: UserId, role: Role) -> bool {
        match self {
            Self::Owner => principal.role == Role::Owner && principal.trust == Trust::Trusted,
            Self::Requester => principal.user == requester || principal.role == Role::Owner,
            Self::Anybody => principal.may_act_for(requester, role),
        }
    }
}

/// The question that somebody is asked now, if its number is this one.
pub fn open_question(run: &ActiveState, number: u32) -> Option<&Question> {
    match &run.phase {
        // Nobody is asked: there is nothing to answer.
        Phase::Waiting { question: Question::Paused { .. } | Question::Agents, .. } => None,
        Phase::Waiting { question, .. } => Some(question).filter(|_| run.questions == number),
        Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_) => None,
    }
}

/// The question that the run stands at, whoever is asked.
pub(crate) fn pending_question(run: &ActiveState) -> Option<&Question> {
    match &run.phase {
        Phase::Waiting { question, .. } => Some(question),
        Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_) => None,
    }
}

/// How long the question that the run stands at stays open, or how long it waits for its agents; none: nobody is asked. Where it is put by letter, it is
/// [`BY_LETTER_SECS`] at least.
pub(crate) fn stays_open_secs(run: &ActiveState) -> Option<u64> {
    if let Phase::Waiting { question: Question::Agents, .. } = &run.phase {
        return detached_agents::waits_secs(run);
    }
    let question = open_question(run, run.questions)?;
    // A server does not wait for long either.
    let is_brief = matches!(question, Question::Approval { .. } | Question::Asked { form: Some(_), .. });
    Some(if is_brief { run.policy.tools.approval_secs } else { REMIND_SECS << run.reminders.min(DOUBLED_MAX) })
}

/// Nobody answered in time. A call that nobody approved is not made (lesson 17). Any other question is put again to all who may
/// answer it: an answer that comes days later is as good, but nobody forgets that somebody waits for it.
pub(super) fn on_expired(run: &mut ActiveState, number: u32) -> Vec<Effect> {
    if matches!(pending_question(run), Some(Question::Agents))
        && run.questions == number
        && detached_agents::waits_secs(run).is_some()
    {
        return detached_agents::on_late(run);
    }
    let Some(question) = open_question(run, number).cloned() else {
        return vec![Effect::Ignored { why: "that question is no longer open" }];
    };
    if matches!(question, Question::Approval { .. }) {
        return approval::on_expired(run, number);
    }
    if let Question::Asked { call, form: Some(_), .. } = &question {
        return elicitation::hand_over(run, call, ElicitReply::Cancel);
    }
    run.reminders = run.reminders.saturating_add(1);
    vec![Effect::AskHuman(question)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_only_the_requester_or_an_owner_approves() {
        let table = [
            (1, Role::Guest, true, true),
            (1, Role::User, true, true),
            (2, Role::User, false, false),
            (2, Role::Admin, false, true),
            (2, Role::Owner, true, true),
        ];
        let (requester, as_role) = (UserId(1), Role::User);
        for (user, role, approves, answers) in table {
            let principal = Principal { user: UserId(user), name: String::new(), role, trust: Trust::Trusted };
            assert_eq!(
                PermittedAnswerer::Requester.admits(&principal, requester, as_role),
                approves,
                "{user} {role:?}"
            );
            assert_eq!(PermittedAnswerer::Anybody.admits(&principal, requester, as_role), answers, "{user} {role:?}");
            assert_eq!(
                PermittedAnswerer::Owner.admits(&principal, requester, as_role),
                role == Role::Owner,
                "{user} {role:?}"
            );
            let doubted = Principal { trust: Trust::Untrusted, ..principal };
            assert!(!PermittedAnswerer::Owner.admits(&doubted, requester, as_role), "{user} {role:?}");
        }
    }
}
