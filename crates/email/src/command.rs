//! Commands to the mailbox, each with how it ended: what was refused is an error, never a mailbox with nothing in it.
//!
//! The library's own FETCH, STORE and SEARCH end with the server's last line whatever that says, and with a connection that
//! ends in the middle: letters that were not shown would look like letters that are not there.

use std::collections::BTreeSet;
use std::time::Duration;

use async_imap::error::Error as ImapError;
use async_imap::imap_proto::{AttributeValue, MailboxDatum, Outcome, RequestId, Response, Status};
use jiff::Timestamp;

use crate::connect::{ImapSession, MailboxError, REASON_CHARS, with_deadline};
use crate::one_line;

/// What the server shows of a letter.
#[derive(Debug, PartialEq, Eq)]
pub struct FetchedItem {
    /// Its number in the folder.
    pub uid: u32,
    pub bytes: Option<u32>,
    /// When the server took it.
    pub came_at: Option<Timestamp>,
    /// What it is marked with, such as `\\Seen`.
    pub flags: Vec<String>,
    /// Its bytes, or those of the part that was asked for.
    pub content: Option<Vec<u8>>,
}

/// What a search has found.
#[derive(Debug, Default)]
pub struct SearchResult {
    /// Their numbers.
    pub uids: BTreeSet<u32>,
    /// The server told of letters meanwhile: they may not be among these.
    pub is_told: bool,
}

/// Runs a command to its end.
///
/// # Errors
/// When the server refuses it, or is gone.
pub async fn run(session: &mut ImapSession, command: &str) -> Result<(), MailboxError> {
    converse(session, &[command.to_owned()], |_| {}).await
}

