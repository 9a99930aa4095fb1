//! People of whom something is known: by name and by what else they are known, with birthdays and facts.
//!
//! Never: a person of one scope shown, changed or joined with one of another.
//! Start at [`Person`], then [`change`].

pub mod birthday;
pub mod change;
pub mod keys;
pub mod merge;
pub(crate) mod names;
#[cfg(test)]
mod tests;

use jiff::Timestamp;

use crate::people::birthday::{Birthday, BirthdayError};
use crate::people::names::{NameMatch, find, mentioned};
use hob_core::domain::ids::{PersonId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::text::one_line;
use hob_store::error::StoreError;
use hob_store::people::{FactAbout, PersonRow};
use hob_store::{Tx, millis, people};

/// The most people in a scope.
pub const PEOPLE_MAX: usize = 1_000;
/// The most other names and addresses of one person.
pub(crate) const IDENTITIES_MAX: usize = 20;
/// The longest name, relation, or other name, in characters.
pub const NAME_CHARS_MAX: usize = 100;
/// The most facts that are shown of one person.
const FACTS_MAX: i64 = 50;

/// Somebody of whom something is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: PersonId,
    /// Who knows of them.
    pub scope: Scope,
    /// How they are called: once in a scope.
    pub name: String,
    /// Who they are to those: `sister`, `plumber`.
    pub relation: Option<String>,
    /// When they were born.
    pub birthday: Option<Birthday>,
    /// The user of Hob who this is, and how that user is called.
    pub user: Option<(UserId, String)>,
    /// By what else they are known.
    pub identities: Vec<Identity>,
}

/// Another name, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// [`Identity::NAME`], `email`, `telegram`, `phone` …
    pub kind: String,
    /// The name or address.
    pub value: String,
}

/// What keeps something about people from being done.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// Nobody is called so.
    #[error("Nobody called {name:?} is known.{}", near_names(near))]
    Unknown {
        /// The words.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    #[error("{name:?} may be {}: say which by name.", who.join(" or "))]
    Several {
        /// The words.
        name: String,
        /// Who could be meant.
        who: Vec<String>,
    },
    /// They are kept where the change was not meant for.
    #[error("{name} is kept {}: to change that, set `for` to {:?}.", scope_text(*scope), scope_word(*scope))]
    Elsewhere { name: String, scope: Scope },
    /// The name is somebody else's.
    #[error(
        "There is another {name} already: if they are one person, merge them; if not, choose a name that tells them apart."
    )]
    Taken { name: String },
    /// Too many are known.
    #[error("There are {PEOPLE_MAX} people already: remove some first.")]
    TooMany,
    /// One has too many names.
    #[error("Nobody may have more than {IDENTITIES_MAX} other names and addresses: drop some first.")]
    TooManyIdentities,
    /// A text is empty or too long.
    #[error("{what} needs 1 to {NAME_CHARS_MAX} characters.")]
    Length { what: &'static str },
    /// It is not a birthday.
    #[error(transparent)]
    Birthday(#[from] BirthdayError),
    /// No user of Hob is called so.
    #[error("No user of Hob is called {name:?}. There are: {}.", known.join(", "))]
    NoUser {
        name: String,
        /// The users.
        known: Vec<String>,
    },
    /// What others told is theirs.
    #[error(
        "Some of what is known of {name} was told by others: only they, an admin or an owner may have it removed, in the conversation where it was told."
    )]
    Others { name: String },
    /// Two people who cannot be one.
    #[error("{into} and {from} cannot be one person as they stand: {why}. Correct one of them first.")]
    Apart {
        /// Who would go.
        from: String,
        /// Who would stay.
        into: String,
        /// What differs.
        why: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" There is {}.", near.join(", ")) }
}

fn scope_text(scope: Scope) -> &'static str {
    match scope {
        Scope::House => "for everyone",
        Scope::Person(_) => "for one person alone",
        Scope::Conversation(_) => "for this conversation",
    }
}

fn scope_word(scope: Scope) -> &'static str {
    if scope == Scope::House { "everyone" } else { "me" }
}

/// What a statement gives: a refusal leaves the database as it is, so that it can be committed.
fn split_store_error<T>(done: Result<T, PeopleError>) -> Result<Result<T, PeopleError>, StoreError> {
    match done {
        Err(PeopleError::Store(error)) => Err(error),
        other => Ok(other),
    }
}

impl Identity {
    /// The kind of another name.
    pub const NAME: &'static str = "name";

    /// An identity in words: `email: anna@example.org`, or without its kind where that is plain.
    ///
    /// # Errors
    /// When nothing is left of it, or too much.
    pub fn parse(text: &str) -> Result<Self, PeopleError> {
        let is_kind =
            |kind: &str| !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let (kind, value) = match text.split_once(':') {
            Some((kind, value)) if is_kind(kind.trim()) => (kind.trim().to_lowercase(), value),
            _ => (Self::kind_of(text.trim()).to_owned(), text),
        };
        let value = normalized_name(value, "an identity")?;
        Ok(Self { kind, value })
    }

