//! What Hob tells its owners unasked: each in the chat where they last talked with it by themselves; by letter, where none of
//! them hears anything there.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::intake::Router;
use crate::triggered_runs::say;
use hob_agent::projection::owner_questions::{self, LetterThread, OwnerWords};
use hob_agent::projection::write::OutgoingText;
use hob_core::domain::health::Liveness;
use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::principal::Role;
use hob_core::policy::access::AccessList;
use hob_store::error::StoreError;
use hob_store::{Tx, members, private_chats};

/// The thread of letters that tell owners something.
const THREAD: LetterThread<'_> =
    LetterThread { root: "owners@told.invalid", subject: "Something that an owner should know" };

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerNotice {
    /// What it is known by: it is said once, however often it is told.
    pub key: String,
    pub text: String,
    /// Who is there has heard it.
    pub except: Vec<Conversation>,
}

impl Router {
    /// Tells every owner. Through a platform that does not hear now nobody is told; gives how many were.
    pub async fn tell_owners(&self, telling: OwnerNotice) -> Result<usize, StoreError> {
        let health = self.delivery.health().into_iter();
        let hears = health.filter(|one| matches!(one.health.liveness, Liveness::Connecting | Liveness::Connected));
        let channels = hears.map(|one| (one.channel, one.account)).collect();
        let access = Arc::clone(&self.config().access);
        let now = self.clock.now();
        let told = self.store.write(async move |tx| tell(tx, &access, &telling, &channels, now).await).await?;
        told.iter().for_each(|session| self.delivery.wake(*session));
        Ok(told.len())
    }

    /// Says something in a conversation that nobody has asked for there.
    pub async fn tell(&self, place: Conversation, key: String, text: String) -> Result<(), StoreError> {
        let now = self.clock.now();
        let session = self.store.write(async move |tx| say(tx, &place, &key, &text, now).await).await?;
        self.delivery.wake(session);
        Ok(())
    }
}

async fn tell(
    tx: &mut Tx,
    access: &AccessList,
    telling: &OwnerNotice,
    channels: &BTreeSet<(ChannelKind, String)>,
    now: Timestamp,
) -> Result<Vec<SessionId>, StoreError> {
    let OwnerNotice { key, text, except } = telling;
    let (mut reached, mut told) = (BTreeSet::new(), Vec::new());
    let chats = private_chats::of_owners(tx).await?;
    // Who asked has heard it, wherever else they may be reached.
    for chat in &chats {
        if chat.conversation().is_some_and(|place| except.contains(&place)) {
            reached.insert(chat.user);
        }
    }
    for chat in chats {
        let Some(place) = chat.conversation() else { continue };
        let role = members::role_of(tx, access, &place, &chat.external_id).await?;
        let hears = channels.contains(&(place.channel, place.account.clone()));
        if role == Some(Role::Owner) && hears && reached.insert(chat.user) {
            told.push(say(tx, &place, &format!("{key}:{}", chat.user), text, now).await?);
        }
    }
    if reached.is_empty() && except.is_empty() {
        let accounts = channels.iter().filter(|(channel, _)| *channel == ChannelKind::Email);
        let accounts: Vec<&str> = accounts.map(|(_, account)| account.as_str()).collect();
        for context in owner_questions::owner_mailboxes(tx, access, &accounts, THREAD, now).await? {
            let key = format!("{key}:{}", context.session);
            let words = OwnerWords { key: &key, run: None, text: OutgoingText::note(text) };
            owner_questions::say_to_owner(tx, &context, words, now).await?;
            told.push(context.session);
        }
    }
    Ok(told)
}
