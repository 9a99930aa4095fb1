//! The mailbox, watched: what lies there is handed in, oldest first, and how far that went is stored with it.
//!
//! A folder's letters have numbers that only grow (UID), as long as its UIDVALIDITY is the same. Hob's cursor is the number
//! of the last letter that was handed in or passed over; nothing else says what is new, so a letter that somebody has read
//! elsewhere comes all the same. Where the numbers are void, the letters since Hob's first day here, at most a week's, are
//! handed in again: their Message-IDs say which are known.
//!
//! A letter that the server does not show is never taken for one that is not there. It is tried again, then in part; it is
//! passed over only after minutes, and only where it holds up others that the server does show.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::Email;
use crate::command::{FetchedItem, SearchResult, fetch, idle, run, search};
use crate::connect::{ImapSession, MailboxError, with_deadline};
use crate::folder::Folder;
use crate::ignored;
use crate::letter::{FetchedLetter, LetterOutcome, read};
use crate::part_handle::MailboxPosition;
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{Intake, IntakeError, UpdateOutcome};
use hob_core::domain::inbound::{Cursor, Inbound, SenderProof};

/// How many letters are looked at together.
const LETTERS_AT_ONCE: usize = 100;
/// How many bytes of letters are fetched together.
const BYTES_AT_ONCE: u32 = 1 << 20;
/// So much of a letter is read that is too big to be read whole.
const BEGINNING_BYTES: u32 = 256 << 10;
/// How often it is tried to fetch a letter whole; then its beginning has to do.
const TRIES_MAX: u32 = 3;
/// How long the intake may take over one letter, whatever comes with it.
const TAKE_MAX: Duration = Duration::from_secs(600);

/// Why the mailbox is not watched for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum WatchError {
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    #[error(transparent)]
    NotStored(#[from] IntakeError),
}

/// What is known of a letter before it is fetched.
#[derive(Debug, Clone, Copy)]
struct LetterInfo {
    uid: u32,
    bytes: u32,
    came_at: Timestamp,
}

/// A letter that is being fetched alone, as the server could not show it.
#[derive(Debug, Clone, Copy)]
struct FailingLetter {
    uid: u32,
    tries: u32,
    /// Since when it has been tried.
    since: Instant,
    /// Before the next try, the server has shown others.
    others_shown: bool,
    /// It was tried long enough, and failed while others did not: it is passed over.
    is_hopeless: bool,
}

