//! What only an owner may decide is put before the owners where they talk with Hob by themselves: whoever asked for it is
//! perhaps alone with Hob.

use crate::projection::attached;
use crate::projection::write::{Target, Words, say};
use hob_core::domain::ids::{FileId, SessionId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::Destination;
use hob_store::error::StoreError;
use hob_store::{Tx, private_chats, sessions};

/// An owner's own conversation with Hob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desk {
    /// It.
    pub session: SessionId,
    /// Where it is.
    pub conversation: Conversation,
}

/// Where owners can be told something, but for `here`: the private chats in which they have talked with Hob before. A terminal
/// is none: nobody may sit there.
///
/// # Errors
/// When the database fails.
pub async fn desks(tx: &mut Tx, here: &Conversation) -> Result<Vec<Desk>, StoreError> {
    let mut desks: Vec<Desk> = Vec::new();
    for chat in private_chats::of_owners(tx).await? {
        let place = chat.conversation().filter(|place| place.channel != ChannelKind::Terminal);
        let Some(conversation) = place.filter(|place| place.is_private() && place != here) else {
            continue;
        };
        let session = sessions::find_by_key(tx, &conversation.session_key().0).await?.map(|session| session.id);
        // One chat may be an owner's under two names.
        let new = session.filter(|session| desks.iter().all(|desk| desk.session != *session));
        desks.extend(new.map(|session| Desk { session, conversation }));
    }
    Ok(desks)
}

/// A question for the owners.
pub(super) struct Asking<'a> {
    /// The event's number.
    pub(super) seq: i64,
    /// Who asked for what it is about.
    pub(super) who: &'a str,
    /// What its words leave out.
    pub(super) file: Option<FileId>,
}

/// Puts a question before the owners.
pub(super) async fn ask(
    tx: &mut Tx,
    target: &Target<'_>,
    asking: Asking<'_>,
    words: Words<'_>,
) -> Result<(), StoreError> {
    let Asking { seq, who, file } = asking;
    let run = target.key.run;
    let text = format!("{who} asks me for this elsewhere, and only an owner can decide.\n{}", words.text);
    for desk in desks(tx, &target.destination.conversation).await? {
        let key = target.key.of(desk.session);
        let destination = Destination { conversation: desk.conversation, reply_to: None };
        let there = Target { key: &key, home: desk.session, destination: &destination, at: target.at };
        if let Some(file) = file {
            attached::send(tx, &there, &format!("run:{run}:{seq}:owner:{}:file", desk.session), file).await?;
        }
        say(tx, &there, &format!("run:{run}:{seq}:owner:{}", desk.session), Words { text: &text, ..words }).await?;
    }
    Ok(())
}