/// Runs a command that is told in parts, and hears all answers, the last one too. Each part but the last ends by how many
/// bytes the next one begins with (`{5}`), and the server asks for that.
///
/// # Errors
/// When the server refuses it, or is gone.
pub async fn converse(
    session: &mut ImapSession,
    parts: &[String],
    mut hear: impl FnMut(&Response<'_>),
) -> Result<(), MailboxError> {
    let (first, further) = parts.split_first().map_or(("NOOP", parts), |(first, further)| (first.as_str(), further));
    let tag = session.run_command(first).await?;
    for part in further {
        loop {
            let response = response_or_lost(session.read_response().await)?;
            match response.parsed() {
                Response::Continue(_) => break,
                // It wants no more of it.
                Response::Done { tag: done, status, outcome } if *done == tag => return verdict(status, outcome),
                other => hear(other),
            }
        }
        session.run_command_untagged(part).await?;
    }
    finish(session, &tag, hear).await
}

/// Asks what letters are, or what stands in them; `command` asks for their UIDs, too.
///
/// # Errors
/// When the server refuses it, or is gone.
pub async fn fetch(session: &mut ImapSession, command: &str) -> Result<Vec<FetchedItem>, MailboxError> {
    let mut all = Vec::new();
    let tag = session.run_command(command).await?;
    finish(session, &tag, |response| {
        if let Response::Fetch(_, attributes) = response {
            all.extend(fetched_item(attributes));
        }
    })
    .await?;
    Ok(all)
}

/// Asks which letters there are.
///
/// # Errors
/// When the server refuses it, or is gone.
pub async fn search(session: &mut ImapSession, query: &str) -> Result<SearchResult, MailboxError> {
    search_in_parts(session, &[format!("UID SEARCH {query}")]).await
}

/// The same by a whole command in parts, as [`converse`] takes them.
///
/// # Errors
/// When the server refuses it, or is gone.
pub async fn search_in_parts(session: &mut ImapSession, parts: &[String]) -> Result<SearchResult, MailboxError> {
    let mut found = SearchResult::default();
    converse(session, parts, |response| match response {
        Response::MailboxData(MailboxDatum::Search(uids)) => found.uids.extend(uids),
        Response::MailboxData(MailboxDatum::Exists(_) | MailboxDatum::Recent(_)) => found.is_told = true,
        _ => {}
    })
    .await?;
    Ok(found)
}

/// Waits until the server tells something, for `longest` at most; false: it does not let itself be waited with.
pub(crate) async fn idle(
    session: &mut ImapSession,
    deadline: Duration,
    longest: Duration,
) -> Result<bool, MailboxError> {
    let tag = session.run_command("IDLE").await?;
    let Some(is_told) = with_deadline(deadline, until_it_waits(session, &tag)).await?? else { return Ok(false) };
    if !is_told
        && let Ok(news) = tokio::time::timeout(longest, until_news(session, &tag)).await
        && !news?
    {
        return Ok(false);
    }
    let ended = async {
        session.run_command_untagged("DONE").await?;
        finish(session, &tag, |_| {}).await
    };
    with_deadline(deadline, ended).await??;
    Ok(true)
}

/// Whether anything was told before the server began to wait; none: it does not.
async fn until_it_waits(session: &mut ImapSession, tag: &RequestId) -> Result<Option<bool>, MailboxError> {
    let mut is_told = false;
    loop {
        let response = response_or_lost(session.read_response().await)?;
        match response.parsed() {
            Response::Continue(_) => return Ok(Some(is_told)),
            Response::Done { tag: done, .. } if done == tag => return Ok(None),
            Response::MailboxData(MailboxDatum::Exists(_) | MailboxDatum::Recent(_)) => is_told = true,
            _ => {}
        }
    }
}

/// Whether there is news; else the server has ended the waiting.
async fn until_news(session: &mut ImapSession, tag: &RequestId) -> Result<bool, MailboxError> {
    loop {
        let response = response_or_lost(session.read_response().await)?;
        match response.parsed() {
            Response::Done { tag: done, .. } if done == tag => return Ok(false),
            // `* OK Still here`
            Response::Data { status: Status::Ok, .. } | Response::Continue(_) | Response::Done { .. } => {}
            _ => return Ok(true),
        }
    }
}

/// Hears all that the server says to a command, and how that ended.
async fn finish(
    session: &mut ImapSession,
    tag: &RequestId,
    mut hear: impl FnMut(&Response<'_>),
) -> Result<(), MailboxError> {
    loop {
        let response = response_or_lost(session.read_response().await)?;
        match response.parsed() {
            Response::Done { tag: done, status, outcome } if done == tag => {
                hear(response.parsed());
                return verdict(status, outcome);
            }
            other => hear(other),
        }
    }
}

/// An answer, unless the connection has ended.
fn response_or_lost<T>(read: std::io::Result<Option<T>>) -> Result<T, MailboxError> {
    let read = read.map_err(ImapError::from)?;
    read.ok_or_else(|| MailboxError::Lost("the mail server has hung up".to_owned()))
}

fn verdict(status: &Status, outcome: &Outcome<'_>) -> Result<(), MailboxError> {
    let why = || match outcome.information.as_deref() {
        Some(reason) => one_line(reason, REASON_CHARS),
        None => "it gives no reason".to_owned(),
    };
    match status {
        Status::Ok => Ok(()),
        Status::No | Status::Bad => Err(MailboxError::No(why())),
        Status::PreAuth | Status::Bye => Err(MailboxError::Lost(why())),
    }
}

/// What is known of a letter by one answer; one without a UID is not a letter that was asked for.
fn fetched_item(attributes: &[AttributeValue<'_>]) -> Option<FetchedItem> {
    let (mut uid, mut bytes, mut came_at, mut content, mut flags) = (None, None, None, None, Vec::new());
    for attribute in attributes {
        match attribute {
            AttributeValue::Uid(number) => uid = Some(*number),
            AttributeValue::Rfc822Size(size) => bytes = Some(*size),
            AttributeValue::Flags(all) => flags = all.iter().map(|flag| flag.to_string()).collect(),
            AttributeValue::InternalDate(date) => came_at = date_of(date),
            AttributeValue::BodySection { data: Some(data), .. } | AttributeValue::Rfc822(Some(data)) => {
                content = Some(data.to_vec());
            }
            _ => {}
        }
    }
    Some(FetchedItem { uid: uid?, bytes, came_at, flags, content })
}

/// `17-Jul-1996 02:44:25 -0700`; the first days of a month have a space before them.
fn date_of(date: &str) -> Option<Timestamp> {
    Timestamp::strptime("%d-%b-%Y %H:%M:%S %z", date.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(line: &str) -> Result<(), String> {
        let line = format!("{line}\r\n");
        let (_, response) = Response::parse(line.as_bytes()).unwrap();
        let Response::Done { status, outcome, .. } = response else { panic!("{line} is no end") };
        verdict(&status, &outcome).map_err(|error| error.to_string())
    }

    #[test]
    fn n14_only_what_was_done_is_an_answer() {
        assert_eq!(ended("A1 OK Fetch completed."), Ok(()));
        insta::assert_snapshot!(ended("A1 NO [SERVERBUG] Internal error").unwrap_err(), @"the mail server refused: [SERVERBUG] Internal error");
        insta::assert_snapshot!(ended("A1 BAD Unknown command").unwrap_err(), @"the mail server refused: Unknown command");
    }

    #[test]
    fn n14_what_a_server_shows_of_a_letter_is_read() {
        let line =
            b"* 5 FETCH (UID 7 FLAGS (\\Seen) RFC822.SIZE 12 INTERNALDATE \" 1-Jan-2026 10:00:00 +0100\" BODY[]<0> {3}\r\nabc)\r\n";
        let (_, response) = Response::parse(line).unwrap();
        let Response::Fetch(_, attributes) = response else { panic!("it is not a letter") };
        let came_at = Some("2026-01-01T09:00:00Z".parse().unwrap());
        let flags = vec!["\\Seen".to_owned()];
        let expected = FetchedItem { uid: 7, bytes: Some(12), came_at, flags, content: Some(b"abc".to_vec()) };
        assert_eq!(fetched_item(&attributes), Some(expected));
        assert_eq!(fetched_item(&[AttributeValue::Rfc822Size(12)]), None);
        let late = "2026-12-31T23:59:59Z".parse().ok();
        assert_eq!((date_of("31-Dec-2026 15:59:59 -0800"), date_of("yesterday")), (late, None));
    }
}
