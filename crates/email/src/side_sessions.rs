//! What is done in the mailbox beside the watch: files are fetched, what was sent is put away and looked for.

use tokio::sync::Mutex;

use crate::Email;
use crate::command::{run, search};
use crate::connect::{ImapSession, MailboxError, open, with_deadline};
use crate::part_handle::fetch_file;
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
        let kept = self.files.lock().await.take();
        let failed = |error: MailboxError| FetchError(error.to_string());
        let mut session = working(kept, email).await.map_err(failed)?;
        let work = fetch_file(&mut session, &email.settings.folder, attachment, bytes_max);
        let done = with_deadline(email.settings.pace.command_deadline, work).await.map_err(failed)?;
        keep(&mut *self.files.lock().await, session, done).map_err(failed)?
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
    email.connect().await
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
