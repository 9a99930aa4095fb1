//! What goes along: the facts that rest on a message, its words in the history, the journals and what was recalled.

use std::collections::{BTreeMap, BTreeSet};

use crate::forget::ForgetOutcome;
use crate::people::keys::tells_birthday;
use hob_core::domain::ids::{FactId, MemoryId, PersonId, RunId, SessionId};
use hob_model::message::{Message, ReplyPart, ToolCall};
use hob_model::tokens;
use hob_store::error::StoreError;
use hob_store::forgetting::deferred::{self, DeferredForget};
use hob_store::forgetting::rewriting::{self, RewritableMessage};
use hob_store::forgetting::{self, FORGOTTEN, MessageLocation, OpeningText, Part};
use hob_store::{
    Tx, agents, answers, facts, files, memories, memory_views, occurrences, people, retention, schedules, vectors,
};

/// One forgetting, within one transaction.
#[derive(Default)]
pub(super) struct Cascade {
    forgotten: ForgetOutcome,
    /// Runs that began with words which are gone.
    tails: BTreeSet<RunId>,
    /// The earliest place of each conversation at which something was forgotten.
    earliest: BTreeMap<SessionId, MessageLocation>,
    /// Since when the oldest of the facts was known.
    facts_since: Option<i64>,
}

impl Cascade {
    /// Something said.
    pub(super) async fn memory(&mut self, tx: &mut Tx, memory: MemoryId) -> Result<(), StoreError> {
        let Some(row) = memory_views::memory(tx, memory).await? else {
            return Ok(());
        };
        let said = forgetting::location_of_memory(tx, memory).await?;
        self.tails.extend(forgetting::recalled_memory(tx, memory).await?);
        if let Some(said) = &said {
            // While they are found yet.
            self.tails.extend(answers::recalled(tx, said).await?);
        }
        let next = memories::next(tx, memory).await?;
        memory_views::delete_memory(tx, memory).await?;
        retention::drop_empty(tx, row.episode).await?;
        if let Some(next) = next {
            vectors::invalidate(tx, next).await?;
        }
        self.forgotten.memories.push((row.scope, memory));
        let Some(said) = said else {
            return Ok(());
        };
        for fact in memory_views::resting_on(tx, said.message).await? {
            self.fact(tx, fact).await?;
        }
        self.forget_words(tx, &said).await
    }

    /// Something said in a conversation that goes as a whole, whether it was remembered or not.
    pub(super) async fn message(&mut self, tx: &mut Tx, said: &MessageLocation) -> Result<(), StoreError> {
        self.tails.extend(answers::recalled(tx, said).await?);
        for memory in forgetting::memories_of(tx, said.message).await? {
            self.memory(tx, memory).await?;
        }
        for fact in memory_views::resting_on(tx, said.message).await? {
            self.fact(tx, fact).await?;
        }
        self.forget_words(tx, said).await
    }

    /// Something known, and the values before it.
    pub(super) async fn fact(&mut self, tx: &mut Tx, fact: FactId) -> Result<(), StoreError> {
        for fact in memory_views::with_history(tx, fact).await? {
            self.tails.extend(forgetting::recalled_fact(tx, fact).await?);
            if let Some(known) = facts::find(tx, fact).await? {
                self.facts_since = Some(self.facts_since.unwrap_or(known.since).min(known.since));
                let holds = known.superseded_at.is_none() && known.rival_of.is_none();
                if let Some(person) = known.person.filter(|_| holds && tells_birthday(&known.key)) {
                    people::drop_birthday(tx, person).await?;
                }
            }
            memory_views::delete_fact(tx, fact).await?;
            self.forgotten.facts.insert(fact);
        }
        Ok(())
    }

    /// Somebody, and all that is known of them.
    pub(super) async fn person(&mut self, tx: &mut Tx, person: PersonId) -> Result<(), StoreError> {
        for fact in memory_views::about(tx, person).await? {
            self.fact(tx, fact).await?;
        }
        memory_views::delete_person(tx, person).await?;
        self.forgotten.people.push(person);
        Ok(())
    }

    /// The words of a message, wherever they are kept.
    async fn forget_words(&mut self, tx: &mut Tx, said: &MessageLocation) -> Result<(), StoreError> {
        // Its place and its role stay, so that whoever counts messages counts the same: also a run that goes on.
        if let Some(message) = rewriting::message(tx, said.message).await? {
            blank(tx, message).await?;
        }
        // What came with it goes as well; the content, when it is swept.
        files::drop_of_run(tx, said.run).await?;
        let earliest = self.earliest.entry(said.session).or_insert(*said);
        if said.ordinal < earliest.ordinal {
            *earliest = *said;
        }
        if !redact_message(tx, said).await? {
            deferred::add(tx, said.run, Part::Words, Some(said.message)).await?;
            self.forgotten.put_off = true;
        }
        Ok(())
    }

    /// What is done once, however much was forgotten.
    pub(super) async fn finish(mut self, tx: &mut Tx) -> Result<ForgetOutcome, StoreError> {
        for said in self.earliest.values() {
            forgetting::drop_summaries(tx, said).await?;
            for run in forgetting::runs_with_earlier_context(tx, said.session, said.ordinal).await? {
                self.forgotten.put_off |= !or_later(tx, run, Part::Journal).await?;
            }
        }
        if let Some(since) = self.facts_since {
            self.tails.extend(forgetting::heartbeats_since(tx, since).await?);
        }
        for run in &self.tails {
            self.forgotten.put_off |= !or_later(tx, *run, Part::Tail).await?;
        }
        catch_up(tx, None).await?;
        forgetting::blank_errors(tx).await?;
        forgetting::blank_listings(tx).await?;
        Ok(self.forgotten)
    }
}

