//! Changes: somebody added, told of, changed, removed.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::facts::ToldFact;
use crate::facts::keep::RememberOutcome;
use crate::forget::ForgetItem;
use crate::people::birthday::Birthday;
use crate::people::names::{fold, relation_of};
use crate::people::{
    IDENTITIES_MAX, Identity, PEOPLE_MAX, PeopleError, Person, find_one, keys, load, normalized_name, split_store_error,
};
use hob_core::domain::ids::{PersonId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::principal::Principal;
use hob_core::policy::memory::{SpeakingPlace, may_change, visible_scopes};
use hob_store::error::StoreError;
use hob_store::people::{KeyedFact, PersonFields};
use hob_store::{Tx, millis, people};

/// Where a change is made, and by whom.
#[derive(Debug, Clone)]
pub struct ChangeContext {
    /// Whose people.
    pub scope: Scope,
    /// Who makes it.
    pub caller: Principal,
    /// The conversation in which they do.
    pub place: SpeakingPlace,
}

impl ChangeContext {
    /// Whether its maker may have taken away what was told of somebody.
    async fn may_delete(&self, tx: &mut Tx, person: &Person, key: Option<&str>) -> Result<(), PeopleError> {
        let wanted = key.map(|key| fold(keys::key_without_owner(person, key)));
        let facts = people::all_facts(tx, person.id).await?;
        let meant = |fact: &&KeyedFact| {
            wanted.as_ref().is_none_or(|wanted| fold(keys::key_without_owner(person, &fact.key)) == *wanted)
        };
        // Who told of the person is not on record: where others see it, the whole of them goes only by an admin or an owner.
        let of_person = key.map(|_| self.caller.user);
        let told_by = facts.iter().filter(meant).map(|fact| fact.user).chain([of_person]);
        let mut all = told_by.map(|user| may_change(&self.caller, self.place, self.scope, user));
        if all.all(|may| may) { Ok(()) } else { Err(PeopleError::Others { name: person.name.clone() }) }
    }

    /// The person of the scope whom these words name.
    pub(super) async fn person(&self, tx: &mut Tx, name: &str) -> Result<Person, PeopleError> {
        let here = load(tx, &[self.scope]).await?;
        let error = match find_one(&here, name) {
            Ok(person) => return Ok(person.clone()),
            Err(error) => error,
        };
        if let PeopleError::Unknown { .. } = error {
            let elsewhere = load(tx, &visible_scopes(&self.caller, self.place)).await?;
            if let Ok(Person { name, scope, .. }) = find_one(&elsewhere, name) {
                return Err(PeopleError::Elsewhere { name: name.clone(), scope: *scope });
            }
        }
        Err(error)
    }
}

/// What becomes of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FieldChange<T> {
    /// It stays.
    #[default]
    Keep,
    /// It is not known any more.
    Clear,
    Set(T),
}

impl<T> FieldChange<T> {
    fn over(self, known: Option<T>) -> Option<T> {
        match self {
            Self::Keep => known,
            Self::Clear => None,
            Self::Set(new) => Some(new),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HobUser {
    /// By their row.
    Known(UserId),
    Called(String),
}

/// What is told of somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonDetails {
    /// A new name.
    pub name: Option<String>,
    /// Who they are to those who know of them.
    pub relation: FieldChange<String>,
    /// When they were born.
    pub birthday: FieldChange<Birthday>,
    pub user: FieldChange<HobUser>,
    /// By what else they are known.
    pub identities: Vec<Identity>,
    /// By what they are not known any more.
    pub dropped: Vec<Identity>,
}

/// Adds somebody, or changes what is known of them. Once more changes nothing.
#[derive(Debug, Clone)]
pub struct SavePerson {
    pub whose: ChangeContext,
    pub name: String,
    pub details: PersonDetails,
    /// Whether somebody who is not known is added.
    pub adds: bool,
    pub at: Timestamp,
}

/// Somebody as they are known now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPerson {
    pub person: Person,
    /// They were not known before.
    pub added: bool,
}

impl SavePerson {
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<SavedPerson, PeopleError>, StoreError> {
        split_store_error(self.save(tx).await)
    }

    async fn save(&self, tx: &mut Tx) -> Result<SavedPerson, PeopleError> {
        let here = load(tx, &[self.whose.scope]).await?;
        let known = match find_one(&here, &self.name) {
            Ok(person) => Some(person.clone()),
            Err(PeopleError::Unknown { .. }) if self.adds => None,
            Err(PeopleError::Unknown { .. }) => Some(self.whose.person(tx, &self.name).await?),
            Err(error) => return Err(error),
        };
        let added = known.is_none();
        let before = match known {
            Some(person) => person,
            None => blank(self.whose.scope, &self.name, &here)?,
        };
        let after = self.changed(tx, &before, &here).await?;
        let id = if added { add(tx, &after, self.at).await? } else { before.id };
        let person = Person { id, ..after };
        store(tx, &before, &person, self.at).await?;
        Ok(SavedPerson { person, added })
    }

