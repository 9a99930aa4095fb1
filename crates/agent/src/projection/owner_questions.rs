//! What only an owner may decide is put before the owners where they talk with Hob by themselves: whoever asked for it is
//! perhaps alone with Hob. Where they can only be written to, they get a letter.
//!
//! Start at [`owner_inboxes`].

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::projection::question_attachment;
use crate::projection::write::{OutboxTarget, OutgoingText, RunRowTarget, queue};
use hob_core::domain::email_envelope::{Envelope, Mailbox};
use hob_core::domain::ids::{FileId, RunId, SessionId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Choice, Destination};
use hob_core::domain::principal::Role;
use hob_core::policy::access::AccessList;
use hob_store::error::StoreError;
use hob_store::{Tx, members, outbox, private_chats, quarantined_mail, sessions};

/// Where owners read what Hob says to them, and nobody else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerInbox {
    pub session: SessionId,
    pub conversation: Conversation,
    /// To whom a letter to it goes; none: it is an owner's own chat.
    pub envelope: Option<String>,
}

/// What owners are told or asked.
#[derive(Debug, Clone, Copy)]
pub struct OwnerMatter<'a> {
    /// Where it comes from: there it is said already.
    pub here: &'a Conversation,
    /// The thread of a letter about it.
    pub thread: LetterThread<'a>,
}

/// A thread of letters that Hob begins.
#[derive(Debug, Clone, Copy)]
pub struct LetterThread<'a> {
    /// The Message-ID of its root.
    pub root: &'a str,
    pub subject: &'a str,
}

/// Words to owners, which are queued once.
pub struct OwnerWords<'a> {
    /// By which they are known.
    pub key: &'a str,
    /// Whose they are; none: no run's.
    pub run: Option<RunId>,
    pub text: OutgoingText<'a>,
}

/// Where owners can be told something, but for where it comes from.
///
/// These are the private chats in which they have talked with Hob before. A terminal is none: nobody may sit there, nor before the
/// page. Where no owner has a chat on a platform, they get a letter.
pub async fn owner_inboxes(
    tx: &mut Tx,
    access: &AccessList,
    matter: OwnerMatter<'_>,
    now: Timestamp,
) -> Result<Vec<OwnerInbox>, StoreError> {
    let (mut inboxes, mut is_reached): (Vec<OwnerInbox>, bool) = (Vec::new(), false);
    for chat in private_chats::of_owners(tx).await? {
        let place = chat.conversation().filter(|place| place.channel != ChannelKind::Terminal);
        let Some(conversation) = place.filter(Conversation::is_private) else { continue };
        // Who is none any more may not have spoken since.
        if members::role_of(tx, access, &conversation, &chat.external_id).await? != Some(Role::Owner) {
            continue;
        }
        is_reached |= access.has_door(&conversation);
        if conversation == *matter.here {
            continue;
        }
        let session = sessions::find_by_key(tx, &conversation.session_key().0).await?.map(|session| session.id);
        // One chat may be an owner's under two names.
        let new = session.filter(|session| inboxes.iter().all(|inbox| inbox.session != *session));
        inboxes.extend(new.map(|session| OwnerInbox { session, conversation, envelope: None }));
    }
    if !is_reached {
        let here = Some(matter.here).filter(|here| here.channel == ChannelKind::Email);
        let all = access.doors.keys().filter(|(channel, _)| *channel == ChannelKind::Email);
        let own = here.map(|here| here.account.as_str());
        let others = all.map(|(_, account)| account.as_str()).filter(|account| Some(*account) != own);
        let accounts: Vec<&str> = own.into_iter().chain(others).collect();
        inboxes.extend(owner_mailboxes(tx, access, &accounts, matter.thread, now).await?);
    }
    if inboxes.is_empty() && !is_reached {
        tracing::warn!(about = matter.thread.subject, "something is for owners to decide, and none can be asked");
    }
    Ok(inboxes)
}

/// A letter to owners in a thread of its own, which nobody else is to read.
///
/// It goes from each of these accounts to those who have none yet. What is answered to it is believed as any other letter of theirs is.
pub async fn owner_mailboxes(
    tx: &mut Tx,
    access: &AccessList,
    accounts: &[&str],
    thread: LetterThread<'_>,
    now: Timestamp,
) -> Result<Vec<OwnerInbox>, StoreError> {
    let (mut inboxes, mut written) = (Vec::new(), BTreeSet::new());
    for account in accounts {
        let (channel, account) = (ChannelKind::Email, (*account).to_owned());
        let named =
            access.doors.get(&(channel, account.clone())).into_iter().flat_map(|door| door.roles.keys().cloned());
        let mut names: BTreeSet<String> = named.collect();
        names.extend(quarantined_mail::owners(tx, &account).await?);
        let conversation = Conversation { channel, account, chat: thread.root.to_owned(), thread: None };
        let mut to = Vec::new();
        // Whom nobody vouches for has an address that is none.
        for address in names.into_iter().filter(|name| name.contains('@')) {
            let role = members::role_of(tx, access, &conversation, &address).await?;
            if role == Some(Role::Owner) && written.insert(address.clone()) {
                to.push(Mailbox { name: None, address });
            }
        }
        let envelope = Envelope { subject: thread.subject.to_owned(), to, ..Envelope::default() };
        let Some(encoded) = envelope.encode().filter(|_| !envelope.to.is_empty()) else { continue };
        let session = sessions::ensure(tx, &conversation.session_key().0, channel, now).await?.id;
        inboxes.push(OwnerInbox { session, conversation, envelope: Some(encoded) });
    }
    Ok(inboxes)
}

