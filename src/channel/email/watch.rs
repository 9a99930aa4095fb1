//! The mailbox, watched: what lies there is handed in, oldest first, and how far that went is stored with it.
//!
//! A folder's letters have numbers that only grow (UID), as long as its UIDVALIDITY is the same. Hob's cursor is the number
//! of the last letter that was handed in or passed over; nothing else says what is new, so a letter that somebody has read
//! elsewhere comes all the same. Where the numbers are void, the letters since Hob's first day here, at most a week's, are
//! handed in again: their Message-IDs say which are known.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_imap::types::{Fetch, UnsolicitedResponse};
use futures::TryStreamExt as _;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tracing::{debug, error, info, warn};

use crate::channel::email::Email;
use crate::channel::email::connect::{ImapSession, MailboxError, connect, open, within};
use crate::channel::email::letter::{Fetched, Reading, read};
use crate::channel::email::part::Spot;
use crate::domain::channel::{Intake, IntakeError};
use crate::domain::inbound::{ChannelKind, Cursor, Inbound, Proof};
use crate::domain::waits::Waits;

/// How many letters are looked at together.
const LETTERS_AT_ONCE: usize = 100;
/// How many bytes of letters are fetched together.
const BYTES_AT_ONCE: u32 = 1 << 20;
/// So much of a letter is read that is too big to be read whole.
const BEGINNING_BYTES: u32 = 256 << 10;
/// How often a letter is tried that the server cannot show.
const TRIES_MAX: u32 = 3;
/// How long the intake may take over one letter, whatever comes with it.
const TAKE_MAX: Duration = Duration::from_secs(600);
/// How far back letters are looked through again when their numbers are void.
const AGAIN_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Why the mailbox is not watched for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    #[error(transparent)]
    NotStored(#[from] IntakeError),
}

/// What is known of a letter before it is fetched.
#[derive(Debug, Clone, Copy)]
struct Known {
    uid: u32,
    bytes: u32,
    came_at: Timestamp,
}

/// The folder's numbers, and how far they were read.
struct Folder {
    list: String,
    validity: u32,
    /// The last letter that was taken or passed over.
    position: u32,
    /// What came before is known, though its number is not.
    since: Option<Timestamp>,
}