/// Does it now, or when the run is over: gives whether it is done.
async fn or_later(tx: &mut Tx, run: RunId, part: Part) -> Result<bool, StoreError> {
    let is_done = redact_run_part(tx, run, part).await?;
    if !is_done {
        deferred::add(tx, run, part, None).await?;
    }
    Ok(is_done)
}

/// What was put off, of one run or of all, as far as it can be done now.
pub(super) async fn catch_up(tx: &mut Tx, run: Option<RunId>) -> Result<(), StoreError> {
    for DeferredForget { id, run, part, message } in deferred::list(tx, run).await? {
        let said = match message {
            Some(message) => forgetting::location_of_message(tx, message).await?,
            None => None,
        };
        let is_done = match (part, said) {
            (Part::Words, Some(said)) => redact_message(tx, &said).await?,
            (Part::Words, None) => true,
            (Part::Journal | Part::Tail, _) => redact_run_part(tx, run, part).await?,
        };
        if is_done {
            deferred::done(tx, id).await?;
        }
    }
    Ok(())
}

/// Takes this part out of the record of a run, unless that is still in use: gives whether it is gone.
async fn redact_run_part(tx: &mut Tx, run: RunId, part: Part) -> Result<bool, StoreError> {
    if !forgetting::is_over(tx, run).await? || !forgetting::drop_opening(tx, run, OpeningText::Tail).await? {
        return Ok(false);
    }
    if part == Part::Journal {
        forgetting::drop_journal(tx, run).await?;
    }
    Ok(true)
}

/// Takes out what came of a message: what Hob and its tools said in its run, that run's journal, and those of the
/// messages that joined it.
async fn redact_message(tx: &mut Tx, said: &MessageLocation) -> Result<bool, StoreError> {
    for answer in forgetting::drop_questions(tx, said).await? {
        // The question was in its vector.
        vectors::invalidate(tx, answer).await?;
    }
    if !forgetting::is_over(tx, said.run).await? {
        return Ok(false);
    }
    for reply in rewriting::replies(tx, said).await? {
        blank(tx, reply).await?;
    }
    // While the journal is there, which names them.
    for run in forgetting::joined(tx, said.run).await? {
        forgetting::blank_run(tx, run).await?;
        forgetting::drop_journal(tx, run).await?;
    }
    let later_gone = take_out_agents(tx, said.run).await? && take_out_scheduled(tx, said.run).await?;
    forgetting::blank_run(tx, said.run).await?;
    Ok(later_gone
        && redact_run_part(tx, said.run, Part::Journal).await?
        && forgetting::is_delivered(tx, said.run).await?)
}

/// What a run handed on to agents was in its words: all that those said and did goes along. Gives whether it is gone.
async fn take_out_agents(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let mut gone = true;
    for agent in agents::descendants(tx, run).await? {
        if !forgetting::is_over(tx, agent).await? || !forgetting::drop_opening(tx, agent, OpeningText::Prompt).await? {
            gone = false;
            continue;
        }
        gone &= take_out_scheduled(tx, agent).await? && redact_run(tx, agent).await?;
    }
    Ok(gone)
}

/// What a run had put off until later, and is done, goes with all that was said and done then. What is still to be done is
/// kept until it is: it is a wish, and no memory. Gives whether it is gone.
async fn take_out_scheduled(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let mut gone = true;
    for later in occurrences::runs_of_done(tx, run).await? {
        gone &= forgetting::is_over(tx, later).await? && redact_run(tx, later).await?;
    }
    schedules::blank_done(tx, run, FORGOTTEN).await?;
    Ok(gone)
}

/// All that was said and done in a run that is over.
async fn redact_run(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    for message in rewriting::history_of(tx, run).await? {
        blank(tx, message).await?;
    }
    forgetting::blank_run(tx, run).await?;
    Ok(redact_run_part(tx, run, Part::Journal).await? && forgetting::is_delivered(tx, run).await?)
}

async fn blank(tx: &mut Tx, mut stored: RewritableMessage) -> Result<(), StoreError> {
    let Ok(message) = serde_json::from_str::<Message>(&stored.body) else {
        // What cannot be read is left out of every history, and stays so.
        stored.body = String::new();
        return rewriting::rewrite(tx, &stored, FORGOTTEN, 0).await;
    };
    let blanked = without_words(message);
    stored.body = encode(&blanked)?;
    let tokens = i64::try_from(tokens::message(&blanked)).unwrap_or(i64::MAX);
    rewriting::rewrite(tx, &stored, &blanked.text(), tokens).await
}

fn encode(message: &Message) -> Result<String, StoreError> {
    serde_json::to_string(message).map_err(|error| StoreError::Database(error.to_string()))
}

/// The same message without its words. Whether it has words stays, as messages without any are left out of some
/// histories; calls stay, as their results refer to them.
pub(super) fn without_words(message: Message) -> Message {
    match message {
        Message::User { .. } => Message::user(FORGOTTEN),
        Message::Assistant { parts } => {
            let has_words =
                parts.iter().any(|part| matches!(part, ReplyPart::Text { text } if !text.trim().is_empty()));
            let text = if has_words { FORGOTTEN } else { "" };
            let calls = parts.into_iter().filter_map(|part| match part {
                ReplyPart::Call(call) => Some(ToolCall { arguments: "{}".to_owned(), ..call }),
                ReplyPart::Text { .. } | ReplyPart::Sealed(_) => None,
            });
            Message::assistant(text, calls.collect())
        }
        Message::Tool(mut result) => {
            FORGOTTEN.clone_into(&mut result.text);
            Message::Tool(result)
        }
    }
}
