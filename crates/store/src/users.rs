//! People and their identities on the platforms.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::UserId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::principal::Role;

/// How a platform names somebody who is let in.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    pub channel: ChannelKind,
    /// Hob's account there.
    pub account: &'a str,
    /// The platform's id of the person.
    pub external_id: &'a str,
    pub name: &'a str,
    /// What the config lets them do.
    pub role: Role,
    /// The other names of the same person (row C1): the platform, and its id where it has several people.
    pub others: Vec<(ChannelKind, Option<String>)>,
}

/// The user behind an identity; the role follows the config. A new one is made, unless the same person has another name by
/// which they are known already.
pub async fn ensure(tx: &mut Tx, identity: &Identity<'_>, now: Timestamp) -> Result<UserId, StoreError> {
    let channel = identity.channel.as_str();
    let known = sql::query_as!(
        KnownUser,
        r#"SELECT u.id AS "id!: UserId", u.role, u.name FROM identities i JOIN users u ON u.id = i.user_id
           WHERE i.channel = $1 AND i.account = $2 AND i.external_id = $3"#,
        channel,
        identity.account,
        identity.external_id
    )
    .fetch_optional(&mut *tx)
    .await?;
    settle(tx, identity, known, now).await
}

/// Somebody who has spoken before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownUser {
    pub id: UserId,
    /// What they might the last time.
    pub role: String,
    /// How they were called then.
    pub name: String,
}

/// The same, where it was looked up already who is `known` by that identity.
pub async fn settle(
    tx: &mut Tx,
    identity: &Identity<'_>,
    known: Option<KnownUser>,
    now: Timestamp,
) -> Result<UserId, StoreError> {
    let role = identity.role.as_str();
    let same = same_person(tx, &identity.others).await?;
    if let Some(user) = known {
        // Two that are said to be one: from now on the one who was known first.
        if let Some(first) = same.filter(|same| same.0 < user.id.0) {
            link(tx, identity, first).await?;
            return Ok(first);
        }
        if user.role != role || user.name != identity.name {
            sql::query!("UPDATE users SET role = $1, name = $2 WHERE id = $3", role, identity.name, user.id)
                .execute(&mut *tx)
                .await?;
        }
        return Ok(user.id);
    }
    if let Some(user) = same {
        link(tx, identity, user).await?;
        return Ok(user);
    }
    let now = millis(now);
    let id = sql::query_scalar!(
        r#"INSERT INTO users (name, role, created_at) VALUES ($1, $2, $3) RETURNING id AS "id!: UserId""#,
        identity.name,
        role,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    link(tx, identity, id).await?;
    Ok(id)
}

/// The user whom one of these names belongs to, the first that was known.
async fn same_person(tx: &mut Tx, names: &[(ChannelKind, Option<String>)]) -> Result<Option<UserId>, StoreError> {
    let mut first: Option<UserId> = None;
    for (channel, external_id) in names {
        let channel = channel.as_str();
        let user = sql::query_scalar!(
            r#"SELECT min(user_id) AS "id: UserId" FROM identities
               WHERE channel = $1 AND ($2 IS NULL OR external_id = $2)"#,
            channel,
            external_id
        )
        .fetch_one(&mut *tx)
        .await?;
        first = first.into_iter().chain(user).min_by_key(|user| user.0);
    }
    Ok(first)
}

/// Makes an identity a user's, whose role and name are now those of the identity.
async fn link(tx: &mut Tx, identity: &Identity<'_>, user: UserId) -> Result<(), StoreError> {
    let (channel, role) = (identity.channel.as_str(), identity.role.as_str());
    sql::query!(
        "INSERT INTO identities (channel, account, external_id, user_id) VALUES ($1, $2, $3, $4)
         ON CONFLICT (channel, account, external_id) DO UPDATE SET user_id = excluded.user_id",
        channel,
        identity.account,
        identity.external_id,
        user
    )
    .execute(&mut *tx)
    .await?;
    sql::query!("UPDATE users SET role = $1, name = $2 WHERE id = $3", role, identity.name, user)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// The user behind an identity, if it is known.
pub async fn find(tx: &mut Tx, conversation: &Conversation, external_id: &str) -> Result<Option<UserId>, StoreError> {
    let channel = conversation.channel.as_str();
    let user = sql::query_scalar!(
        r#"SELECT user_id AS "id!: UserId" FROM identities
           WHERE channel = $1 AND account = $2 AND external_id = $3"#,
        channel,
        conversation.account,
        external_id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(user)
}

/// A name of somebody on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformName {
    pub channel: String,
    /// Hob's account there.
    pub account: String,
    /// The platform's id of the person.
    pub external_id: String,
}

/// All names of somebody.
pub async fn all_names(tx: &mut Tx, user: UserId) -> Result<Vec<PlatformName>, StoreError> {
    let names =
        sql::query_as!(PlatformName, "SELECT channel, account, external_id FROM identities WHERE user_id = $1", user)
            .fetch_all(&mut *tx)
            .await?;
    Ok(names)
}

/// Sets what somebody may, until they speak again.
pub async fn set_role(tx: &mut Tx, user: UserId, role: Role) -> Result<(), StoreError> {
    let role = role.as_str();
    sql::query!("UPDATE users SET role = $1 WHERE id = $2", role, user).execute(&mut *tx).await?;
    Ok(())
}

/// What somebody may.
pub async fn role(tx: &mut Tx, user: UserId) -> Result<Option<Role>, StoreError> {
    let role = sql::query_scalar!(r#"SELECT role AS "role!: Role" FROM users WHERE id = $1"#, user)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(role)
}

/// How somebody is called.
pub async fn name(tx: &mut Tx, user: UserId) -> Result<Option<String>, StoreError> {
    let name = sql::query_scalar!("SELECT name FROM users WHERE id = $1", user).fetch_optional(&mut *tx).await?;
    Ok(name)
}

/// How somebody is called, and what they may.
pub async fn find_by_id(tx: &mut Tx, user: UserId) -> Result<Option<(String, Role)>, StoreError> {
    let known = sql::query!(r#"SELECT name, role AS "role!: Role" FROM users WHERE id = $1"#, user)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(known.map(|known| (known.name, known.role)))
}
