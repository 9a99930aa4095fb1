//! In whose name it is done: whoever opens the page as its owner is the person who writes on it.

use jiff::Timestamp;

use crate::chat::channel::conversation;
use crate::chat::intake::{NAME, OWNER};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_memory::embedding::Bill;
use hob_router::intake::Router;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::users::{self, Identity};

/// The page's conversation that is not a conversation: only its platform and account count.
const NOWHERE: &str = "nowhere";

async fn me(tx: &mut Tx, others: Vec<(ChannelKind, Option<String>)>, now: Timestamp) -> Result<Principal, StoreError> {
    let place = conversation(NOWHERE);
    let user = match users::find(tx, &place, OWNER).await? {
        Some(user) => user,
        None => {
            let identity = Identity {
                channel: place.channel,
                account: &place.account,
                external_id: OWNER,
                name: NAME,
                role: Role::Owner,
                others: others.to_vec(),
            };
            users::ensure(tx, &identity, now).await?
        }
    };
    Ok(Principal { user, name: NAME.to_owned(), role: Role::Owner, trust: Trust::Trusted })
}

/// On whose bill is what is looked for on the page; before anybody has written there, it is the house's.
pub(super) async fn bill(tx: &mut Tx) -> Result<Bill, StoreError> {
    let user = users::find(tx, &conversation(NOWHERE), OWNER).await?;
    Ok(user.map_or(Bill::House, |user| Bill::Asked { user, persona: None }))
}

/// The page's owner.
pub(super) async fn principal(router: &Router) -> Result<Principal, StoreError> {
    let others = router.config().access.linked_identities(&conversation(NOWHERE), OWNER);
    let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
    let now = router.clock.now();
    router.store.write(async move |tx| me(tx, others, now).await).await
}