/// The state of watching; it lives as long as the adapter runs.
pub(super) struct Watcher<'a> {
    email: &'a Email,
    intake: &'a dyn Intake,
    waits: Backoff,
    stubborn: Option<FailingLetter>,
    /// Letters are fetched one by one.
    singly: bool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(email: &'a Email, intake: &'a dyn Intake) -> Self {
        Self { email, intake, waits: Backoff::default(), stubborn: None, singly: false }
    }

    /// Watches for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        loop {
            match Box::pin(self.connected()).await {
                Ok(never) => match never {},
                Err(trouble) => self.back_off(trouble).await,
            }
        }
    }

    /// One connection, until it is none any more.
    async fn connected(&mut self) -> Result<Infallible, WatchError> {
        let settings = &self.email.settings;
        let deadline = settings.pace.command_deadline;
        self.email.health.turned(deadline * 3);
        let mut session = self.email.connect().await?;
        let capabilities = with_deadline(deadline, session.capabilities()).await?.map_err(MailboxError::from)?;
        let mut can_idle = capabilities.has_str("IDLE");
        let mut folder = with_deadline(deadline, Folder::open(self.email, self.intake, &mut session)).await??;
        self.mark_alive();
        self.email.health.identified(&settings.address);
        info!(channel = "email", account = %settings.account, can_idle, "the mailbox {} is watched", settings.address);
        loop {
            let is_told = self.catch_up(&mut session, &mut folder).await?;
            self.singly = false;
            let began = Instant::now();
            let waited = self.wait_for_news(&mut session, &mut can_idle, is_told).await;
            // Whoever is let in and shown the door at once must not knock every second.
            if waited.is_ok() || began.elapsed() >= settings.pace.retry_max {
                self.waits.reset();
            }
            waited?;
            self.mark_alive();
        }
    }

    /// Hands in all that is new; whether the server told of more while it was last looked.
    async fn catch_up(&mut self, session: &mut ImapSession, folder: &mut Folder) -> Result<bool, WatchError> {
        loop {
            let found = self.read_new(session, folder).await?;
            if found.uids.is_empty() && !folder.finish_batch(self.email, self.intake).await? {
                return Ok(found.is_told);
            }
        }
    }

    /// Hands in what is new, and gives what it was.
    async fn read_new(&mut self, session: &mut ImapSession, folder: &mut Folder) -> Result<SearchResult, WatchError> {
        let deadline = self.email.settings.pace.command_deadline;
        self.email.health.turned(deadline * 2);
        let mut found = with_deadline(deadline, search(session, &folder.query())).await??;
        self.mark_alive();
        // `*` is the last letter, also where it is older than what was asked for.
        found.uids.retain(|uid| *uid > folder.position);
        let new: Vec<u32> = found.uids.iter().copied().collect();
        for uids in new.chunks(LETTERS_AT_ONCE) {
            let known = self.letter_infos(session, uids).await?;
            if known.len() < uids.len() {
                info!(channel = "email", "{} letters vanished before they were read", uids.len() - known.len());
            }
            for letters in batches(&known, self.email.settings.letter_bytes_max, self.singly) {
                self.fetch_together(session, folder, letters).await?;
            }
            // Those that vanished meanwhile are done with, too.
            let last = uids.last().copied().unwrap_or(folder.position);
            if last > folder.position {
                folder.skip_letter(last, self.email, self.intake).await?;
            }
        }
        Ok(found)
    }

    /// Sizes and times of letters, in order.
    async fn letter_infos(&self, session: &mut ImapSession, uids: &[u32]) -> Result<Vec<LetterInfo>, MailboxError> {
        let mut all = match self.sizes(session, uids).await {
            // One of them may be to blame; the others are known all the same.
            Err(MailboxError::No(_)) => self.sizes_singly(session, uids).await?,
            other => other?,
        };
        let now = self.email.clock.now();
        all.retain(|shown| uids.contains(&shown.uid));
        let known = all.into_iter().map(|FetchedItem { uid, bytes, came_at, .. }| {
            (uid, LetterInfo { uid, bytes: bytes.unwrap_or(0), came_at: came_at.unwrap_or(now) })
        });
        let known: BTreeMap<u32, LetterInfo> = known.collect();
        Ok(known.into_values().collect())
    }

    async fn sizes(&self, session: &mut ImapSession, uids: &[u32]) -> Result<Vec<FetchedItem>, MailboxError> {
        self.fetch(session, &format!("UID FETCH {} (UID RFC822.SIZE INTERNALDATE)", set(uids))).await
    }

    async fn sizes_singly(&self, session: &mut ImapSession, uids: &[u32]) -> Result<Vec<FetchedItem>, MailboxError> {
        let mut all = Vec::with_capacity(uids.len());
        for uid in uids {
            match self.sizes(session, &[*uid]).await {
                Err(MailboxError::No(_)) => {
                    all.push(FetchedItem { uid: *uid, bytes: None, came_at: None, flags: Vec::new(), content: None })
                }
                other => all.extend(other?),
            }
        }
        Ok(all)
    }

    async fn fetch(&self, session: &mut ImapSession, command: &str) -> Result<Vec<FetchedItem>, MailboxError> {
        with_deadline(self.email.settings.pace.command_deadline, fetch(session, command)).await?
    }

    /// Fetches letters together, and hands each in.
    async fn fetch_together(
        &mut self,
        session: &mut ImapSession,
        folder: &mut Folder,
        letters: &[LetterInfo],
    ) -> Result<(), WatchError> {
        if let Some(uid) = self.letter_to_skip(session, letters).await? {
            error!(channel = "email", uid, "letter {uid} cannot be fetched; it is passed over");
            (self.stubborn, self.singly) = (None, false);
            return Ok(folder.skip_letter(uid, self.email, self.intake).await?);
        }
        let bodies = self.bodies(session, letters).await?;
        let mut passed = None;
        let mut taken = Vec::new();
        for letter in letters {
            self.email.health.turned(TAKE_MAX);
            let is_taken = match bodies.get(&letter.uid) {
                Some(raw) if folder.may_be_new(letter.uid, letter.came_at) => {
                    self.submit_letter(folder, letter, raw).await?
                }
                Some(_) => false,
                None => {
                    warn!(channel = "email", uid = letter.uid, "letter {} is not there any more", letter.uid);
                    false
                }
            };
            folder.position = letter.uid;
            passed = (!is_taken).then_some(letter.uid);
            taken.extend(is_taken.then_some(letter.uid));
        }
        if let Some(uid) = passed {
            folder.skip_letter(uid, self.email, self.intake).await?;
        }
        (self.stubborn, self.singly) = (None, self.singly && self.stubborn.is_none());
        self.mark(session, &taken).await
    }

    /// What stands in letters; of one that is too big, or that cannot be had whole, what it begins with.
    async fn bodies(
        &mut self,
        session: &mut ImapSession,
        letters: &[LetterInfo],
    ) -> Result<BTreeMap<u32, Vec<u8>>, MailboxError> {
        self.email.health.turned(self.email.settings.pace.command_deadline * 2);
        let uids: Vec<u32> = letters.iter().map(|letter| letter.uid).collect();
        let is_big = letters.iter().any(|letter| letter.bytes > self.email.settings.letter_bytes_max);
        let partly = is_big || self.stubborn_of(letters).is_some_and(|stubborn| stubborn.tries >= TRIES_MAX);
        let what = if partly { format!("BODY.PEEK[]<0.{BEGINNING_BYTES}>") } else { "BODY.PEEK[]".to_owned() };
        match self.fetch(session, &format!("UID FETCH {} (UID {what})", set(&uids))).await {
            Ok(shown) => Ok(shown.into_iter().filter_map(|shown| Some((shown.uid, shown.content?))).collect()),
            Err(error) => {
                self.fetch_singly_next(letters, &error);
                Err(error)
            }
        }
    }

    /// What is known against a letter that is fetched alone.
    fn stubborn_of(&self, letters: &[LetterInfo]) -> Option<FailingLetter> {
        let [letter] = letters else { return None };
        self.stubborn.filter(|stubborn| stubborn.uid == letter.uid)
    }

    /// An answer that cannot be read may be one letter's fault: the next time they come one by one.
    fn fetch_singly_next(&mut self, letters: &[LetterInfo], error: &MailboxError) {
        if matches!(error, MailboxError::Refused(_)) {
            return;
        }
        self.singly = true;
        if let [letter] = letters {
            let (uid, since) = (letter.uid, Instant::now());
            let first = FailingLetter { uid, tries: 0, since, others_shown: false, is_hopeless: false };
            let known = self.stubborn_of(letters).unwrap_or(first);
            let (tries, is_hopeless) = (known.tries + 1, known.others_shown);
            // A connection that breaks is not the fault of the letter, unless it does so each time.
            self.stubborn = Some(FailingLetter { tries, is_hopeless, others_shown: false, ..known });
        }
    }

    /// The letter that is to be passed over: not even its beginning was shown for a long time, while others were.
    async fn letter_to_skip(
        &mut self,
        session: &mut ImapSession,
        letters: &[LetterInfo],
    ) -> Result<Option<u32>, MailboxError> {
        let Some(stubborn) = self.stubborn_of(letters) else { return Ok(None) };
        if stubborn.is_hopeless {
            return Ok(Some(stubborn.uid));
        }
        if stubborn.tries > TRIES_MAX && stubborn.since.elapsed() >= self.email.settings.pace.pass_over_after {
            // It is tried once more after that: perhaps the server shows it again, too.
            let others_shown = self.shows_others(session, stubborn.uid).await?;
            self.stubborn = Some(FailingLetter { others_shown, ..stubborn });
        }
        Ok(None)
    }

    /// Whether the server shows any letter but this. One that shows none is in trouble itself: no letter is to blame, and the
    /// next one would fare no better.
    async fn shows_others(&self, session: &mut ImapSession, uid: u32) -> Result<bool, MailboxError> {
        let deadline = self.email.settings.pace.command_deadline;
        let mut others = with_deadline(deadline, search(session, "ALL")).await??.uids;
        others.remove(&uid);
        for other in [others.last(), others.first()].into_iter().flatten() {
            match self.fetch(session, &format!("UID FETCH {other} (UID BODY.PEEK[]<0.1>)")).await {
                Ok(shown) if shown.iter().any(|shown| shown.uid == *other && shown.content.is_some()) => {
                    return Ok(true);
                }
                Ok(_) | Err(MailboxError::No(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Hands one letter in; whether it was one for Hob.
    async fn submit_letter(&self, folder: &Folder, letter: &LetterInfo, raw: &[u8]) -> Result<bool, WatchError> {
        let spot = MailboxPosition { validity: folder.validity, uid: letter.uid };
        let fetched = FetchedLetter { raw, bytes: u64::from(letter.bytes), spot, came_at: letter.came_at };
        let settings = &self.email.settings;
        // What strangers send must not end the watch: not even what a parser does not survive.
        let reading = std::panic::catch_unwind(AssertUnwindSafe(|| read(&fetched, settings)));
        let inbound = match reading {
            Ok(LetterOutcome::Said(inbound)) => *inbound,
            Ok(LetterOutcome::Passed { why }) => {
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
        inbound.metadata.cursor = Some(Cursor { list: folder.list.clone(), position: i64::from(letter.uid) });
        let (sender, proof) = (inbound.sender.external_id.clone(), inbound.metadata.proof.clone());
        let accepted = self.intake.accept(inbound).await?;
        if accepted == UpdateOutcome::Ignored {
            self.ignored(letter.uid, &sender, &proof);
        }
        self.email.health.message(self.email.clock.now());
        debug!(channel = "email", uid = letter.uid, ?accepted, "letter {} handed in", letter.uid);
        Ok(true)
    }

    /// Leaves a trace of a letter that the house did not take: else nobody would find out why Hob is silent.
    fn ignored(&self, uid: u32, sender: &str, proof: &SenderProof) {
        self.email.health.ignored();
        let why = ignored::why(proof);
        if self.email.ignored.is_news(sender, &why, self.email.clock.now()) {
            info!(channel = "email", uid, sender, why, "a letter from {sender} is ignored: {why}");
        }
    }

    /// Checks the signature where no believed server has.
    async fn verified(&self, mut inbound: Inbound, raw: &[u8]) -> Inbound {
        let Some(verifier) = &self.email.verifier else { return inbound };
        let names_one = !matches!(&inbound.metadata.proof, SenderProof::Nobody { why } if why.contains("several"));
        if inbound.metadata.proof != SenderProof::Platform && names_one {
            inbound.metadata.proof = verifier.proof(raw, &inbound.sender.external_id).await;
        }
        inbound
    }

    /// Marks what was handed in as read, where that is wanted; no harm is done where it fails.
    async fn mark(&self, session: &mut ImapSession, uids: &[u32]) -> Result<(), WatchError> {
        if uids.is_empty() || !self.email.settings.mark_seen {
            return Ok(());
        }
        let command = format!("UID STORE {} +FLAGS.SILENT (\\Seen)", set(uids));
        match with_deadline(self.email.settings.pace.command_deadline, run(session, &command)).await? {
            Err(MailboxError::No(why)) => debug!(channel = "email", why, "letters cannot be marked as read"),
            other => other?,
        }
        Ok(())
    }

    /// Waits until the server has news, or for as long as it may be left alone.
    async fn wait_for_news(
        &self,
        session: &mut ImapSession,
        can_idle: &mut bool,
        is_told: bool,
    ) -> Result<(), MailboxError> {
        let (pace, poll) = (&self.email.settings.pace, self.email.settings.poll);
        self.email.health.turned(poll.max(pace.idle_max) + pace.command_deadline * 3);
        if *can_idle {
            // What came between the last look and now was told already.
            *can_idle = is_told || idle(session, pace.command_deadline, pace.idle_max).await?;
            if *can_idle {
                return Ok(());
            }
            info!(channel = "email", "the mail server offers IDLE and refuses it; it is asked every {poll:?}");
        }
        tokio::time::sleep(poll).await;
        with_deadline(pace.command_deadline, run(session, "NOOP")).await?
    }

    fn mark_alive(&self) {
        if let Some(trouble) = self.email.health.heard(self.email.clock.now()) {
            info!(channel = "email", was = %trouble, "the mailbox answers again (was: {trouble})");
        }
    }

    /// Makes the trouble visible, then waits as long as it deserves.
    async fn back_off(&mut self, trouble: WatchError) {
        let pace = &self.email.settings.pace;
        let delay = match &trouble {
            WatchError::Mailbox(MailboxError::Refused(_)) => pace.retry_refused,
            WatchError::Mailbox(_) | WatchError::NotStored(_) => self.next_delay(),
        };
        warn!(channel = "email", account = %self.email.settings.account, %trouble, delay_ms = delay.as_millis(), "the mailbox: {trouble}; again in {delay:?}");
        match &trouble {
            WatchError::NotStored(error) => self.email.health.stuck(error.to_string()),
            WatchError::Mailbox(error) => self.email.health.troubled(error.to_string()),
        }
        self.email.health.turned(delay);
        tokio::time::sleep(delay).await;
    }

    fn next_delay(&mut self) -> Duration {
        let pace = &self.email.settings.pace;
        self.waits.next(pace.retry_min, pace.retry_max, self.email.rng.as_ref())
    }
}

/// As IMAP lists them.
fn set(uids: &[u32]) -> String {
    uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Letters that are fetched together: small ones up to a bound, large ones each alone.
fn batches(known: &[LetterInfo], whole_max: u32, singly: bool) -> Vec<&[LetterInfo]> {
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
        let letters = |sizes: &[u32]| -> Vec<LetterInfo> {
            let known = |(at, bytes): (usize, &u32)| LetterInfo {
                uid: at as u32,
                bytes: *bytes,
                came_at: Timestamp::UNIX_EPOCH,
            };
            sizes.iter().enumerate().map(known).collect()
        };
        let lengths = |sizes: &[u32], singly| -> Vec<usize> {
            batches(&letters(sizes), 4 << 20, singly).into_iter().map(<[LetterInfo]>::len).collect()
        };
        assert_eq!(lengths(&[], false), Vec::<usize>::new());
        assert_eq!(lengths(&[10, 20, 30], false), [3]);
        assert_eq!(lengths(&[10, 20, 30], true), [1, 1, 1]);
        assert_eq!(lengths(&[1 << 20, 1, 1], false), [1, 2]);
        assert_eq!(lengths(&[1, 2 << 20, 1], false), [1, 1, 1]);
        assert_eq!(lengths(&[1, 40 << 20, 1, 1], false), [1, 1, 2]);
    }
}