    fn kind_of(value: &str) -> &'static str {
        let digits = value.chars().filter(char::is_ascii_digit).count();
        let dialled = value.chars().all(|c| c.is_ascii_digit() || " +-/()".contains(c));
        match value.split_once('@') {
            Some(("", _)) => "telegram",
            Some((_, host)) if host.contains('.') => "email",
            _ if digits >= 4 && dialled => "phone",
            _ => Self::NAME,
        }
    }
}

/// A name with single spaces.
///
/// # Errors
/// When nothing is left of it, or too much.
pub fn normalized_name(text: &str, what: &'static str) -> Result<String, PeopleError> {
    let text = one_line(text);
    let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count());
    if fits { Ok(text) } else { Err(PeopleError::Length { what }) }
}

/// Those known in these scopes, by name within each.
///
/// # Errors
/// When the database holds what Hob does not write.
pub async fn load(tx: &mut Tx, scopes: &[Scope]) -> Result<Vec<Person>, StoreError> {
    let mut all = Vec::new();
    for scope in scopes {
        let mut identities = people::identities(tx, *scope).await?;
        for row in people::list(tx, *scope, i64::try_from(PEOPLE_MAX).unwrap_or(i64::MAX)).await? {
            let (own, others) = identities.into_iter().partition(|identity| identity.person == row.id);
            identities = others;
            let own: Vec<people::IdentityRow> = own;
            let own = own.into_iter().map(|identity| Identity { kind: identity.kind, value: identity.value });
            all.push(Person { identities: own.collect(), ..person(row)? });
        }
    }
    Ok(all)
}

fn person(row: PersonRow) -> Result<Person, StoreError> {
    let PersonRow { id, scope, name, relation, birthday, user, user_name } = row;
    let read = |text: &String| {
        let what = || format!("{text:?} is not a birthday");
        Birthday::from_stored(text).ok_or_else(|| StoreError::inconsistent("people", id, what()))
    };
    let birthday = birthday.as_ref().map(read).transpose()?;
    Ok(Person { id, scope, name, relation, birthday, user: user.zip(user_name), identities: Vec::new() })
}

/// Who is wanted.
#[derive(Debug, Clone)]
pub enum PersonQuery {
    /// Everybody, without the facts about them.
    Everybody,
    /// Whom these words name.
    Called(String),
    /// Whom these words speak of.
    SpokenOf(String),
}

/// A person, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonCard {
    pub person: Person,
    /// What, the newest first.
    pub facts: Vec<FactAbout>,
}

#[derive(Debug, Clone)]
pub struct LookUpPeople {
    /// Where may be looked.
    pub scopes: Vec<Scope>,
    pub who: PersonQuery,
    /// When; what does not hold any more is left out.
    pub now: Timestamp,
}

impl LookUpPeople {
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<Vec<PersonCard>, PeopleError>, StoreError> {
        split_store_error(self.cards(tx).await)
    }

    async fn cards(&self, tx: &mut Tx) -> Result<Vec<PersonCard>, PeopleError> {
        let people = load(tx, &self.scopes).await?;
        let found = match &self.who {
            PersonQuery::Everybody => {
                return Ok(people.into_iter().map(|person| PersonCard { person, facts: Vec::new() }).collect());
            }
            PersonQuery::SpokenOf(text) => mentioned(&people, text).into_iter().cloned().collect(),
            PersonQuery::Called(name) => called(&people, &self.scopes, name)?,
        };
        let mut cards = Vec::new();
        for person in found {
            let facts = people::facts(tx, person.id, millis(self.now), FACTS_MAX).await?;
            cards.push(PersonCard { person, facts });
        }
        Ok(cards)
    }
}

/// Who is called so: one in each scope at most.
fn called(people: &[Person], scopes: &[Scope], name: &str) -> Result<Vec<Person>, PeopleError> {
    let mut found = Vec::new();
    for scope in scopes {
        let there: Vec<Person> = people.iter().filter(|person| person.scope == *scope).cloned().collect();
        match find_one(&there, name) {
            Ok(person) => found.push(person.clone()),
            Err(PeopleError::Unknown { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        find_one(people, name)?;
    }
    Ok(found)
}

/// The one of `people` whom these words name.
///
/// # Errors
/// When it is nobody or several.
fn find_one<'a>(people: &'a [Person], name: &str) -> Result<&'a Person, PeopleError> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    match find(people, name) {
        NameMatch::One(person) => Ok(person),
        NameMatch::Several(who) => {
            let who = owned(who.iter().map(|person| person.name.as_str()).collect());
            Err(PeopleError::Several { name: name.to_owned(), who })
        }
        NameMatch::Nobody(near) => Err(PeopleError::Unknown { name: name.to_owned(), near: owned(near) }),
    }
}
