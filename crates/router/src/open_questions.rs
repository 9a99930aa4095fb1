//! Whether what somebody says answers the open question of a run, and whether they may.

use crate::{pause_texts, texts};
use hob_agent::machine::answer_rights::PermittedAnswerer;
use hob_agent::machine::human::Decision;
use hob_agent::machine::question::Question;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::principal::Principal;
use hob_store::agents::WaitingAgent;
use hob_store::error::StoreError;
use hob_store::{Tx, agents, open_runs, runs};

/// The runs that perhaps wait for a word said in a conversation: its own, then the agents at work for it,
/// then what events have begun.
pub(super) async fn waiting_runs(
    tx: &mut Tx,
    home: SessionId,
    active: Option<&runs::ActiveRun>,
) -> Result<Vec<WaitingAgent>, StoreError> {
    let own = active.map(|run| WaitingAgent { session: home, run: run.clone() });
    let mut all: Vec<WaitingAgent> = own.into_iter().chain(agents::waiting_at_home(tx, home).await?).collect();
    // What events have begun speaks here, too.
    for (run, open) in open_runs::beside(tx, home).await? {
        all.push(WaitingAgent { session: open.session, run });
        all.extend(agents::waiting_at_home(tx, open.session).await?);
    }
    Ok(all.into_iter().filter(|asking| is_waiting_for_answer(&asking.run)).collect())
}

/// This run, if it waits for a word, wherever that is.
pub(super) async fn waiting_run(tx: &mut Tx, run: RunId) -> Result<Option<WaitingAgent>, StoreError> {
    let Some(row) = runs::queries::lookup(tx, run).await? else {
        return Ok(None);
    };
    let active =
        runs::find_active(tx, row.session).await?.filter(|active| active.id == run && is_waiting_for_answer(active));
    Ok(active.map(|active| WaitingAgent { session: row.session, run: active }))
}

/// Does the run wait for a word that has not come yet?
pub(super) fn is_waiting_for_answer(run: &runs::ActiveRun) -> bool {
    run.state == "waiting" && !run.signalled
}

#[derive(Debug, Clone)]
pub(super) struct OpenQuestion {
    /// Its number in its run.
    pub(super) number: u32,
    pub(super) question: Question,
    /// Who may answer it.
    pub(super) answerer: PermittedAnswerer,
}

impl OpenQuestion {
    pub(super) fn may_be_answered_by(&self, principal: &Principal, run: &runs::ActiveRun) -> bool {
        self.answerer.admits(principal, run.user, run.role)
    }

    /// What somebody is told who may not answer it.
    pub(super) fn refusal_text(&self) -> &'static str {
        match self.answerer {
            PermittedAnswerer::Owner => pause_texts::FOR_OWNERS_TO_APPROVE,
            PermittedAnswerer::Requester => pause_texts::NOT_YOURS_TO_APPROVE,
            PermittedAnswerer::Anybody => texts::NOT_YOURS,
        }
    }
}

/// What of these words answers the question. One that offers decisions takes only them, be they said to Hob by name or not:
/// everything else that is said meanwhile is a message of its own, and must not be lost as an answer that decides nothing.
pub(super) fn extract_answer<'a>(text: &'a str, question: &Question) -> Option<&'a str> {
    let said = match text.split_once(char::is_whitespace) {
        Some((name, rest)) if name.starts_with('@') => rest.trim_start(),
        Some(_) | None => text,
    };
    if Decision::parse(said, question).is_some() {
        return Some(said);
    }
    Decision::takes_words(question).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::{CallId, UserId};

    fn approval() -> Question {
        let (name, arguments) = ("pay".to_owned(), "{}".to_owned());
        Question::Approval {
            call: CallId::new(1, 0),
            name,
            arguments,
            grantable: true,
            concern: Box::default(),
            beside: Vec::new(),
        }
    }

    #[test]
    fn d6_only_a_decision_is_an_answer_to_a_question_that_offers_some() {
        let asked = Question::Asked { call: CallId::new(1, 0), text: "Which?".to_owned(), form: None };
        let paused = Question::Paused { by: UserId(1) };
        let table = [
            ("approve", &approval(), Some("approve")),
            ("@hob_bot approve", &approval(), Some("approve")),
            ("@hob_bot no, because it rains", &approval(), Some("no, because it rains")),
            ("@hob_bot", &approval(), None),
            ("hob approve", &approval(), None),
            ("what is it?", &approval(), None),
            ("@hob_bot blue", &asked, Some("@hob_bot blue")),
            ("blue", &asked, Some("blue")),
            ("1", &paused, None),
        ];
        for (text, question, expected) in table {
            assert_eq!(extract_answer(text, question), expected, "{text}");
        }
    }
}