/// Says something at a desk.
pub async fn say_to_owner(
    tx: &mut Tx,
    inbox: &OwnerInbox,
    words: OwnerWords<'_>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let destination = Destination { conversation: inbox.conversation.clone(), reply_to: None };
    let place = OutboxTarget { session: inbox.session, run: words.run, destination: &destination, at, takes: false };
    for key in queue(tx, &place, words.key, words.text).await?.keys {
        address(tx, inbox, &key).await?;
    }
    Ok(())
}

/// A letter goes to those whom its desk is for.
async fn address(tx: &mut Tx, inbox: &OwnerInbox, key: &str) -> Result<(), StoreError> {
    if let Some(envelope) = &inbox.envelope {
        quarantined_mail::set_envelope(tx, key, envelope).await?;
    }
    Ok(())
}

/// The thread of letters in which a run's question is put before owners.
///
/// Its name has a part that nobody can guess. A letter says itself to which thread it belongs, and an owner's answer to somebody
/// else's letter must not be one to a question that they have not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedThread {
    pub run: RunId,
    pub question: u32,
}

/// What is behind its numbers.
const ASKED: &str = "@asked.invalid";

impl AskedThread {
    fn root(self, secret: &str) -> String {
        format!("run-{}-{}-{secret}{ASKED}", self.run, self.question)
    }

    /// The one that this place claims to be: whether Hob has asked there, [`AskedThread::choices_asked_in`] says.
    pub fn of(place: &Conversation) -> Option<Self> {
        let name = place.chat.strip_suffix(ASKED).filter(|_| place.channel == ChannelKind::Email)?;
        let mut parts = name.strip_prefix("run-")?.splitn(3, '-');
        let (run, question, _secret) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { run: RunId(run.parse().ok()?), question: question.parse().ok()? })
    }

    /// What could be chosen where it was asked in this session, which has the whole name; none: it was not.
    pub async fn choices_asked_in(self, tx: &mut Tx, session: SessionId) -> Result<Option<Vec<Choice>>, StoreError> {
        let asked = outbox::queries::questions(tx, self.run, Some(self.question)).await?;
        Ok(asked.into_iter().find(|chunk| chunk.session == session).map(|chunk| chunk.choices))
    }
}

pub(super) struct OwnerQuestion<'a> {
    /// The event's number.
    pub(super) seq: i64,
    /// The question's number.
    pub(super) question: u32,
    /// Who asked for what it is about.
    pub(super) who: &'a str,
    /// What its words leave out.
    pub(super) file: Option<FileId>,
}

/// Puts a question before the owners; gives the sessions in which that is said.
pub(super) async fn ask(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    access: &AccessList,
    asking: OwnerQuestion<'_>,
    words: OutgoingText<'_>,
) -> Result<Vec<SessionId>, StoreError> {
    let OwnerQuestion { seq, question, who, file } = asking;
    let run = target.key.run;
    let text = format!("{who} asks me for this elsewhere, and only an owner can decide.\n{}", words.text);
    let thread = AskedThread { run, question }.root(&quarantined_mail::thread_secret(tx).await?);
    let subject = format!("May I do what {who} asks for?");
    let matter = OwnerMatter {
        here: &target.destination.conversation,
        thread: LetterThread { root: &thread, subject: &subject },
    };
    let mut told = Vec::new();
    for inbox in owner_inboxes(tx, access, matter, target.at).await? {
        let key = format!("run:{run}:{seq}:owner:{}", inbox.session);
        if let Some(file) = file {
            let destination = Destination { conversation: inbox.conversation.clone(), reply_to: None };
            let there = RunRowTarget {
                key: &target.key.of(inbox.session),
                home: inbox.session,
                destination: &destination,
                at: target.at,
            };
            let key = format!("{key}:file");
            question_attachment::send(tx, &there, &key, file).await?;
            address(tx, &inbox, &key).await?;
        }
        let words = OwnerWords { key: &key, run: Some(run), text: OutgoingText { text: &text, ..words } };
        say_to_owner(tx, &inbox, words, target.at).await?;
        told.push(inbox.session);
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_a_thread_tells_which_question_is_answered_there() {
        let place = |channel, chat: &str| {
            let (account, chat) = ("work".to_owned(), chat.to_owned());
            Conversation { channel, account, chat, thread: None }
        };
        let thread = AskedThread { run: RunId(7), question: 2 };
        let root = thread.root("s3cret");
        assert_eq!(AskedThread::of(&place(ChannelKind::Email, &root)), Some(thread));
        assert_eq!(AskedThread::of(&place(ChannelKind::Telegram, &root)), None);
        for chat in ["7@held.invalid", "run-7-1@asked.invalid", "run-x-1-s@asked.invalid", "run-7-1-s@asked.example"] {
            assert_eq!(AskedThread::of(&place(ChannelKind::Email, chat)), None, "{chat}");
        }
    }
}
