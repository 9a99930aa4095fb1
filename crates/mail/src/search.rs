//! Looking for letters: newest first, a page at a time.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::account::{Account, MailError};
use crate::folders::on_the_wire;
use crate::letter_id::LetterId;
use crate::read::written;
use hob_email::command::{FetchedItem, fetch, search_in_parts};
use hob_email::connect::{self, with_deadline};
use hob_email::{one_line, reading};

pub(crate) const PAGE: usize = 20;
/// Of more than so many that fit, the ones that came last are put in order.
const ORDERED_MAX: usize = 5_000;
/// So much of these lines is fetched: whoever writes a letter can make them as long as they like.
const HEAD_BYTES_MAX: usize = 8_000;
/// The most characters of a subject or a name.
const LINE_CHARS_MAX: usize = 150;

/// What is looked for; all of it must be true of a letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Within name or address of whoever wrote it.
    pub from: Option<String>,
    /// Within its subject.
    pub subject: Option<String>,
    /// Anywhere in it.
    pub words: Option<String>,
    /// It came on this day or later.
    pub since: Option<Date>,
    /// It came before this day.
    pub before: Option<Date>,
    /// Nobody has read it.
    pub unread: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundLetter {
    pub id: LetterId,
    /// When it came, in UTC.
    pub came: String,
    /// Who wrote it, as it says.
    pub from: String,
    /// What it is about.
    pub subject: String,
    /// What it is marked with, in words.
    pub marks: Vec<&'static str>,
}

/// A page of what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchPage {
    /// The folder's name.
    pub folder: String,
    /// How many fit.
    pub total: usize,
    /// Those of this page.
    pub letters: Vec<FoundLetter>,
}

impl Query {
    /// The command, in parts as [`hob_email::command::converse`] takes them.
    fn command(&self) -> Vec<String> {
        let texts = [("FROM", &self.from), ("SUBJECT", &self.subject), ("TEXT", &self.words)];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)));
        let foreign = texts.clone().any(|(_, text)| !text.is_ascii());
        let mut parts = vec![format!("UID SEARCH{}", if foreign { " CHARSET UTF-8" } else { "" })];
        let say = |parts: &mut Vec<String>, words: &str| {
            if let Some(last) = parts.last_mut() {
                last.push(' ');
                last.push_str(words);
            }
        };
        let day = |date: Date| date.strftime("%d-%b-%Y").to_string();
        if let Some(since) = self.since {
            say(&mut parts, &format!("SINCE {}", day(since)));
        }
        if let Some(before) = self.before {
            say(&mut parts, &format!("BEFORE {}", day(before)));
        }
        say(&mut parts, if self.unread { "UNSEEN" } else { "ALL" });
        for (key, text) in texts {
            let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            if text.is_ascii() {
                say(&mut parts, &format!("{key} \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")));
            } else {
                say(&mut parts, &format!("{key} {{{}}}", text.len()));
                parts.push(text);
            }
        }
        parts
    }
}

/// Looks for letters in a folder; the first page is 1.
///
/// # Errors
/// When the folder is not there, or the server does not let it be looked through.
pub(crate) async fn search(
    account: &Account,
    folder: &str,
    query: &Query,
    page: usize,
) -> Result<SearchPage, MailError> {
    let mut turn = account.turn().await?;
    let folder = account.folder(&mut turn, folder).await?.name;
    let session = &mut turn.session;
    let work = async {
        let (_, validity) = connect::open(session, &on_the_wire(&folder), false).await?;
        let found = search_in_parts(session, &query.command()).await?.uids;
        let last: Vec<u32> = found.iter().rev().take(ORDERED_MAX).copied().collect();
        // By the day they came: whoever files letters gives them new numbers.
        let mut all = match last.as_slice() {
            [] => Vec::new(),
            uids => fetch(session, &format!("UID FETCH {} (UID INTERNALDATE)", set(uids))).await?,
        };
        all.sort_by_key(|one| std::cmp::Reverse((one.came_at, one.uid)));
        let shown: Vec<u32> = all.iter().skip(page.saturating_sub(1) * PAGE).take(PAGE).map(|one| one.uid).collect();
        let letters = match shown.as_slice() {
            [] => Vec::new(),
            uids => {
                let wanted =
                    format!("UID FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)]<0.{HEAD_BYTES_MAX}>");
                fetch(session, &format!("UID FETCH {} ({wanted})", set(uids))).await?
            }
        };
        let id = |uid| LetterId { account: account.settings.name.clone(), folder: folder.clone(), validity, uid };
        let of = |uid: &u32| letters.iter().find(|one| one.uid == *uid).map(|one| found_letter(one, id(*uid)));
        Ok(SearchPage { folder: folder.clone(), total: found.len(), letters: shown.iter().filter_map(of).collect() })
    };
    let page = with_deadline(account.settings.deadline * 2, work).await?.map_err(MailError::Mailbox)?;
    turn.end();
    Ok(page)
}

fn set(uids: &[u32]) -> String {
    uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn found_letter(item: &FetchedItem, id: LetterId) -> FoundLetter {
    let head = item.content.as_deref().unwrap_or_default();
    let read = reading::read(head, head.len() as u64, "");
    let from = read.as_ref().and_then(|letter| letter.from.first()).map(written);
    let subject = read.as_ref().map(|letter| letter.subject.clone()).filter(|subject| !subject.is_empty());
    let has = |flag: &str| item.flags.iter().any(|known| known.eq_ignore_ascii_case(flag));
    let marks = [
        (!has("\\Seen"), "unread"),
        (has("\\Flagged"), "flagged"),
        (has("\\Answered"), "answered"),
        (has("\\Draft"), "draft"),
    ];
    let came = item.came_at.map(|at| at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M").to_string());
    FoundLetter {
        id,
        came: came.unwrap_or_default(),
        from: one_line(&from.unwrap_or_else(|| "somebody".to_owned()), LINE_CHARS_MAX),
        subject: one_line(&subject.unwrap_or_else(|| "(no subject)".to_owned()), LINE_CHARS_MAX),
        marks: marks.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_is_said_as_imap_takes_it() {
        let query = |from: &str, words: &str| Query {
            from: Some(from.to_owned()),
            words: Some(words.to_owned()),
            since: Some(jiff::civil::date(2026, 1, 2)),
            unread: true,
            ..Query::default()
        };
        assert_eq!(Query::default().command(), ["UID SEARCH ALL"]);
        assert_eq!(
            query("ben\"s\\", "tea\r\nA1 DELETE INBOX").command(),
            ["UID SEARCH SINCE 02-Jan-2026 UNSEEN FROM \"ben\\\"s\\\\\" TEXT \"tea  A1 DELETE INBOX\""]
        );
        assert_eq!(
            query("Jürgen", "Grüße").command(),
            ["UID SEARCH CHARSET UTF-8 SINCE 02-Jan-2026 UNSEEN FROM {7}", "Jürgen TEXT {7}", "Grüße"]
        );
    }
}
