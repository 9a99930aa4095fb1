//! The folder that is watched: its letters' numbers, how far they were read, and which of them are looked through again.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::Email;
use crate::command::search;
use crate::connect::{ImapSession, open};
use crate::watch::WatchError;
use hob_core::domain::channel::{Intake, IntakeError};
use hob_core::domain::inbound::{ChannelKind, Cursor};

/// How far back letters are looked through again when their numbers are void.
const AGAIN_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A search goes by the day of the server's own time zone.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The letters that lay there when the folder's numbers became void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RescanRange {
    /// What came before is known, though its number is not.
    since: Timestamp,
    last: u32,
}

/// The folder's numbers, and how far they were read.
pub(super) struct Folder {
    /// What its cursor is called.
    pub(super) list: String,
    pub(super) validity: u32,
    /// The last letter that was taken or passed over.
    pub(super) position: u32,
    /// Letters are looked through again, as long as there are any.
    again: Option<RescanRange>,
}

impl Folder {
    /// Opens the folder, and finds out from which letter on it is to be read.
    pub(super) async fn open(
        email: &Email,
        intake: &dyn Intake,
        session: &mut ImapSession,
    ) -> Result<Self, WatchError> {
        let settings = &email.settings;
        let (mailbox, validity) = open(session, &settings.folder, true).await?;
        let list = format!("{};{validity}", settings.folder);
        let (began_list, since_list, last_list) =
            (format!("{};began", settings.folder), format!("{list};since"), format!("{list};last"));
        let cursors = intake.cursors(ChannelKind::Email, &settings.account).await?;
        let number = |list: &str| cursors.get(list).map(|number| u32::try_from(*number).unwrap_or(0));
        let time = |list: &str| cursors.get(list).and_then(|second| Timestamp::from_second(*second).ok());
        let mut folder = Self { list, validity, position: 0, again: None };
        if let Some(position) = number(&folder.list) {
            folder.position = position;
        }
        if let (Some(since), Some(last)) = (time(&since_list), number(&last_list)) {
            // Looking through them again may have been cut off in the middle.
            folder.again = Some(RescanRange { since, last }).filter(|again| again.last > folder.position);
            return Ok(folder);
        }
        if cursors.contains_key(&folder.list) {
            return Ok(folder);
        }
        let last = match mailbox.uid_next {
            Some(next) => next.saturating_sub(1),
            None => search(session, "ALL").await?.uids.last().copied().unwrap_or(0),
        };
        let now = email.clock.now();
        if let Some(began) = time(&began_list) {
            let since = now.saturating_sub(AGAIN_MAX).unwrap_or(began).max(began);
            warn!(channel = "email", account = %settings.account, validity, "the mailbox has numbered its letters anew; those since {since} are looked through again");
            advance(email, intake, &last_list, i64::from(last)).await?;
            advance(email, intake, &since_list, since.as_second()).await?;
            folder.again = Some(RescanRange { since, last });
            return Ok(folder);
        }
        // Hob's first day here: what lies there was not written to it.
        folder.position = last;
        folder.keep(email, intake).await?;
        advance(email, intake, &began_list, now.as_second()).await?;
        Ok(folder)
    }

    /// What is asked for to find what is new.
    pub(super) fn query(&self) -> String {
        let from = self.position.saturating_add(1);
        match self.again {
            Some(again) => {
                let day = again.since.saturating_sub(DAY).unwrap_or(again.since).to_zoned(TimeZone::UTC);
                format!("UID {from}:* SINCE {}", day.strftime("%d-%b-%Y"))
            }
            None => format!("UID {from}:*"),
        }
    }

    /// Is a letter one that Hob may not have had?
    pub(super) fn may_be_new(&self, uid: u32, came_at: Timestamp) -> bool {
        self.again.is_none_or(|again| uid > again.last || came_at >= again.since)
    }

    /// Goes past a letter that is not handed in.
    pub(super) async fn skip_letter(
        &mut self,
        uid: u32,
        email: &Email,
        intake: &dyn Intake,
    ) -> Result<(), IntakeError> {
        if uid > self.position {
            self.position = uid;
        }
        self.keep(email, intake).await
    }

    /// All that was found is done with; whether there may be more. What was looked through again and is older is not new
    /// either.
    pub(super) async fn finish_batch(&mut self, email: &Email, intake: &dyn Intake) -> Result<bool, IntakeError> {
        let Some(again) = self.again else { return Ok(false) };
        self.skip_letter(again.last, email, intake).await?;
        info!(channel = "email", validity = self.validity, "the letters that were numbered anew are looked through");
        self.again = None;
        Ok(true)
    }

    async fn keep(&self, email: &Email, intake: &dyn Intake) -> Result<(), IntakeError> {
        advance(email, intake, &self.list, i64::from(self.position)).await
    }
}

async fn advance(email: &Email, intake: &dyn Intake, list: &str, position: i64) -> Result<(), IntakeError> {
    let cursor = Cursor { list: list.to_owned(), position };
    intake.advance(ChannelKind::Email, &email.settings.account, cursor).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_of_letters_that_were_numbered_anew_only_the_later_ones_may_be_new() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let since = at("2026-01-10T06:00:00Z");
        let again = Folder {
            list: "INBOX;7".to_owned(),
            validity: 7,
            position: 3,
            again: Some(RescanRange { since, last: 20 }),
        };
        // The server may be in a place where it is still the day before.
        assert_eq!(again.query(), "UID 4:* SINCE 09-Jan-2026");
        for (uid, came_at, expected) in [
            (20, "2026-01-10T05:59:59Z", false),
            (20, "2026-01-10T06:00:00Z", true),
            // It came afterwards, whatever day it bears.
            (21, "2020-01-01T00:00:00Z", true),
        ] {
            assert_eq!(again.may_be_new(uid, at(came_at)), expected, "{uid} {came_at}");
        }
        let usual = Folder { again: None, ..again };
        assert_eq!(usual.query(), "UID 4:*");
        assert!(usual.may_be_new(4, at("2020-01-01T00:00:00Z")));
    }
}
