//! Two who turn out to be one person.

use jiff::Timestamp;

use crate::people::birthday::Birthday;
use crate::people::change::{ChangeContext, move_facts, store};
use crate::people::names::fold;
use crate::people::{IDENTITIES_MAX, Identity, PeopleError, Person, split_store_error};
use hob_core::domain::ids::UserId;
use hob_store::error::StoreError;
use hob_store::{Tx, memory_views, millis, people};

/// Makes two people one: what one is known by and what is known of them is the other's now. Once more changes nothing.
#[derive(Debug, Clone)]
pub struct MergePeople {
    pub whose: ChangeContext,
    /// Who goes.
    pub from: String,
    /// Who stays.
    pub into: String,
    pub at: Timestamp,
}

impl MergePeople {
    pub async fn run(&self, tx: &mut Tx) -> Result<Result<Person, PeopleError>, StoreError> {
        split_store_error(self.merge(tx).await)
    }

    async fn merge(&self, tx: &mut Tx) -> Result<Person, PeopleError> {
        let from = self.whose.person(tx, &self.from).await?;
        let into = self.whose.person(tx, &self.into).await?;
        if from.id == into.id {
            return Ok(into);
        }
        let both = join(&from, &into)?;
        people::move_identities(tx, from.id, into.id).await?;
        move_facts(tx, &from, &into, millis(self.at)).await?;
        memory_views::delete_person(tx, from.id).await?;
        store(tx, &into, &both, self.at).await?;
        Ok(both)
    }
}

/// Two as one; what is known of `into` goes before.
pub(super) fn join(from: &Person, into: &Person) -> Result<Person, PeopleError> {
    let apart = |why: String| PeopleError::Apart { from: from.name.clone(), into: into.name.clone(), why };
    let birthday = join_birthdays(from.birthday, into.birthday).map_err(apart)?;
    let user = join_users(from, into).map_err(apart)?;
    let mut identities = into.identities.clone();
    let old_name = Identity { kind: Identity::NAME.to_owned(), value: from.name.clone() };
    for identity in from.identities.iter().chain([&old_name]) {
        let same = |known: &Identity| known.kind == identity.kind && fold(&known.value) == fold(&identity.value);
        let is_name = identity.kind == Identity::NAME && fold(&identity.value) == fold(&into.name);
        if !is_name && !identities.iter().any(same) {
            identities.push(identity.clone());
        }
    }
    if identities.len() > IDENTITIES_MAX {
        return Err(PeopleError::TooManyIdentities);
    }
    let relation = into.relation.clone().or_else(|| from.relation.clone());
    Ok(Person { relation, birthday, user, identities, ..into.clone() })
}

/// The birthday that tells more, unless they are of two days.
fn join_birthdays(from: Option<Birthday>, into: Option<Birthday>) -> Result<Option<Birthday>, String> {
    let (Some(one), Some(other)) = (from, into) else { return Ok(into.or(from)) };
    let joined = other.joined(one);
    let differ = || format!("one was born on {}, the other on {}", other.in_words(), one.in_words());
    joined.map(Some).ok_or_else(differ)
}

fn join_users(from: &Person, into: &Person) -> Result<Option<(UserId, String)>, String> {
    match (&from.user, &into.user) {
        (Some((one, first)), Some((other, second))) if one != other => {
            Err(format!("one is Hob's user {second}, the other {first}"))
        }
        (one, other) => Ok(other.clone().or_else(|| one.clone())),
    }
}
