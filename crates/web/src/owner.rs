//! In whose name it is done: whoever opens the page as its owner is the person who writes on it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::channel::conversation;
use crate::chat::intake::{NAME, OWNER};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_memory::embedding::Bill;
use hob_router::intake::Router;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::users::{self, Identity};

/// The page's conversation that is not a conversation: only its platform and account count.
const NOWHERE: &str = "nowhere";

/// Somebody who writes where only the owner can.
struct OwnerEndpoint {
    place: Conversation,
    external_id: &'static str,
    name: &'static str,
}

fn page_seat() -> OwnerEndpoint {
    OwnerEndpoint { place: conversation(NOWHERE), external_id: OWNER, name: NAME }
}

async fn me(
    tx: &mut Tx,
    seat: &OwnerEndpoint,
    others: &[(ChannelKind, Option<String>)],
    now: Timestamp,
) -> Result<Principal, StoreError> {
    let OwnerEndpoint { place, external_id, name } = seat;
    let user = match users::find(tx, place, external_id).await? {
        Some(user) => user,
        None => {
            let identity = Identity {
                channel: place.channel,
                account: &place.account,
                external_id,
                name,
                role: Role::Owner,
                others: others.to_vec(),
            };
            users::ensure(tx, &identity, now).await?
        }
    };
    Ok(Principal { user, name: (*name).to_owned(), role: Role::Owner, trust: Trust::Trusted })
}

/// On whose bill is what is looked for on the page; before anybody has written there, it is the house's.
pub(super) async fn bill(tx: &mut Tx) -> Result<Bill, StoreError> {
    let user = users::find(tx, &conversation(NOWHERE), OWNER).await?;
    Ok(user.map_or(Bill::House, |user| Bill::Asked { user, persona: None }))
}

/// The page's owner.
pub(super) async fn principal(router: &Router) -> Result<Principal, StoreError> {
    seated(router, page_seat()).await
}

/// Whoever sits at this machine's terminal, where they are called so.
pub async fn at_terminal(
    router: &Router,
    place: Conversation,
    external_id: &'static str,
) -> Result<Principal, StoreError> {
    seated(router, OwnerEndpoint { place, external_id, name: NAME }).await
}

async fn seated(router: &Router, seat: OwnerEndpoint) -> Result<Principal, StoreError> {
    let others = router.config().access.linked_identities(&seat.place, seat.external_id);
    let others: Vec<_> = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
    let (seat, now) = (Arc::new(seat), router.clock.now());
    router.store.write(async move |tx| me(tx, &seat, &others, now).await).await
}