/// The state of watching; it lives as long as the adapter runs.
pub(super) struct Watcher<'a> {
    email: &'a Email,
    intake: &'a dyn Intake,
    waits: Waits,
    /// The letter that is being fetched alone, as the server's answer could not be read, and how often it was.
    stubborn: Option<(u32, u32)>,
    /// Letters are fetched one by one.
    singly: bool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(email: &'a Email, intake: &'a dyn Intake) -> Self {
        Self { email, intake, waits: Waits::default(), stubborn: None, singly: false }
    }

    /// Watches for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        loop {
            match Box::pin(self.connected()).await {
                Ok(never) => match never {},
                Err(trouble) => self.wait_out(trouble).await,
            }
        }
    }

    /// One connection, until it is none any more.
    async fn connected(&mut self) -> Result<Infallible, Trouble> {
        let settings = &self.email.settings;
        let deadline = settings.pace.command_deadline;
        self.email.health.turned(deadline * 3);
        let mut session = connect(settings, &self.email.tls).await?;
        let capabilities = within(deadline, session.capabilities()).await?.map_err(MailboxError::from)?;
        let can_idle = capabilities.has_str("IDLE");
        let mut folder = within(deadline, self.folder(&mut session)).await??;
        self.heard();
        self.email.health.identified(&settings.address);
        info!(channel = "email", account = %settings.account, can_idle, "the mailbox {} is watched", settings.address);
        loop {
            while self.catch_up(&mut session, &mut folder).await? {}
            folder.since = None;
            self.waits.reset();
            self.singly = false;
            session = self.wait_for_news(session, can_idle).await?;
            self.heard();
        }
    }

    /// Opens the folder, and finds out from which letter on it is to be read.
    async fn folder(&self, session: &mut ImapSession) -> Result<Folder, Trouble> {
        let settings = &self.email.settings;
        let (mailbox, validity) = open(session, &settings.folder, true).await?;
        let list = format!("{};{validity}", settings.folder);
        let began_list = format!("{};began", settings.folder);
        let cursors = self.intake.cursors(ChannelKind::Email, &settings.account).await?;
        let mut folder = Folder { list, validity, position: 0, since: None };
        if let Some(position) = cursors.get(&folder.list) {
            folder.position = u32::try_from(*position).unwrap_or(0);
            return Ok(folder);
        }
        let now = self.email.clock.now();
        let began = cursors.get(&began_list).and_then(|second| Timestamp::from_second(*second).ok());
        if let Some(began) = began {
            let since = now.saturating_sub(AGAIN_MAX).unwrap_or(began).max(began);
            warn!(channel = "email", account = %settings.account, validity, "the mailbox has numbered its letters anew; those since {since} are looked through again");
            folder.since = Some(since);
            return Ok(folder);
        }
        // Hob's first day here: what lies there was not written to it.
        let next = match mailbox.uid_next {
            Some(next) => next,
            None => session
                .uid_search("ALL")
                .await
                .map_err(MailboxError::from)?
                .into_iter()
                .max()
                .map_or(1, |last| last + 1),
        };
        folder.position = next.saturating_sub(1);
        self.advance(&folder.list, i64::from(folder.position)).await?;
        self.advance(&began_list, now.as_second()).await?;
        Ok(folder)
    }

    async fn advance(&self, list: &str, position: i64) -> Result<(), IntakeError> {
        let cursor = Cursor { list: list.to_owned(), position };
        self.intake.advance(ChannelKind::Email, &self.email.settings.account, cursor).await
    }

    /// Hands in what is new; whether there was anything.
    async fn catch_up(&mut self, session: &mut ImapSession, folder: &mut Folder) -> Result<bool, Trouble> {
        let deadline = self.email.settings.pace.command_deadline;
        self.email.health.turned(deadline * 2);
        let from = folder.position.saturating_add(1);
        let query = match folder.since {
            Some(since) => format!("UID {from}:* SINCE {}", since.to_zoned(TimeZone::UTC).strftime("%d-%b-%Y")),
            None => format!("UID {from}:*"),
        };
        let found = within(deadline, session.uid_search(&query)).await?.map_err(MailboxError::from)?;
        self.heard();
        // `*` is the last letter, also where it is older than what was asked for.
        let mut new: Vec<u32> = found.into_iter().filter(|uid| *uid >= from).collect();
        new.sort_unstable();
        for uids in new.chunks(LETTERS_AT_ONCE) {
            let known = self.known(session, uids).await?;
            for letters in batches(&known, self.email.settings.letter_bytes_max, self.singly) {
                self.take_all(session, folder, letters).await?;
            }
            // Those that vanished meanwhile are done with, too.
            let last = uids.last().copied().unwrap_or(folder.position);
            if last > folder.position {
                folder.position = last;
                self.advance(&folder.list, i64::from(last)).await?;
            }
        }
        Ok(!new.is_empty())
    }

    /// Sizes and times of letters, in order.
    async fn known(&self, session: &mut ImapSession, uids: &[u32]) -> Result<Vec<Known>, Trouble> {
        let all = self.fetch(session, &set(uids), "(UID RFC822.SIZE INTERNALDATE)").await?;
        let now = self.email.clock.now();
        let known = all.iter().filter_map(|fetch| {
            let uid = fetch.uid.filter(|uid| uids.contains(uid))?;
            let came_at =
                fetch.internal_date().and_then(|date| Timestamp::from_second(date.timestamp()).ok()).unwrap_or(now);
            Some((uid, Known { uid, bytes: fetch.size.unwrap_or(0), came_at }))
        });
        let known: BTreeMap<u32, Known> = known.collect();
        Ok(known.into_values().collect())
    }

    async fn fetch(&self, session: &mut ImapSession, uids: &str, what: &str) -> Result<Vec<Fetch>, MailboxError> {
        let asked = async {
            let answers = session.uid_fetch(uids, what).await?;
            answers.try_collect::<Vec<Fetch>>().await
        };
        Ok(within(self.email.settings.pace.command_deadline, asked).await??)
    }

    /// Fetches letters together, and hands each in.
    async fn take_all(
        &mut self,
        session: &mut ImapSession,
        folder: &mut Folder,
        letters: &[Known],
    ) -> Result<(), Trouble> {
        if let [letter] = letters
            && self.stubborn.is_some_and(|(uid, tries)| uid == letter.uid && tries >= TRIES_MAX)
        {
            error!(channel = "email", uid = letter.uid, "letter {} cannot be fetched; it is passed over", letter.uid);
            (self.stubborn, self.singly) = (None, false);
            folder.position = letter.uid;
            return Ok(self.advance(&folder.list, i64::from(letter.uid)).await?);
        }
        self.email.health.turned(self.email.settings.pace.command_deadline * 2);
        let uids: Vec<u32> = letters.iter().map(|letter| letter.uid).collect();
        let is_big = letters.iter().any(|letter| letter.bytes > self.email.settings.letter_bytes_max);
        let what =
            if is_big { format!("(UID BODY.PEEK[]<0.{BEGINNING_BYTES}>)") } else { "(UID BODY.PEEK[])".to_owned() };
        let fetched = match self.fetch(session, &set(&uids), &what).await {
            Ok(fetched) => fetched,
            Err(error) => {
                self.suspect(letters, &error);
                return Err(error.into());
            }
        };
        let bodies: BTreeMap<u32, &[u8]> =
            fetched.iter().filter_map(|fetch| Some((fetch.uid?, fetch.body()?))).collect();
        let mut passed = None;
        let mut taken = Vec::new();
        for letter in letters {
            self.email.health.turned(TAKE_MAX);
            let raw = bodies.get(&letter.uid).copied();
            let is_taken = match raw.filter(|_| folder.since.is_none_or(|since| letter.came_at >= since)) {
                Some(raw) => self.take(folder, letter, raw).await?,
                None => false,
            };
            folder.position = letter.uid;
            passed = (!is_taken).then_some(letter.uid);
            taken.extend(is_taken.then_some(letter.uid));
        }
        if let Some(uid) = passed {
            self.advance(&folder.list, i64::from(uid)).await?;
        }
        (self.stubborn, self.singly) = (None, self.singly && self.stubborn.is_none());
        self.mark(session, &taken).await
    }

    /// An answer that cannot be read may be one letter's fault: the next time they come one by one.
    fn suspect(&mut self, letters: &[Known], error: &MailboxError) {
        if matches!(error, MailboxError::Refused(_)) {
            return;
        }
        self.singly = true;
        if let [letter] = letters {
            let tries = self.stubborn.filter(|(uid, _)| *uid == letter.uid).map_or(0, |(_, tries)| tries);
            // A connection that breaks is no fault of the letter, unless it does so each time.
            self.stubborn = Some((letter.uid, tries + 1));
        }
    }

    /// Hands one letter in; whether it was one for Hob.
    async fn take(&self, folder: &Folder, letter: &Known, raw: &[u8]) -> Result<bool, Trouble> {
        let spot = Spot { validity: folder.validity, uid: letter.uid };
        let fetched = Fetched { raw, bytes: u64::from(letter.bytes), spot, came_at: letter.came_at };
        let settings = &self.email.settings;
        // What strangers send must not end the watch: not even what a parser does not survive.
        let reading = std::panic::catch_unwind(AssertUnwindSafe(|| read(&fetched, settings)));
        let inbound = match reading {
            Ok(Reading::Said(inbound)) => *inbound,
            Ok(Reading::Passed { why }) => {
                info!(channel = "email", uid = letter.uid, why, "letter {} is not answered: {why}", letter.uid);
                self.email.note_passed();
                return Ok(false);
            }
            Err(_panic) => {
                error!(channel = "email", uid = letter.uid, "letter {} cannot be read; it is passed over", letter.uid);
                return Ok(false);
            }
        };
        let mut inbound = self.verified(inbound, raw).await;
        inbound.circumstances.cursor = Some(Cursor { list: folder.list.clone(), position: i64::from(letter.uid) });
        let accepted = self.intake.accept(inbound).await?;
        self.email.health.message(self.email.clock.now());
        debug!(channel = "email", uid = letter.uid, ?accepted, "letter {} handed in", letter.uid);
        Ok(true)
    }

    /// Checks the signature where no believed server has.
    async fn verified(&self, mut inbound: Inbound, raw: &[u8]) -> Inbound {
        let Some(verifier) = &self.email.verifier else { return inbound };
        let names_one = !matches!(&inbound.circumstances.proof, Proof::Nobody { why } if why.contains("several"));
        if inbound.circumstances.proof != Proof::Platform && names_one {
            let domain = inbound.sender.external_id.rsplit_once('@').map_or("", |(_, domain)| domain);
            inbound.circumstances.proof = verifier.proof(raw, domain).await;
        }
        inbound
    }

    /// Marks what was handed in as read, where that is wanted; no harm is done where it fails.
    async fn mark(&self, session: &mut ImapSession, uids: &[u32]) -> Result<(), Trouble> {
        if uids.is_empty() || !self.email.settings.mark_seen {
            return Ok(());
        }
        let marked = async {
            let answers = session.uid_store(set(uids), "+FLAGS.SILENT (\\Seen)").await?;
            answers.try_collect::<Vec<Fetch>>().await
        };
        match within(self.email.settings.pace.command_deadline, marked).await?.map_err(MailboxError::from) {
            Err(MailboxError::No(why)) => debug!(channel = "email", why, "letters cannot be marked as read"),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        Ok(())
    }

    /// Waits until the server has news, or for as long as it may be left alone.
    async fn wait_for_news(&self, mut session: ImapSession, can_idle: bool) -> Result<ImapSession, Trouble> {
        let pace = &self.email.settings.pace;
        self.email.health.turned(self.email.settings.poll.max(pace.idle_max) + pace.command_deadline * 3);
        if !can_idle {
            tokio::time::sleep(self.email.settings.poll).await;
            within(pace.command_deadline, session.noop()).await?.map_err(MailboxError::from)?;
            return Ok(session);
        }
        let unsolicited = session.unsolicited_responses.clone();
        let mut idle = session.idle();
        within(pace.command_deadline, idle.init()).await?.map_err(MailboxError::from)?;
        // What came between the last look and now was told already.
        let mut is_told = unsolicited.is_full();
        while let Ok(told) = unsolicited.try_recv() {
            is_told |= matches!(told, UnsolicitedResponse::Exists(_) | UnsolicitedResponse::Recent(_));
        }
        if !is_told {
            let (news, _awake) = idle.wait_with_timeout(pace.idle_max);
            if let Ok(news) = tokio::time::timeout(pace.idle_max, news).await {
                news.map_err(MailboxError::from)?;
            }
        }
        Ok(within(pace.command_deadline, idle.done()).await?.map_err(MailboxError::from)?)
    }

    fn heard(&self) {
        if let Some(trouble) = self.email.health.heard(self.email.clock.now()) {
            info!(channel = "email", was = %trouble, "the mailbox answers again (was: {trouble})");
        }
    }

    /// Makes the trouble visible, then waits as long as it deserves.
    async fn wait_out(&mut self, trouble: Trouble) {
        let pace = &self.email.settings.pace;
        let delay = match &trouble {
            Trouble::Mailbox(MailboxError::Refused(_)) => pace.retry_refused,
            Trouble::Mailbox(_) | Trouble::NotStored(_) => self.next_delay(),
        };
        warn!(channel = "email", account = %self.email.settings.account, %trouble, delay_ms = delay.as_millis(), "the mailbox: {trouble}; again in {delay:?}");
        match &trouble {
            Trouble::NotStored(error) => self.email.health.stuck(error.to_string()),
            Trouble::Mailbox(error) => self.email.health.troubled(error.to_string()),
        }
        self.email.health.turned(delay);
        tokio::time::sleep(delay).await;
    }

    fn next_delay(&mut self) -> Duration {
        let pace = &self.email.settings.pace;
        self.waits.next((pace.retry_min, pace.retry_max), self.email.rng.as_ref())
    }
}