    /// The person as they are from now on; refused before anything is written.
    async fn changed(&self, tx: &mut Tx, before: &Person, here: &[Person]) -> Result<Person, PeopleError> {
        let PersonDetails { name, relation, birthday, user, identities, dropped } = self.details.clone();
        let name = name.unwrap_or_else(|| before.name.clone());
        let taken = |other: &&Person| other.id != before.id && fold(&other.name) == fold(&name);
        if let Some(other) = here.iter().find(taken) {
            return Err(PeopleError::Taken { name: other.name.clone() });
        }
        let user = match user {
            FieldChange::Keep => before.user.clone(),
            FieldChange::Clear => None,
            FieldChange::Set(user) => Some(find_user(tx, user).await?),
        };
        let mut all = before.identities.clone();
        let old_name =
            (!before.name.is_empty()).then(|| Identity { kind: Identity::NAME.to_owned(), value: before.name.clone() });
        let same = |a: &Identity, b: &Identity| a.kind == b.kind && fold(&a.value) == fold(&b.value);
        for identity in identities.into_iter().chain(old_name) {
            if !all.iter().any(|known| same(known, &identity)) {
                all.push(identity);
            }
        }
        all.retain(|known| !dropped.iter().any(|gone| same(gone, known)));
        all.retain(|known| known.kind != Identity::NAME || fold(&known.value) != fold(&name));
        all.sort_by_key(|known| (known.kind.clone(), fold(&known.value)));
        if all.len() > IDENTITIES_MAX {
            return Err(PeopleError::TooManyIdentities);
        }
        Ok(Person {
            id: before.id,
            scope: before.scope,
            name,
            relation: relation.over(before.relation.clone()),
            birthday: birthday.over(before.birthday),
            user,
            identities: all,
        })
    }
}

/// Somebody of whom nothing is known but what these words say: "my sister" is a sister.
fn blank(scope: Scope, name: &str, here: &[Person]) -> Result<Person, PeopleError> {
    if here.len() >= PEOPLE_MAX {
        return Err(PeopleError::TooMany);
    }
    let name = normalized_name(name, "a name")?;
    let relation = relation_of(&name).map(str::to_owned);
    let name = relation.clone().unwrap_or(name);
    let (birthday, user, identities) = (None, None, Vec::new());
    Ok(Person { id: PersonId(0), scope, name, relation, birthday, user, identities })
}

async fn find_user(tx: &mut Tx, user: HobUser) -> Result<(UserId, String), PeopleError> {
    let users = people::users(tx).await?;
    let is_meant = |(id, name): &&(UserId, String)| match &user {
        HobUser::Known(wanted) => id == wanted,
        HobUser::Called(wanted) => fold(name) == fold(wanted),
    };
    let found = users.iter().find(is_meant).cloned();
    found.ok_or_else(|| PeopleError::NoUser {
        name: match user {
            HobUser::Known(id) => id.to_string(),
            HobUser::Called(name) => name,
        },
        known: users.into_iter().map(|(_, name)| name).collect(),
    })
}

async fn add(tx: &mut Tx, person: &Person, at: Timestamp) -> Result<PersonId, StoreError> {
    with_fields(person, async |fields| people::add(tx, person.scope, &fields, millis(at)).await).await
}

/// Stores what differs from before.
pub(super) async fn store(tx: &mut Tx, before: &Person, after: &Person, at: Timestamp) -> Result<(), StoreError> {
    let at = millis(at);
    let plain = |person: &Person| Person { identities: Vec::new(), ..person.clone() };
    if plain(before) != plain(after) {
        with_fields(after, async |fields| people::update(tx, after.id, &fields, at).await).await?;
    }
    for gone in before.identities.iter().filter(|known| !after.identities.contains(known)) {
        people::drop_identity(tx, after.id, &gone.kind, &gone.value).await?;
    }
    for new in after.identities.iter().filter(|known| !before.identities.contains(known)) {
        people::identify(tx, after.id, &new.kind, &new.value).await?;
    }
    if before.name != after.name {
        move_facts(tx, before, after, at).await?;
    }
    Ok(())
}

/// The facts about one person become those of another, or the same under another name.
pub(super) async fn move_facts(tx: &mut Tx, before: &Person, after: &Person, at: i64) -> Result<(), StoreError> {
    for fact in people::all_facts(tx, before.id).await? {
        let key = keys::in_scope(after, keys::key_without_owner(before, &fact.key));
        people::move_fact(tx, &fact, after.id, &key, at).await?;
    }
    Ok(())
}

async fn with_fields<T>(person: &Person, store: impl AsyncFnOnce(PersonFields<'_>) -> T) -> T {
    let birthday = person.birthday.map(|birthday| birthday.to_string());
    store(PersonFields {
        name: &person.name,
        relation: person.relation.as_deref(),
        birthday: birthday.as_deref(),
        user: person.user.as_ref().map(|(id, _)| *id),
    })
    .await
}

/// Remembers a fact that may be about somebody; its key is then the one within the person.
#[derive(Debug, Clone)]
pub struct TellFact {
    /// Where; the fact's own scope.
    pub whose: ChangeContext,
    /// About whom; none: whom the key names, if anybody.
    pub about: Option<String>,
    /// Whether somebody who is not known is added.
    pub adds: bool,
    pub fact: ToldFact,
    /// Today, where the household is.
    pub today: Date,
}

/// A fact was remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellOutcome {
    /// About whom.
    pub person: Option<Person>,
    /// They were not known before, but these have names like theirs.
    pub added: Option<Vec<String>>,
    pub fact: RememberOutcome,
}

impl TellFact {
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<TellOutcome, PeopleError>, StoreError> {
        split_store_error(self.remember_about(tx).await)
    }

