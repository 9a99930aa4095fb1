//! A letter, as it is shown to the model; and the files that came with it.

use jiff::tz::TimeZone;

use crate::account::{Account, MailError, MailboxTurn};
use crate::folders::on_the_wire;
use crate::letter_id::LetterId;
use hob_core::domain::email_envelope::Mailbox;
use hob_core::domain::inbound::Attachment;
use hob_email::command::fetch;
use hob_email::connect::with_deadline;
use hob_email::one_line;
use hob_email::part_handle::fetch_file;
use hob_email::reading::{self, Letter};

/// So much of a letter is fetched: its words come first.
const LETTER_BYTES_MAX: u64 = 2 << 20;
/// No larger file is fetched.
const FILE_BYTES_MAX: u64 = 20 << 20;

/// The most characters of a name or an address.
const PERSON_CHARS_MAX: usize = 300;

/// Somebody, as a letter's head shows them.
pub(crate) fn written(mailbox: &Mailbox) -> String {
    let address = one_line(&mailbox.address, PERSON_CHARS_MAX);
    match &mailbox.name {
        Some(name) => format!("{} <{address}>", one_line(name, PERSON_CHARS_MAX)),
        None => address,
    }
}

/// Reads a letter, which stays unread.
///
/// # Errors
/// When it is not there, or the server does not show it.
pub(crate) async fn read(account: &Account, id: &LetterId) -> Result<Letter, MailError> {
    let mut turn = account.turn().await?;
    let letter = letter_of(account, &mut turn, id).await?;
    turn.end();
    Ok(letter)
}

pub(crate) async fn letter_of(
    account: &Account,
    turn: &mut MailboxTurn<'_>,
    id: &LetterId,
) -> Result<Letter, MailError> {
    account.open(turn, id, false).await?;
    let command = format!("UID FETCH {} (UID RFC822.SIZE BODY.PEEK[]<0.{LETTER_BYTES_MAX}>)", id.uid);
    let shown = with_deadline(account.settings.deadline, fetch(&mut turn.session, &command)).await??;
    let shown =
        shown.into_iter().find(|shown| shown.uid == id.uid && shown.content.is_some()).ok_or_else(|| gone(id))?;
    let raw = shown.content.unwrap_or_default();
    let bytes = shown.bytes.map_or(raw.len() as u64, u64::from);
    let letter = reading::read(&raw, bytes, &format!("{}/{}", id.validity, id.uid));
    letter.ok_or_else(|| MailError::Unfit("The letter is so damaged that it cannot be read.".to_owned()))
}

/// Fetches a file of a letter; the first is 1.
///
/// # Errors
/// When it is not there, or is too big.
pub(crate) async fn file(
    account: &Account,
    id: &LetterId,
    number: usize,
) -> Result<(Letter, Attachment, Vec<u8>), MailError> {
    let mut turn = account.turn().await?;
    let letter = letter_of(account, &mut turn, id).await?;
    let wanted = number.checked_sub(1).and_then(|index| letter.files.get(index)).cloned();
    let none =
        || MailError::Unfit(format!("The letter has {} files, and none has the number {number}.", letter.files.len()));
    let wanted = wanted.ok_or_else(none)?;
    let folder = on_the_wire(&id.folder);
    let work = fetch_file(&mut turn.session, &folder, &wanted, FILE_BYTES_MAX);
    let bytes = with_deadline(account.settings.deadline * 2, work).await??;
    turn.end();
    let bytes = bytes.map_err(|error| MailError::Unfit(format!("{} cannot be fetched: {error}.", wanted.name)))?;
    Ok((letter, wanted, bytes))
}

pub(crate) fn gone(id: &LetterId) -> MailError {
    MailError::Unfit(format!("The letter is not in {} any more. It may have been moved or deleted.", id.folder))
}

/// The letter in words.
pub(crate) fn told(letter: &Letter, id: &LetterId, zone: &TimeZone) -> String {
    let mut lines = Vec::new();
    let mut people = |head: &str, all: &[Mailbox]| {
        if !all.is_empty() {
            lines.push(format!("{head}: {}", all.iter().map(written).collect::<Vec<_>>().join(", ")));
        }
    };
    people("From, as it says", &letter.from);
    people("Reply-To", &letter.reply_to);
    people("To", &letter.to);
    people("Cc", &letter.cc);
    if let Some(at) = letter.written {
        lines.push(format!("Date: {}", at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %Z")));
    }
    lines.push(format!("Subject: {}", letter.subject));
    lines.push(format!("Id: {id}"));
    lines.push(String::new());
    lines.push(if letter.text.is_empty() { "(no text)".to_owned() } else { letter.text.clone() });
    if !letter.files.is_empty() {
        lines.push(String::new());
        lines.push("Files (mail_read with `file` fetches one):".to_owned());
    }
    for (number, file) in (1..).zip(&letter.files) {
        let size = file.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
        lines.push(format!("{number}. {}{size}", file.name));
    }
    lines.extend(letter.notes.iter().map(|note| format!("\n[{note}]")));
    lines.join("\n")
}
