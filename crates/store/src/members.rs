//! People who were paired, beside those whom the config names.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{MemberId, UserId};
use hob_core::domain::inbound::{Conversation, Sender};
use hob_core::domain::principal::Role;
use hob_core::policy::access::AccessList;

/// Somebody who was paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    pub channel: String,
    /// Hob's account there.
    pub account: String,
    /// The platform's id of them.
    pub external_id: String,
    /// How they were called there then.
    pub name: String,
    pub role: Role,
}

/// What a sender may by having been paired.
pub async fn role(tx: &mut Tx, conversation: &Conversation, sender: &str) -> Result<Option<Role>, StoreError> {
    let channel = conversation.channel.as_str();
    let role = sql::query_scalar!(
        r#"SELECT role AS "role!: Role" FROM members WHERE channel = $1 AND account = $2 AND external_id = $3"#,
        channel,
        conversation.account,
        sender
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(role)
}

/// What a sender may: by the config or by having been paired; none: they are not let in.
pub async fn role_of(
    tx: &mut Tx,
    access: &AccessList,
    conversation: &Conversation,
    sender: &str,
) -> Result<Option<Role>, StoreError> {
    let member = role(tx, conversation, sender).await?;
    Ok(access.role_of(conversation, sender, member))
}

/// What a user may under each of their names at Hob's account on a conversation's platform; none of them: they have no name there.
pub async fn roles_of_user(
    tx: &mut Tx,
    access: &AccessList,
    conversation: &Conversation,
    user: UserId,
) -> Result<Vec<Option<Role>>, StoreError> {
    let channel = conversation.channel.as_str();
    let names = sql::query!(
        r#"SELECT i.external_id, m.role AS "role?: Role" FROM identities i LEFT JOIN members m
             ON m.channel = i.channel AND m.account = i.account AND m.external_id = i.external_id
           WHERE i.channel = $1 AND i.account = $2 AND i.user_id = $3"#,
        channel,
        conversation.account,
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(names.into_iter().map(|name| access.role_of(conversation, &name.external_id, name.role)).collect())
}

/// Lets somebody in; who was paired before has the new role.
pub async fn add(
    tx: &mut Tx,
    conversation: &Conversation,
    sender: &Sender,
    role: Role,
    now: Timestamp,
) -> Result<MemberId, StoreError> {
    let (channel, role, now) = (conversation.channel.as_str(), role.as_str(), millis(now));
    let id = sql::query_scalar!(
        r#"INSERT INTO members (channel, account, external_id, name, role, paired_at) VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (channel, account, external_id)
             DO UPDATE SET name = excluded.name, role = excluded.role, paired_at = excluded.paired_at
           RETURNING id AS "id!: MemberId""#,
        channel,
        conversation.account,
        sender.external_id,
        sender.name,
        role,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// All of them, in the order in which they came.
pub async fn list(tx: &mut Tx) -> Result<Vec<Member>, StoreError> {
    let all = sql::query_as!(
        Member,
        r#"SELECT id AS "id!: MemberId", channel, account, external_id, name, role AS "role!: Role"
           FROM members ORDER BY id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(all)
}

/// Lets somebody in no longer.
pub async fn remove(tx: &mut Tx, member: MemberId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM members WHERE id = $1", member).execute(&mut *tx).await?;
    Ok(())
}
