//! What is done in the mailbox beside the watch: files are fetched, what was sent is put away and looked for.

use tokio::sync::Mutex;

use crate::channel::email::Email;
use crate::channel::email::command::{fetch, run, search};
use crate::channel::email::connect::{ImapSession, MailboxError, connect, open, within};
use crate::channel::email::part::{Handle, Spot};
use crate::domain::channel::FetchError;
use crate::domain::inbound::Attachment;

/// The connection for it, kept while it works.
#[derive(Default)]
pub(super) struct Beside(Mutex<Option<ImapSession>>);

impl Beside {
    /// Fetches a file of a letter.
    pub(super) async fn fetch(
        &self,
        email: &Email,
        attachment: &Attachment,
        bytes_max: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let Some((handle, spot)) = Handle::decode(&attachment.handle) else {
            return Err(FetchError("its place in the letter cannot be read".to_owned()));
        };
        let too_big = || FetchError(format!("it is larger than {} MB", bytes_max >> 20));
        if attachment.bytes.is_some_and(|bytes| bytes > bytes_max) {
            return Err(too_big());
        }
        // Base64 makes four bytes of three, and breaks lines.
        let raw_max = bytes_max.saturating_mul(3) / 2 + 4_096;
        let raw = self.part(email, (&handle, spot), raw_max).await.map_err(|error| FetchError(error.to_string()))?;
        let raw = raw.ok_or_else(|| FetchError("the letter is not in the mailbox any more".to_owned()))?;
        if raw.len() as u64 >= raw_max {
            return Err(too_big());
        }
        let bytes = handle.open(raw).ok_or_else(|| FetchError("it is damaged".to_owned()))?;
        if bytes.len() as u64 > bytes_max { Err(too_big()) } else { Ok(bytes) }
    }

    async fn part(
        &self,
        email: &Email,
        (handle, spot): (&Handle, Spot),
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, MailboxError> {
        let mut session = self.session(email).await?;
        let work = part_of(&mut session, &email.settings.folder, (handle, spot), bytes_max);
        let done = within(email.settings.pace.command_deadline, work).await?;
        self.keep(session, done).await
    }

    /// Puts what was sent away.
    pub(super) async fn put(&self, email: &Email, folder: &str, letter: &[u8]) -> Result<(), MailboxError> {
        let mut session = self.session(email).await?;
        let work = session.append(folder, Some("(\\Seen)"), None, letter);
        let done = within(email.settings.pace.command_deadline, work).await?;
        self.keep(session, done.map_err(MailboxError::from)).await
    }

    /// Whether a letter with this Message-ID was put away.
    pub(super) async fn has(&self, email: &Email, folder: &str, id: &str) -> Result<bool, MailboxError> {
        let mut session = self.session(email).await?;
        let done = within(email.settings.pace.command_deadline, has_letter(&mut session, folder, id)).await?;
        self.keep(session, done).await
    }

    /// The connection that is there, if it still works; or a new one.
    async fn session(&self, email: &Email) -> Result<ImapSession, MailboxError> {
        let kept = self.0.lock().await.take();
        if let Some(mut session) = kept
            && let Ok(Ok(())) = within(email.settings.pace.command_deadline, run(&mut session, "NOOP")).await
        {
            return Ok(session);
        }
        connect(&email.settings, &email.tls).await
    }

    /// Keeps the connection for the next time, unless it failed.
    async fn keep<T>(&self, session: ImapSession, done: Result<T, MailboxError>) -> Result<T, MailboxError> {
        if matches!(done, Ok(_) | Err(MailboxError::No(_))) {
            *self.0.lock().await = Some(session);
        }
        done
    }
}

async fn part_of(
    session: &mut ImapSession,
    folder: &str,
    (handle, spot): (&Handle, Spot),
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, MailboxError> {
    let (_, validity) = open(session, folder, false).await?;
    if validity != spot.validity {
        return Ok(None);
    }
    let command = format!("UID FETCH {} (UID BODY.PEEK[{}]<0.{bytes_max}>)", spot.uid, handle.section);
    let shown = fetch(session, &command).await?;
    Ok(shown.into_iter().filter(|shown| shown.uid == spot.uid).find_map(|shown| shown.content))
}

async fn has_letter(session: &mut ImapSession, folder: &str, id: &str) -> Result<bool, MailboxError> {
    open(session, folder, false).await?;
    Ok(!search(session, &format!("HEADER Message-ID \"{id}\"")).await?.uids.is_empty())
}
