//! In whose name it is done: whoever opens the page as its owner is the person who writes on it.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::channel::conversation;
use crate::chat::hand_in::{NAME, OWNER};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_router::intake::Router;
use hob_store::error::StoreError;
use hob_store::users::{self, Identity};
use hob_store::{Statement, Tx};

/// The page's conversation that is no conversation: only its platform and account count.
const NOWHERE: &str = "nowhere";

struct Me {
    others: Vec<(ChannelKind, Option<String>)>,
    now: Timestamp,
}

#[async_trait]
impl Statement for Me {
    type Output = Principal;

    async fn run(&self, tx: &mut Tx) -> Result<Principal, StoreError> {
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
                    others: self.others.clone(),
                };
                users::ensure(tx, &identity, self.now).await?
            }
        };
        Ok(Principal { user, name: NAME.to_owned(), role: Role::Owner, trust: Trust::Trusted })
    }
}

/// The page's owner.
pub(super) async fn principal(router: &Router) -> Result<Principal, StoreError> {
    let others = router.terms().access.others_of(&conversation(NOWHERE), OWNER);
    let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
    router.store.write(Me { others, now: router.clock.now() }).await
}
