//! A letter to the mail server, and what its answer means for the outbox.
//!
//! Until the server has been given the letter itself, nothing can have arrived; once it has, only its answer says. A letter
//! that may have gone out is looked for where copies are put away; else it goes again under the same Message-ID, marked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use tracing::{debug, info, warn};

use crate::compose::{OutgoingLetter, compose, id};
use crate::settings::Settings;
use crate::smtp::{self, Greeting};
use crate::{Email, SetupError};
use hob_core::domain::channel::AccountError;
use hob_core::domain::outgoing::{DeliveryError, Outgoing, Receipt};

/// How long the server may take until it waits for a letter, and how long over the letter. With the two below this is less
/// than the outbox waits: else it would send again what went out.
const STEP_MAX: Duration = Duration::from_secs(30);
/// A file is given so much longer as it takes at this many bytes a second; the outbox waits as much longer.
const FILE_BYTES_A_SECOND: u64 = 100_000;
/// How long it is looked whether a letter went out before.
const LOOK_MAX: Duration = Duration::from_secs(15);
/// How long the copy and the good-bye may take, each.
const AFTER_MAX: Duration = Duration::from_secs(5);

/// So long all wait for those whom the server refuses for now; then the others get their letter. Greylists want minutes,
/// and the outbox gives up after a day.
const WAIT_MAX: SignedDuration = SignedDuration::from_hours(2);
/// A letter that has not been tried for so long is none any more.
const GONE_AFTER: SignedDuration = SignedDuration::from_hours(48);

/// The way out.
pub(super) struct SmtpSender {
    /// What TLS believes there.
    tls: Option<TlsParameters>,
    /// The letters that wait for recipients who are refused for now, by their ids, and since when.
    waiting: Mutex<BTreeMap<String, Timestamp>>,
}

impl SmtpSender {
    pub(super) fn new(settings: &Settings) -> Result<Self, SetupError> {
        let tls = smtp::tls(&settings.smtp.host, settings.smtp_security, settings.ca_file.as_deref())?;
        Ok(Self { tls, waiting: Mutex::default() })
    }

    /// Whether a letter has waited long enough for those who are refused for now; from here on it waits.
    fn has_waited(&self, id: &str, now: Timestamp) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, since| now.duration_since(*since) < GONE_AFTER);
        let since = *waiting.entry(id.to_owned()).or_insert(now);
        now.duration_since(since) >= WAIT_MAX
    }

    /// A letter has gone out.
    fn mark_sent(&self, id: &str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// How far a letter had come when something went wrong.
#[derive(Debug)]
enum SendFailure {
    /// The server has not been given the letter.
    Before(SmtpError),
    /// It has, or a part of it.
    After(SmtpError),
    /// It took too long.
    Late {
        /// The server may have the letter.
        given: bool,
    },
    /// It wants to know none of those to whom it goes.
    Nobody(SmtpError),
}

/// Sends an answer.
pub(super) async fn deliver(email: &Email, message: &Outgoing) -> Result<Receipt, DeliveryError> {
    let settings = &email.settings;
    if message.may_repeat && has_gone_out(email, &id(message, settings)).await {
        return Ok(Receipt { external_id: Some(id(message, settings)) });
    }
    let content = match &message.file {
        Some(file) => {
            let read = tokio::fs::read(&file.path).await;
            Some(read.map_err(|error| DeliveryError::Refused { why: format!("the file cannot be read: {error}") })?)
        }
        None => None,
    };
    let ready = compose(message, content, settings, email.clock.now());
    let ready = ready.map_err(|error| DeliveryError::Refused { why: error.to_string() })?;
    let file = message.file.as_ref().map_or(0, |file| file.bytes);
    send(email, &ready, file).await.map_err(|failure| outcome(&failure))?;
    email.sender.mark_sent(&ready.id);
    save_copy(email, &ready).await;
    Ok(Receipt { external_id: Some(ready.id) })
}

/// Was a copy of it put away? Where none can be, nobody knows.
async fn has_gone_out(email: &Email, id: &str) -> bool {
    let Some(folder) = &email.settings.sent_folder else { return false };
    let looked = tokio::time::timeout(LOOK_MAX, email.beside.has(email, folder, id)).await;
    let Ok(looked) = looked else { return false };
    match looked {
        Ok(found) => {
            if found {
                info!(channel = "email", "the letter had gone out before the interruption");
            }
            found
        }
        Err(error) => {
            debug!(channel = "email", %error, "what was sent cannot be looked through: {error}");
            false
        }
    }
}

/// Keeps a copy; that it fails changes nothing about the letter.
async fn save_copy(email: &Email, ready: &OutgoingLetter) {
    let Some(folder) = &email.settings.sent_folder else { return };
    match tokio::time::timeout(AFTER_MAX, email.beside.append_sent(email, folder, &ready.bytes)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            warn!(channel = "email", folder, %error, "no copy of the letter could be kept in {folder}: {error}")
        }
        Err(_elapsed) => warn!(channel = "email", folder, "no copy of the letter could be kept in {folder} in time"),
    }
}

/// How long the server may take over a letter with a file of so many bytes.
fn data_max(step: Duration, file: u64) -> Duration {
    step.saturating_add(Duration::from_secs(file / FILE_BYTES_A_SECOND))
}

