//! What is done in the mailbox beside the watch: files are fetched, what was sent is put away and looked for.

use tokio::sync::Mutex;

use crate::Email;
use crate::command::{fetch, run, search};
use crate::connect::{ImapSession, MailboxError, connect, open, with_deadline};
use crate::part_handle::{MailboxPosition, PartHandle};
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;

/// The connections for it, kept while they work. What was sent has one of its own, and waits its turn there: servers allow
/// only so many at once, and a file that is fetched may take long.
#[derive(Default)]
pub(super) struct SideSessions {
    files: Mutex<Option<ImapSession>>,
    sent: Mutex<Option<ImapSession>>,
}

impl SideSessions {
    /// Fetches a file of a letter.
    pub(super) async fn fetch(
        &self,
        email: &Email,
        attachment: &Attachment,
        bytes_max: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let Some((handle, spot)) = PartHandle::decode(&attachment.handle) else {
            return Err(FetchError("its place in the letter cannot be read".to_owned()));
        };
        let too_big = || FetchError(format!("it is larger than {} MB", bytes_max >> 20));
        if attachment.bytes.is_some_and(|bytes| bytes > bytes_max) {
            return Err(too_big());
        }
        // Base64 makes four bytes of three, and breaks lines.
        let raw_max = bytes_max.saturating_mul(3) / 2 + 4_096;
        let raw = self.part(email, &handle, spot, raw_max).await.map_err(|error| FetchError(error.to_string()))?;
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
        handle: &PartHandle,
        spot: MailboxPosition,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, MailboxError> {
        let kept = self.files.lock().await.take();
        let mut session = working(kept, email).await?;
        let work = part_of(&mut session, &email.settings.folder, handle, spot, bytes_max);
        let done = with_deadline(email.settings.pace.command_deadline, work).await?;
        keep(&mut *self.files.lock().await, session, done)
    }

    /// Puts what was sent away.
    pub(super) async fn append_sent(&self, email: &Email, folder: &str, letter: &[u8]) -> Result<(), MailboxError> {
        let mut turn = self.sent.lock().await;
        let mut session = working(turn.take(), email).await?;
        let work = session.append(folder, Some("(\\Seen)"), None, letter);
        let done = with_deadline(email.settings.pace.command_deadline, work).await?;
        keep(&mut turn, session, done.map_err(MailboxError::from))
    }

    /// Whether a letter with this Message-ID was put away.
    pub(super) async fn has(&self, email: &Email, folder: &str, id: &str) -> Result<bool, MailboxError> {
        let mut turn = self.sent.lock().await;
        let mut session = working(turn.take(), email).await?;
        let done = with_deadline(email.settings.pace.command_deadline, has_letter(&mut session, folder, id)).await?;
        keep(&mut turn, session, done)
    }
}

/// The connection that is there, if it still works; or a new one.
async fn working(kept: Option<ImapSession>, email: &Email) -> Result<ImapSession, MailboxError> {
    if let Some(mut session) = kept
        && let Ok(Ok(())) = with_deadline(email.settings.pace.command_deadline, run(&mut session, "NOOP")).await
    {
        return Ok(session);
    }
    connect(&email.settings, &email.tls).await
}

/// Keeps the connection for the next time, unless it failed.
fn keep<T>(
    place: &mut Option<ImapSession>,
    session: ImapSession,
    done: Result<T, MailboxError>,
) -> Result<T, MailboxError> {
    if matches!(done, Ok(_) | Err(MailboxError::No(_))) {
        *place = Some(session);
    }
    done
}

async fn part_of(
    session: &mut ImapSession,
    folder: &str,
    handle: &PartHandle,
    spot: MailboxPosition,
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;

    use super::*;
    use crate::fuzzing::settings;
    use hob_core::domain::clock::SystemClock;
    use hob_core::domain::rng::SystemRng;

    /// A mail server that finds everything fine.
    async fn served(stream: TcpStream) {
        let (read, mut write) = stream.into_split();
        let mut read = BufReader::new(read);
        write.write_all(b"* OK ready\r\n").await.unwrap();
        let mut line = String::new();
        while read.read_line(&mut line).await.unwrap() > 0 {
            let (tag, command) = line.split_once(' ').unwrap();
            if let Some((_, bytes)) = command.trim_end().strip_suffix('}').and_then(|rest| rest.rsplit_once('{')) {
                write.write_all(b"+ go on\r\n").await.unwrap();
                let mut content = vec![0; bytes.parse::<usize>().unwrap() + 2];
                read.read_exact(&mut content).await.unwrap();
            }
            write.write_all(format!("{tag} OK done\r\n").as_bytes()).await.unwrap();
            line.clear();
        }
    }

    #[tokio::test]
    async fn n14_copies_of_what_is_sent_share_one_connection() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut settings = settings();
        settings.imap.port = listener.local_addr().unwrap().port();
        let email = Email::new(settings, Arc::new(SystemClock), Arc::new(SystemRng)).unwrap();
        let connections = AtomicUsize::new(0);
        let serving = async {
            let mut all = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.fetch_add(1, Ordering::Relaxed);
                all.spawn(served(stream));
            }
        };
        let copies = futures::future::join_all((0..5).map(|_| email.beside.append_sent(&email, "Sent", b"hello")));
        tokio::select! {
            never = serving => never,
            all = copies => all.into_iter().for_each(|kept| kept.unwrap()),
        }
        assert_eq!(connections.load(Ordering::Relaxed), 1);
    }
}
