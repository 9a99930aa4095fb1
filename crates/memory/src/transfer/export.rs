//! Out of this house.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::transfer::line::{FactLine, Identity, MemoryLine, PersonLine, ScopeRef, TransferLine, UserRef};
use hob_core::domain::ids::{EpisodeId, FactId, MemoryId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::transfer::{self, WholeFact, WholeMemory, WholePerson};
use hob_store::{Tx, sessions, users};

/// How many rows are read at once.
const PAGE: i64 = 1_000;

/// Everything that is remembered, as lines: people, then what was said, then facts.
pub async fn export(tx: &mut Tx) -> Result<Vec<TransferLine>, StoreError> {
    let mut names = ExportNames::default();
    let mut lines = Vec::new();
    for person in transfer::people(tx).await? {
        lines.push(TransferLine::Person(names.person(tx, person).await?));
    }
    let mut after = MemoryId(0);
    loop {
        let page = transfer::memories(tx, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for memory in page {
            lines.push(TransferLine::Memory(names.memory(tx, memory).await?));
        }
    }
    let mut after = FactId(0);
    loop {
        let page = transfer::facts(tx, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for fact in page {
            lines.push(TransferLine::Fact(names.fact(tx, fact).await?));
        }
    }
    Ok(lines)
}

/// The names of rows in a file, each looked up once.
#[derive(Default)]
struct ExportNames {
    who: BTreeMap<UserId, UserRef>,
    whose: BTreeMap<Scope, ScopeRef>,
    /// Episodes are numbered as they come.
    episodes: BTreeMap<EpisodeId, u64>,
}

impl ExportNames {
    async fn user_ref(&mut self, tx: &mut Tx, user: UserId) -> Result<UserRef, StoreError> {
        if let Some(who) = self.who.get(&user) {
            return Ok(who.clone());
        }
        let name = users::name(tx, user).await?.unwrap_or_default();
        let identities = transfer::identities(tx, user).await?;
        let identities = identities.into_iter().map(|(channel, id)| format!("{channel}:{id}")).collect();
        let who = UserRef { name, identities };
        self.who.insert(user, who.clone());
        Ok(who)
    }

    async fn maybe(&mut self, tx: &mut Tx, user: Option<UserId>) -> Result<Option<UserRef>, StoreError> {
        match user {
            Some(user) => self.user_ref(tx, user).await.map(Some),
            None => Ok(None),
        }
    }

    async fn scope_ref(&mut self, tx: &mut Tx, scope: Scope) -> Result<ScopeRef, StoreError> {
        if let Some(whose) = self.whose.get(&scope) {
            return Ok(whose.clone());
        }
        let whose = match scope {
            Scope::House => ScopeRef::House,
            Scope::Person(user) => ScopeRef::Person(self.user_ref(tx, user).await?),
            Scope::Conversation(session) => {
                let session = sessions::key(tx, session).await?;
                ScopeRef::Conversation(session.unwrap_or_default())
            }
        };
        self.whose.insert(scope, whose.clone());
        Ok(whose)
    }

    async fn person(&mut self, tx: &mut Tx, person: WholePerson) -> Result<PersonLine, StoreError> {
        let names = transfer::names(tx, person.id).await?;
        Ok(PersonLine {
            scope: self.scope_ref(tx, person.scope).await?,
            name: person.name,
            user: self.maybe(tx, person.user).await?,
            relation: person.relation,
            birthday: person.birthday,
            identities: names.into_iter().map(|(kind, value)| Identity { kind, value }).collect(),
            known_since: timestamp_from_millis(person.created_at),
            changed_at: timestamp_from_millis(person.updated_at),
        })
    }

    async fn memory(&mut self, tx: &mut Tx, memory: WholeMemory) -> Result<MemoryLine, StoreError> {
        let next = self.episodes.len() as u64 + 1;
        Ok(MemoryLine {
            scope: self.scope_ref(tx, memory.scope).await?,
            episode: *self.episodes.entry(memory.episode).or_insert(next),
            speaker: memory.speaker,
            said_by: self.maybe(tx, memory.user).await?,
            text: memory.text,
            asked: memory.asked,
            origin: memory.origin,
            importance: memory.importance,
            pinned: memory.pinned,
            uses: memory.uses,
            used_at: memory.used_at.map(timestamp_from_millis),
            at: timestamp_from_millis(memory.at),
        })
    }

    async fn fact(&mut self, tx: &mut Tx, fact: WholeFact) -> Result<FactLine, StoreError> {
        Ok(FactLine {
            scope: self.scope_ref(tx, fact.scope).await?,
            category: fact.category,
            key: fact.key,
            value: fact.value,
            about: fact.about,
            speaker: fact.speaker,
            said_by: self.maybe(tx, fact.user).await?,
            source: fact.source,
            confidence: fact.confidence,
            importance: fact.importance,
            pinned: fact.pinned,
            uses: fact.uses,
            used_at: fact.used_at.map(timestamp_from_millis),
            valid_from: fact.valid_from.map(timestamp_from_millis),
            valid_until: fact.valid_until.map(timestamp_from_millis),
            disputed: fact.disputed,
            known_since: timestamp_from_millis(fact.created_at),
            superseded_at: fact.superseded_at.map(timestamp_from_millis),
            taint: Taint::from_stored(fact.taint.as_deref()),
        })
    }
}

fn timestamp_from_millis(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or_default()
}
