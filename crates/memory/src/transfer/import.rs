//! Into this house: all of it or nothing, in one transaction, and what is there already stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use crate::transfer::line::{FactLine, LineError, MemoryLine, PersonLine, ScopeRef, TransferLine, UserRef};
use hob_core::domain::ids::{EpisodeId, FactId, PersonId, UserId};
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::memories::{self, NewMemory};
use hob_store::transfer::{self, WholeFact, WholePerson};
use hob_store::{Tx, millis, sessions};

/// Where what is imported comes from.
const ORIGIN: &str = "import";

/// Brings lines in.
#[derive(Debug, Clone)]
pub struct ImportLines {
    /// Each with its number.
    pub lines: Vec<(usize, TransferLine)>,
    /// Whose all of it becomes; none: whose it was.
    pub into: Option<Scope>,
}

/// What was brought in; the rest was there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Things said.
    pub memories: usize,
    /// Facts, old values too.
    pub facts: usize,
    pub people: usize,
    /// Lines of which everything was there.
    pub known: usize,
}

impl ImportLines {
    /// What stands in the way: then nothing was brought in. `tell` is told how many lines are done.
    pub async fn run(
        &self,
        tx: &mut Tx,
        tell: &(dyn Fn(usize) + Sync),
    ) -> Result<Result<ImportReport, Vec<LineError>>, StoreError> {
        let (mut scopes, mut problems) = (Vec::new(), Vec::new());
        for (line, content) in &self.lines {
            match self.scope(tx, content).await? {
                Ok(scope) => scopes.push(scope),
                Err(what) => problems.push(LineError { line: *line, what }),
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        let mut bringing = ImportState::default();
        for (done, ((_, content), scope)) in self.lines.iter().zip(scopes).enumerate() {
            tell(done);
            let is_new = match content {
                TransferLine::Person(person) => bringing.person(tx, scope, person).await?,
                TransferLine::Memory(said) => bringing.memory(tx, scope, said).await?,
                TransferLine::Fact(known) => bringing.fact(tx, scope, known).await?,
            };
            bringing.imported.known += usize::from(!is_new);
        }
        tell(self.lines.len());
        for episode in bringing.new_episodes {
            transfer::set_extracted(tx, episode).await?;
        }
        Ok(Ok(bringing.imported))
    }
}

impl ImportLines {
    /// Whose a line becomes here, or why that cannot be said.
    async fn scope(&self, tx: &mut Tx, line: &TransferLine) -> Result<Result<Scope, String>, StoreError> {
        if let Some(into) = self.into {
            return Ok(Ok(into));
        }
        let (TransferLine::Memory(MemoryLine { scope, .. })
        | TransferLine::Fact(FactLine { scope, .. })
        | TransferLine::Person(PersonLine { scope, .. })) = line;
        Ok(match scope {
            ScopeRef::House => Ok(Scope::House),
            ScopeRef::Person(who) => user(tx, who).await?.map(Scope::Person).ok_or_else(|| {
                let named = who.identities.join(" or ");
                format!(
                    "nobody here is {named} ({}): let them write to Hob once, or say --person NAME or --house",
                    who.name
                )
            }),
            ScopeRef::Conversation(key) => sessions::find_by_key(tx, key)
                .await?
                .map(|session| Scope::Conversation(session.id))
                .ok_or_else(|| format!("there is no conversation {key} here: say --person NAME or --house")),
        })
    }
}

async fn user(tx: &mut Tx, who: &UserRef) -> Result<Option<UserId>, StoreError> {
    for identity in &who.identities {
        if let Some((channel, id)) = identity.split_once(':')
            && let Some(user) = transfer::user_by_identity(tx, channel, id).await?
        {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// What was brought in so far.
#[derive(Default)]
struct ImportState {
    imported: ImportReport,
    /// The file's episodes, for each scope.
    episodes: BTreeMap<(Scope, u64), EpisodeId>,
    new_episodes: BTreeSet<EpisodeId>,
    then: SameMoment,
}

/// What was said at the moment of the last line, each by whom and in what words: a file whose lines are all of one moment must not
/// have all of them looked at for each.
#[derive(Default)]
struct SameMoment {
    at: Option<(Scope, i64)>,
    said: BTreeMap<(String, String), EpisodeId>,
}

impl SameMoment {
    async fn of(
        &mut self,
        tx: &mut Tx,
        at: (Scope, i64),
    ) -> Result<&mut BTreeMap<(String, String), EpisodeId>, StoreError> {
        if self.at != Some(at) {
            let said = transfer::said_at(tx, at.0, at.1).await?;
            self.said = said.into_iter().map(|said| ((said.speaker, said.text), said.episode)).collect();
            self.at = Some(at);
        }
        Ok(&mut self.said)
    }
}

impl ImportState {
    async fn maybe(&self, tx: &mut Tx, who: Option<&UserRef>) -> Result<Option<UserId>, StoreError> {
        match who {
            Some(who) => user(tx, who).await,
            None => Ok(None),
        }
    }

    async fn memory(&mut self, tx: &mut Tx, scope: Scope, line: &MemoryLine) -> Result<bool, StoreError> {
        let user = self.maybe(tx, line.said_by.as_ref()).await?;
        let at = millis(line.at);
        let named = (scope, line.episode);
        let then = self.then.of(tx, (scope, at)).await?;
        if let Some(episode) = then.get(&(line.speaker.clone(), line.text.clone())) {
            self.episodes.insert(named, *episode);
            return Ok(false);
        }
        let episode = match self.episodes.get(&named) {
            Some(episode) => *episode,
            None => {
                let episode = memories::begin_episode(tx, scope, None, at).await?;
                self.new_episodes.insert(episode);
                episode
            }
        };
        self.episodes.insert(named, episode);
        then.insert((line.speaker.clone(), line.text.clone()), episode);
        let new = NewMemory {
            scope,
            session: None,
            speaker: &line.speaker,
            user,
            message: None,
            text: &line.text,
            asked: line.asked.as_deref(),
            origin: ORIGIN,
            importance: line.importance,
            at,
        };
        let id = memories::add_to(tx, episode, &new, None).await?;
        transfer::set_use(tx, id, line.pinned, line.uses, line.used_at.map(millis)).await?;
        self.imported.memories += 1;
        Ok(true)
    }

    async fn person(&mut self, tx: &mut Tx, scope: Scope, line: &PersonLine) -> Result<bool, StoreError> {
        let whole = WholePerson {
            id: PersonId(0),
            scope,
            name: line.name.clone(),
            user: self.maybe(tx, line.user.as_ref()).await?,
            relation: line.relation.clone(),
            birthday: line.birthday.clone(),
            created_at: millis(line.known_since),
            updated_at: millis(line.changed_at),
        };
        let names = line.identities.iter().map(|name| (name.kind.clone(), name.value.clone())).collect::<Vec<_>>();
        let is_new = transfer::put_person(tx, &whole, &names).await?;
        self.imported.people += usize::from(is_new);
        Ok(is_new)
    }

    async fn fact(&mut self, tx: &mut Tx, scope: Scope, line: &FactLine) -> Result<bool, StoreError> {
        let mut whole = WholeFact {
            id: FactId(0),
            scope,
            category: line.category.clone(),
            key: line.key.clone(),
            value: line.value.clone(),
            about: line.about.clone(),
            speaker: line.speaker.clone(),
            user: self.maybe(tx, line.said_by.as_ref()).await?,
            source: ORIGIN.to_owned(),
            confidence: line.confidence,
            importance: line.importance,
            pinned: line.pinned,
            uses: line.uses,
            used_at: line.used_at.map(millis),
            valid_from: line.valid_from.map(millis),
            valid_until: line.valid_until.map(millis),
            disputed: line.disputed,
            created_at: millis(line.known_since),
            superseded_at: line.superseded_at.map(millis),
            taint: line.taint.to_stored(),
        };
        if transfer::is_known(tx, &whole).await? {
            return Ok(false);
        }
        let person = match &whole.about {
            Some(name) => transfer::person_by_name(tx, scope, name).await?,
            None => None,
        };
        let current = if whole.superseded_at.is_none() { transfer::current(tx, &whole).await? } else { None };
        let mut rival_of = None;
        if let Some(current) = current {
            if current.value == whole.value {
                return Ok(false);
            } else if whole.disputed {
                rival_of = Some(current.id);
            } else if current.created_at < whole.created_at {
                // What was learnt later counts.
                transfer::supersede(tx, current.id, whole.created_at).await?;
            } else {
                whole.superseded_at = Some(current.created_at);
            }
        }
        transfer::add_fact(tx, &whole, person, rival_of).await?;
        self.imported.facts += 1;
        Ok(true)
    }
}
