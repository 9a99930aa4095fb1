//! A letter on its way: into a folder, or out.
//!
//! Until the server has been given the letter itself, nothing can have arrived; once it has, only its answer says.

use async_imap::imap_proto::rfc4315::UidSetMember;
use async_imap::imap_proto::{Outcome, Response, ResponseCode};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};

use crate::account::{Account, MailError, MailboxTurn};
use crate::compose::ReadyLetter;
use crate::folders::{FolderRole, on_the_wire, quoted};
use crate::letter_id::LetterId;
use hob_email::command::{converse, search};
use hob_email::connect::{MailboxError, open, with_deadline};

/// What became of a letter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// It went out; where its copy lies, or why there is none.
    Gone(Result<String, String>),
    /// Nothing went out.
    Not { why: String },
    /// Nobody knows.
    Unknown { why: String },
}

/// Looks whether a letter with this Message-ID lies in the folder with this role; none: there is no such folder.
///
/// # Errors
/// When the server does not let it be looked.
pub(crate) async fn find(
    account: &Account,
    role: FolderRole,
    message_id: &str,
) -> Result<Option<Option<LetterId>>, MailError> {
    let mut turn = account.turn().await?;
    let Some(folder) = account.of_role(&mut turn, role).await? else {
        turn.end();
        return Ok(None);
    };
    let found = find_in(account, &mut turn, &folder.name, message_id).await?;
    turn.end();
    Ok(Some(found))
}

async fn find_in(
    account: &Account,
    turn: &mut MailboxTurn<'_>,
    folder: &str,
    message_id: &str,
) -> Result<Option<LetterId>, MailError> {
    let work = async {
        let (_, validity) = open(&mut turn.session, &on_the_wire(folder), false).await?;
        let found = search(&mut turn.session, &format!("HEADER Message-ID \"<{message_id}>\"")).await?;
        Ok::<_, MailboxError>(found.uids.last().map(|uid| (validity, *uid)))
    };
    let found = with_deadline(account.settings.deadline, work).await??;
    let account = account.settings.name.clone();
    Ok(found.map(|(validity, uid)| LetterId { account, folder: folder.to_owned(), validity, uid }))
}

/// Puts a letter into the folder with this role.
///
/// # Errors
/// When there is none, or the server does not take it.
pub(crate) async fn put(
    account: &Account,
    role: FolderRole,
    letter: &ReadyLetter,
    flags: &str,
) -> Result<LetterId, MailError> {
    let mut turn = account.turn().await?;
    let Some(folder) = account.of_role(&mut turn, role).await?.map(|folder| folder.name) else {
        turn.end();
        return Err(MailError::Unfit(without_role(account, role)));
    };
    let bytes = letter.source.len();
    let parts = [format!("APPEND {} ({flags}) {{{bytes}}}", quoted(&folder)), letter.source.clone()];
    let mut given = None;
    let work = converse(&mut turn.session, &parts, |response| {
        if let Response::Done { outcome: Outcome { code: Some(ResponseCode::AppendUid(validity, uids)), .. }, .. } =
            response
        {
            given = uids.first().map(|uid| (*validity, first(uid)));
        }
    });
    with_deadline(account.settings.deadline * 2, work).await??;
    let name = account.settings.name.clone();
    let id = match given {
        Some((validity, uid)) => Some(LetterId { account: name, folder: folder.clone(), validity, uid }),
        None => find_in(account, &mut turn, &folder, &letter.message_id).await?,
    };
    turn.end();
    id.ok_or_else(|| MailError::Unfit(format!("The server has taken the letter, and does not show it in {folder}.")))
}

/// The first of some numbers.
pub(crate) fn first(uids: &UidSetMember) -> u32 {
    match uids {
        UidSetMember::UidRange(range) => *range.start(),
        UidSetMember::Uid(uid) => *uid,
    }
}

/// What to do where no folder has a role.
fn without_role(account: &Account, role: FolderRole) -> String {
    let key = role.as_str().trim_start_matches('\\').to_lowercase();
    format!(
        "The mail server does not say which folder is {} (RFC 6154), and it is not guessed. The owner of this Hob can name it: \
         {key} = \"…\" under [mail.{}].",
        role.as_str(),
        account.settings.name
    )
}

/// Sends a letter: to all of its recipients, or to nobody.
pub(crate) async fn send(account: &Account, letter: &ReadyLetter) -> SendOutcome {
    let deadline = account.settings.deadline;
    let no = |why: String| SendOutcome::Not { why };
    let mut connection = match tokio::time::timeout(deadline, given_recipients(account, letter)).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(why)) => return no(why),
        Err(_elapsed) => return no("the mail server has not answered in time".to_owned()),
    };
    match tokio::time::timeout(deadline, connection.message(letter.source.as_bytes())).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) if error.status().is_some() => return no(error.to_string()),
        Ok(Err(error)) => return SendOutcome::Unknown { why: error.to_string() },
        Err(_elapsed) => return SendOutcome::Unknown { why: "the mail server has not answered in time".to_owned() },
    }
    if let Ok(Err(error)) = tokio::time::timeout(deadline, connection.quit()).await {
        tracing::debug!(%error, "the mail server did not say good-bye");
    }
    SendOutcome::Gone(keep_copy(account, letter).await)
}

/// Up to the point where the server waits for the letter itself. Whom it refuses keeps the letter from all: then nothing has
/// gone out, and the one who asked can say what to do.
async fn given_recipients(account: &Account, letter: &ReadyLetter) -> Result<AsyncSmtpConnection, String> {
    let failed = |error: lettre::transport::smtp::Error| error.to_string();
    let mut connection = account.smtp().await?;
    connection.command(Mail::new(letter.envelope.from().cloned(), Vec::new())).await.map_err(failed)?;
    for to in letter.envelope.to() {
        let taken = connection.command(Rcpt::new(to.clone(), Vec::new())).await;
        taken.map_err(|error| format!("the mail server does not take it for {to}: {error}"))?;
    }
    connection.command(Data).await.map_err(failed)?;
    Ok(connection)
}

/// Where the copy lies; or why there is none.
async fn keep_copy(account: &Account, letter: &ReadyLetter) -> Result<String, String> {
    if !account.settings.keep_sent {
        return Err("the provider keeps one by itself".to_owned());
    }
    put(account, FolderRole::Sent, letter, "\\Seen").await.map(|id| id.to_string()).map_err(|error| error.to_string())
}
