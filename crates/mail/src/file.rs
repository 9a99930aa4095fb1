//! Filing: a letter is moved, flagged, marked as read. Never anything but the letter that was named.

use async_imap::imap_proto::{Outcome, Response, ResponseCode};

use crate::account::{Account, MailError, MailboxTurn};
use crate::folders::quoted;
use crate::letter_id::LetterId;
use crate::read::gone;
use crate::send::first;
use hob_email::command::{converse, fetch, run};
use hob_email::connect::{MailboxError, with_deadline};

/// What is to be done with a letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilingRequest {
    /// The folder that it goes to.
    pub to: Option<String>,
    /// Whether it is read.
    pub read: Option<bool>,
    /// Whether it is flagged.
    pub flagged: Option<bool>,
}

/// What was done, with what would be needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FiledLetter {
    pub was: LetterId,
    /// Where it went.
    pub moved: Option<MovedLetter>,
    /// The marks that it had before.
    pub(crate) flags_before: Vec<String>,
}

/// Where a letter went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedLetter {
    pub folder: String,
    /// Its new id, if the server tells.
    pub now: Option<LetterId>,
    /// The server can take no single letter out of a folder: the old one is only marked as deleted.
    pub is_left_behind: bool,
}

/// Files a letter.
///
/// # Errors
/// When the letter or the folder is not there, or the server refuses.
pub(crate) async fn file(account: &Account, id: &LetterId, filing: &FilingRequest) -> Result<FiledLetter, MailError> {
    let mut turn = account.turn().await?;
    let to = match &filing.to {
        Some(named) => Some(account.folder(&mut turn, named).await?.name),
        None => None,
    };
    account.open(&mut turn, id, true).await?;
    let work = async {
        let there = fetch(&mut turn.session, &format!("UID FETCH {} (UID FLAGS)", id.uid)).await?;
        let Some(there) = there.into_iter().find(|one| one.uid == id.uid) else { return Ok(None) };
        for (wanted, flag) in [(filing.read, "\\Seen"), (filing.flagged, "\\Flagged")] {
            if let Some(wanted) = wanted {
                let sign = if wanted { '+' } else { '-' };
                run(&mut turn.session, &format!("UID STORE {} {sign}FLAGS.SILENT ({flag})", id.uid)).await?;
            }
        }
        let moved = match to.filter(|to| *to != id.folder) {
            Some(to) => Some(go(&mut turn, id, to).await?),
            None => None,
        };
        Ok::<_, MailboxError>(Some(FiledLetter { was: id.clone(), moved, flags_before: there.flags }))
    };
    let done = with_deadline(account.settings.deadline * 2, work).await??;
    turn.end();
    done.ok_or_else(|| gone(id))
}

/// Moves a letter from the folder that is open.
async fn go(turn: &mut MailboxTurn<'_>, id: &LetterId, to: String) -> Result<MovedLetter, MailboxError> {
    let able = turn.session.capabilities().await?;
    let (moves, expunges) = (able.has_str("MOVE"), able.has_str("UIDPLUS"));
    let mut given = None;
    let verb = if moves { "MOVE" } else { "COPY" };
    converse(&mut turn.session, &[format!("UID {verb} {} {}", id.uid, quoted(&to))], |response| {
        if let Response::Done { outcome, .. } | Response::Data { outcome, .. } = response
            && let Outcome { code: Some(ResponseCode::CopyUid(validity, _, uids)), .. } = outcome
        {
            given = uids.first().map(|uid| (*validity, first(uid)));
        }
    })
    .await?;
    if !moves {
        run(&mut turn.session, &format!("UID STORE {} +FLAGS.SILENT (\\Deleted)", id.uid)).await?;
        // Without a number, others that are marked so would go with it.
        if expunges {
            run(&mut turn.session, &format!("UID EXPUNGE {}", id.uid)).await?;
        }
    }
    let now = given.map(|(validity, uid)| LetterId { folder: to.clone(), validity, uid, ..id.clone() });
    Ok(MovedLetter { folder: to, now, is_left_behind: !moves && !expunges })
}
