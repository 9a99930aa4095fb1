//! People and their identities on the platforms.

use jiff::Timestamp;

use crate::domain::ids::UserId;
use crate::domain::inbound::{ChannelKind, Conversation};
use crate::domain::principal::Role;
use crate::store::error::StoreError;
use crate::store::{Tx, millis};

/// How a platform names somebody who is let in.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    /// The platform.
    pub channel: ChannelKind,
    /// Hob's account there.
    pub account: &'a str,
    /// The platform's id of the person.
    pub external_id: &'a str,
    /// How they are called.
    pub name: &'a str,
    /// What the config lets them do.
    pub role: Role,
}

/// The user behind an identity; a new one is made, and the role follows the config.
///
/// # Errors
/// When the database fails.
pub async fn ensure(tx: &mut Tx, identity: &Identity<'_>, now: Timestamp) -> Result<UserId, StoreError> {
    let channel = identity.channel.as_str();
    let role = role_name(identity.role);
    let known = sqlx::query!(
        r#"SELECT u.id AS "id!: UserId", u.role, u.name FROM identities i JOIN users u ON u.id = i.user_id
           WHERE i.channel = $1 AND i.account = $2 AND i.external_id = $3"#,
        channel,
        identity.account,
        identity.external_id
    )
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(user) = known {
        if user.role != role || user.name != identity.name {
            sqlx::query!("UPDATE users SET role = $1, name = $2 WHERE id = $3", role, identity.name, user.id)
                .execute(&mut *tx)
                .await?;
        }
        return Ok(user.id);
    }
    let now = millis(now);
    let id = sqlx::query_scalar!(
        r#"INSERT INTO users (name, role, created_at) VALUES ($1, $2, $3) RETURNING id AS "id!: UserId""#,
        identity.name,
        role,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query!(
        "INSERT INTO identities (channel, account, external_id, user_id) VALUES ($1, $2, $3, $4)",
        channel,
        identity.account,
        identity.external_id,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(id)
}

/// The user behind an identity, if it is known.
///
/// # Errors
/// When the database fails.
pub async fn find(tx: &mut Tx, conversation: &Conversation, external_id: &str) -> Result<Option<UserId>, StoreError> {
    let channel = conversation.channel.as_str();
    let user = sqlx::query_scalar!(
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

/// How somebody is called.
///
/// # Errors
/// When the database fails.
pub async fn name(tx: &mut Tx, user: UserId) -> Result<Option<String>, StoreError> {
    let name = sqlx::query_scalar!("SELECT name FROM users WHERE id = $1", user).fetch_optional(&mut *tx).await?;
    Ok(name)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Guest => "guest",
        Role::User => "user",
        Role::Admin => "admin",
        Role::Owner => "owner",
    }
}