    async fn remember_about(&self, tx: &mut Tx) -> Result<TellOutcome, PeopleError> {
        let about = match &self.about {
            Some(about) => Some(about.clone()),
            None => {
                let here = load(tx, &[self.whose.scope]).await?;
                keys::owner(&here, &self.fact.key).map(|person| person.name.clone())
            }
        };
        let Some(about) = about else {
            let remember = ToldFact { scope: self.whose.scope, ..self.fact.clone() };
            return Ok(TellOutcome { person: None, added: None, fact: remember.run(tx).await? });
        };
        let (name, added) = match self.whose.person(tx, &about).await {
            Ok(person) => (person.name, None),
            Err(PeopleError::Unknown { near, .. }) if self.adds => (about, Some(near)),
            // What is told in private about somebody whom all know stays private.
            Err(PeopleError::Elsewhere { name, .. }) => (name, Some(Vec::new())),
            Err(error) => return Err(error),
        };
        let person = self.person(tx, name, added.is_some()).await?;
        let key = keys::in_scope(&person, &self.fact.key);
        let remember = ToldFact { scope: self.whose.scope, person: Some(person.id), key, ..self.fact.clone() };
        let fact = remember.run(tx).await?;
        people::link_fact(tx, fact.fact(), person.id).await?;
        Ok(TellOutcome { person: Some(person), added, fact })
    }

    /// The person, who has a birthday from now on if that is what is told.
    async fn person(&self, tx: &mut Tx, name: String, adds: bool) -> Result<Person, PeopleError> {
        let told =
            |key: &str| keys::is_birthday(key).then(|| Birthday::parse(&self.fact.value, self.today).ok()).flatten();
        let save = |birthday: Option<Birthday>| {
            let birthday = birthday.map_or(FieldChange::Keep, FieldChange::Set);
            let details = PersonDetails { birthday, ..PersonDetails::default() };
            SavePerson { whose: self.whose.clone(), name: name.clone(), details, adds, at: self.fact.at }
        };
        let person = save(told(&self.fact.key)).save(tx).await?.person;
        // "Anna's birthday", where the key names her.
        match told(keys::key_without_owner(&person, &self.fact.key)) {
            Some(birthday) if person.birthday != Some(birthday) => Ok(save(Some(birthday)).save(tx).await?.person),
            _ => Ok(person),
        }
    }
}

/// Forgets what is known of somebody under a key, and what was.
#[derive(Debug, Clone)]
pub struct ForgetPersonFact {
    pub whose: ChangeContext,
    /// About whom.
    pub name: String,
    pub key: String,
}

impl ForgetPersonFact {
    /// Of whom something was forgotten.
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<Option<Person>, PeopleError>, StoreError> {
        split_store_error(self.forget(tx).await)
    }

    async fn forget(&self, tx: &mut Tx) -> Result<Option<Person>, PeopleError> {
        let person = self.whose.person(tx, &self.name).await?;
        let wanted = fold(keys::key_without_owner(&person, &self.key));
        self.whose.may_delete(tx, &person, Some(&self.key)).await?;
        let facts = people::all_facts(tx, person.id).await?;
        let is_meant = |fact: &KeyedFact| fold(keys::key_without_owner(&person, &fact.key)) == wanted;
        let meant: Vec<KeyedFact> = facts.into_iter().filter(is_meant).collect();
        for fact in &meant {
            ForgetItem::Fact(fact.id).run(tx).await?;
        }
        Ok((!meant.is_empty()).then_some(person))
    }
}

/// Removes somebody, with all that is known of them.
#[derive(Debug, Clone)]
pub struct RemovePerson {
    pub whose: ChangeContext,
    pub name: String,
}

impl RemovePerson {
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<Person, PeopleError>, StoreError> {
        split_store_error(self.remove(tx).await)
    }

    async fn remove(&self, tx: &mut Tx) -> Result<Person, PeopleError> {
        let person = self.whose.person(tx, &self.name).await?;
        self.whose.may_delete(tx, &person, None).await?;
        ForgetItem::Person(person.id).run(tx).await?;
        Ok(person)
    }
}