/// As IMAP lists them.
fn set(uids: &[u32]) -> String {
    uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Letters that are fetched together: small ones up to a bound, large ones each alone.
fn batches(known: &[Known], whole_max: u32, singly: bool) -> Vec<&[Known]> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut bytes = 0_u32;
    for (at, letter) in known.iter().enumerate() {
        let is_full = bytes.saturating_add(letter.bytes) > BYTES_AT_ONCE || letter.bytes > whole_max || singly;
        if is_full && at > start {
            all.extend(known.get(start..at));
            (start, bytes) = (at, 0);
        }
        bytes =
            bytes.saturating_add(letter.bytes).saturating_add(if letter.bytes > whole_max { BYTES_AT_ONCE } else { 0 });
    }
    all.extend(known.get(start..).filter(|rest| !rest.is_empty()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_letters_are_fetched_alone_and_small_ones_together() {
        let letters = |sizes: &[u32]| -> Vec<Known> {
            let known =
                |(at, bytes): (usize, &u32)| Known { uid: at as u32, bytes: *bytes, came_at: Timestamp::UNIX_EPOCH };
            sizes.iter().enumerate().map(known).collect()
        };
        let lengths = |sizes: &[u32], singly| -> Vec<usize> {
            batches(&letters(sizes), 4 << 20, singly).into_iter().map(<[Known]>::len).collect()
        };
        assert_eq!(lengths(&[], false), Vec::<usize>::new());
        assert_eq!(lengths(&[10, 20, 30], false), [3]);
        assert_eq!(lengths(&[10, 20, 30], true), [1, 1, 1]);
        assert_eq!(lengths(&[1 << 20, 1, 1], false), [1, 2]);
        assert_eq!(lengths(&[1, 2 << 20, 1], false), [1, 1, 1]);
        assert_eq!(lengths(&[1, 40 << 20, 1, 1], false), [1, 1, 2]);
    }
}