async fn send(email: &Email, ready: &OutgoingLetter, file: u64) -> Result<(), SendFailure> {
    let deadline = email.settings.pace.command_deadline.min(STEP_MAX);
    let opened = tokio::time::timeout(deadline, open(email, ready)).await;
    let mut connection = opened.map_err(|_elapsed| SendFailure::Late { given: false })??;
    let given = tokio::time::timeout(data_max(deadline, file), connection.message(&ready.bytes)).await;
    let given = given.map_err(|_elapsed| SendFailure::Late { given: true })?;
    given.map_err(SendFailure::After)?;
    // It is taken; how the server says good-bye changes nothing.
    if let Ok(Err(error)) = tokio::time::timeout(AFTER_MAX, connection.quit()).await {
        debug!(channel = "email", %error, "the mail server did not say good-bye");
    }
    Ok(())
}

/// Whether letters could go out, as far as that is known without one.
pub(super) async fn check(email: &Email) -> Result<(), AccountError> {
    let deadline = email.settings.pace.command_deadline.min(STEP_MAX);
    let signed_in = tokio::time::timeout(deadline, sign_in(email)).await;
    let late = |_elapsed| AccountError(format!("SMTP: the mail server has not answered for {deadline:?}"));
    let mut connection = signed_in.map_err(late)?.map_err(|error| AccountError(format!("SMTP: {error}")))?;
    if let Ok(Err(error)) = tokio::time::timeout(AFTER_MAX, connection.quit()).await {
        debug!(channel = "email", %error, "the mail server did not say good-bye");
    }
    Ok(())
}

/// Connects and signs in.
async fn sign_in(email: &Email) -> Result<AsyncSmtpConnection, SmtpError> {
    let settings = &email.settings;
    let greeting = Greeting { domain: settings.domain(), deadline: settings.pace.command_deadline };
    smtp::connect(&settings.smtp, settings.smtp_security, email.sender.tls.as_ref(), greeting).await
}

/// Up to the point where the server waits for the letter itself.
async fn open(email: &Email, ready: &OutgoingLetter) -> Result<AsyncSmtpConnection, SendFailure> {
    let mut connection = sign_in(email).await.map_err(SendFailure::Before)?;
    connection.command(Mail::new(ready.envelope.from().cloned(), Vec::new())).await.map_err(SendFailure::Before)?;
    let (mut taken, mut refused, mut for_now) = (0_usize, None, None);
    for to in ready.envelope.to() {
        match connection.command(Rcpt::new(to.clone(), Vec::new())).await {
            Ok(_) => taken += 1,
            Err(error) if error.status().is_some() => {
                warn!(channel = "email", %error, "the mail server does not take a letter for one of its recipients: {error}");
                if error.is_transient() {
                    for_now = Some(error);
                } else {
                    // The others get it all the same.
                    refused = Some(error);
                }
            }
            Err(error) => return Err(SendFailure::Before(error)),
        }
    }
    if taken == 0
        && let Some(error) = for_now.take().or(refused)
    {
        return Err(SendFailure::Nobody(error));
    }
    // Nothing has gone out, so nobody has it twice when all are tried again.
    if let Some(error) = for_now.filter(|_| !email.sender.has_waited(&ready.id, email.clock.now())) {
        return Err(SendFailure::Before(error));
    }
    connection.command(Data).await.map_err(SendFailure::Before)?;
    Ok(connection)
}

/// What the outbox has to know.
fn outcome(failure: &SendFailure) -> DeliveryError {
    match failure {
        SendFailure::Late { given: false } => {
            DeliveryError::Retry { after: None, why: "the mail server has not answered in time".to_owned() }
        }
        SendFailure::Late { given: true } => {
            DeliveryError::Unknown { why: "the mail server has the letter and has not answered in time".to_owned() }
        }
        SendFailure::Before(error) | SendFailure::Nobody(error) => {
            let why = error.to_string();
            // That the password is wrong, an operator can mend; all else the server has judged of this letter.
            let is_ours = error.status().is_some_and(|code| matches!(u16::from(code), 530 | 534 | 535 | 538));
            if error.is_permanent() && !is_ours {
                DeliveryError::Refused { why }
            } else {
                DeliveryError::Retry { after: None, why }
            }
        }
        SendFailure::After(error) => {
            let why = error.to_string();
            if error.is_permanent() {
                DeliveryError::Refused { why }
            } else if error.is_transient() {
                DeliveryError::Retry { after: None, why }
            } else {
                DeliveryError::Unknown { why }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_letter_has_as_long_as_its_file_takes() {
        let step = Duration::from_secs(30);
        for (file, seconds) in [(0, 30), (99_999, 30), (18 << 20, 30 + 188), (u64::MAX, u64::MAX / 100_000 + 30)] {
            assert_eq!(data_max(step, file), Duration::from_secs(seconds), "{file}");
        }
    }

    #[test]
    fn n14_a_letter_waits_so_long_for_those_who_are_refused_for_now() {
        let sender = SmtpSender { tls: None, waiting: Mutex::default() };
        let at = |minutes: i64| Timestamp::from_second(1_800_000_000 + minutes * 60).unwrap();
        for (id, minutes, expected) in [("a", 0, false), ("a", 119, false), ("b", 119, false), ("a", 120, true)] {
            assert_eq!(sender.has_waited(id, at(minutes)), expected, "{id} {minutes}");
        }
        sender.mark_sent("a");
        assert!(!sender.has_waited("a", at(121)));
        // One that was given up is not kept for ever.
        assert!(!sender.has_waited("c", at(10_000)));
        assert_eq!(sender.waiting.lock().unwrap().len(), 1);
    }
}
