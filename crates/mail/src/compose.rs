//! A letter to be drafted or sent. Pure.

use std::time::SystemTime;

use jiff::Timestamp;
use lettre::address::Envelope;
use lettre::message::{Mailbox, Message, MessageBuilder, SinglePart};
use sha2::{Digest, Sha256};

use crate::account::MailError;
use crate::settings::Settings;
use hob_email::one_line;
use hob_email::reading::Letter;

/// The most characters of a subject.
const SUBJECT_CHARS_MAX: usize = 200;
/// The most ids of a `References` that are kept: the first and the last ones.
const REFERENCES_MAX: usize = 20;

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub to: Vec<String>,
    /// Who gets a copy.
    pub cc: Vec<String>,
    /// What it is about.
    pub subject: String,
    pub text: String,
}

#[derive(Debug, Clone)]
pub(crate) struct ReadyLetter {
    /// Its Message-ID, without `<>`.
    pub message_id: String,
    /// From whom and to whom it goes.
    pub envelope: Envelope,
    /// Its bytes, all of them characters.
    pub source: String,
}

/// The Message-ID that a call's letter has at each attempt, so that it is known again: fixed by what was asked about.
pub(crate) fn message_id(call: &str, arguments: &str, settings: &Settings) -> String {
    let sum = Sha256::digest(format!("{}\n{call}\n{arguments}", settings.address));
    let sum: String = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{sum}.mail@{}", settings.domain())
}

/// Makes it; `answered` is the letter that it answers.
///
/// # Errors
/// When an address is none, or the letter cannot be made.
pub(crate) fn compose(
    draft: &Draft,
    answered: Option<&Letter>,
    message_id: String,
    settings: &Settings,
    now: Timestamp,
) -> Result<ReadyLetter, MailError> {
    let mut builder = Message::builder()
        .message_id(Some(format!("<{message_id}>")))
        .date(SystemTime::from(now))
        .from(own(settings)?)
        .subject(one_line(&draft.subject, SUBJECT_CHARS_MAX));
    builder = mailboxes(&draft.to)?.into_iter().fold(builder, MessageBuilder::to);
    builder = mailboxes(&draft.cc)?.into_iter().fold(builder, MessageBuilder::cc);
    if let Some(id) = answered.and_then(|letter| letter.message_id.as_deref()) {
        let before = answered.map(|letter| letter.references.as_slice()).unwrap_or_default();
        builder = builder.in_reply_to(format!("<{id}>")).references(references(before, id));
    }
    // The line is ended by the letter.
    let text = draft.text.trim_end().replace("\r\n", "\n");
    let letter = builder.singlepart(SinglePart::plain(text)).map_err(unfit)?;
    let envelope = letter.envelope().clone();
    // What lettre writes is in characters: a body in others is packed.
    let source = String::from_utf8(letter.formatted()).map_err(unfit)?;
    Ok(ReadyLetter { message_id, envelope, source })
}

fn unfit(error: impl std::fmt::Display) -> MailError {
    MailError::Unfit(format!("The letter cannot be made: {error}."))
}

fn own(settings: &Settings) -> Result<Mailbox, MailError> {
    let address = settings.address.parse::<lettre::Address>().map_err(unfit)?;
    let name = settings.display_name.as_deref().map(|name| one_line(name, SUBJECT_CHARS_MAX));
    Ok(Mailbox::new(name, address))
}

/// Those who are named: `ada@example.org`, or with a name before it.
fn mailboxes(named: &[String]) -> Result<Vec<Mailbox>, MailError> {
    let one = |text: &String| {
        // No header has one in a name, and a person who is asked would not see what it does.
        if text.chars().any(char::is_control) {
            return Err(MailError::Unfit(format!(
                "{text:?} is no address: it has a line break in it. Nothing was done."
            )));
        }
        text.trim()
            .parse::<Mailbox>()
            .map_err(|error| MailError::Unfit(format!("{text:?} is no address: {error}. Nothing was done.")))
    };
    named.iter().map(one).collect()
}

fn references(before: &[String], id: &str) -> String {
    let mut all: Vec<&str> = before.iter().map(String::as_str).filter(|known| *known != id).collect();
    all.push(id);
    if all.len() > REFERENCES_MAX {
        all.drain(1..=all.len() - REFERENCES_MAX);
    }
    all.iter().map(|id| format!("<{id}>")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::{DEADLINE, ServerAddress};
    use hob_email::settings::Security;
    use hob_tools::audience::People;

    pub(crate) fn settings() -> Settings {
        let place = ServerAddress { host: "localhost".to_owned(), port: 1, security: Security::Plain };
        Settings {
            name: "ada".to_owned(),
            people: People::default(),
            address: "ada@home.example".to_owned(),
            display_name: Some("Ada".to_owned()),
            user: "ada".to_owned(),
            imap: place.clone(),
            smtp: place,
            ca_file: None,
            folders: BTreeMap::new(),
            keep_sent: true,
            deadline: DEADLINE,
        }
    }

    fn draft(to: &str) -> Draft {
        let text = "Dear Ben,\n\nGrüße\nAda".to_owned();
        Draft {
            to: vec![to.to_owned()],
            cc: vec!["Cy <cy@x.example>".to_owned()],
            subject: "Re: Tea\r\nBcc: eve@x".to_owned(),
            text,
        }
    }

    fn made(draft: &Draft, answered: Option<&Letter>) -> Result<ReadyLetter, MailError> {
        compose(draft, answered, "1@home.example".to_owned(), &settings(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn f3_nobody_is_added_by_a_name_or_by_what_a_letter_says_of_itself() {
        for hostile in [
            "\"A\r\nBcc: eve@x.example\" <ben@x.example>",
            "ben@x.example\nBcc: eve@x.example",
            "a@x.example, b@x.example",
        ] {
            let told = made(&draft(hostile), None).unwrap_err().to_string();
            assert!(told.contains("is no address") && told.ends_with("Nothing was done."), "{told}");
        }
        let letter = b"From: ben@x.example\r\nMessage-ID: <b@x>\r\n Bcc: eve@x.example\r\n\
                       References: <a@x> =?utf-8?Q?=0D=0ABcc:_eve@x.example?=\r\n\r\nTea?\r\n";
        let letter = hob_email::reading::read(letter, letter.len() as u64, "1/1").unwrap();
        let ready = made(&draft("ben@x.example"), Some(&letter)).unwrap();
        assert!(!ready.source.lines().any(|line| line.to_lowercase().starts_with("bcc")), "{}", ready.source);
        let to: Vec<String> = ready.envelope.to().iter().map(ToString::to_string).collect();
        assert_eq!(to, ["ben@x.example", "cy@x.example"]);
    }

    #[test]
    fn an_answer_stands_in_its_thread_and_says_what_was_shown() {
        let letter = b"From: ben@x.example\r\nMessage-ID: <b@x>\r\nReferences: <a@x>\r\n\r\nTea?\r\n";
        let letter = hob_email::reading::read(letter, letter.len() as u64, "1/1").unwrap();
        let ready = made(&draft("ben@x.example"), Some(&letter)).unwrap();
        insta::assert_snapshot!(ready.source.replace("\r\n", "\n"), @"
        Message-ID: <1@home.example>
        Date: Thu, 01 Jan 1970 00:00:00 +0000
        From: Ada <ada@home.example>
        Subject: Re: Tea Bcc: eve@x
        To: ben@x.example
        Cc: Cy <cy@x.example>
        In-Reply-To: <b@x>
        References: <a@x> <b@x>
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: quoted-printable

        Dear Ben,

        Gr=C3=BC=C3=9Fe
        Ada
        ");
        let to: Vec<String> = ready.envelope.to().iter().map(ToString::to_string).collect();
        assert_eq!(to, ["ben@x.example", "cy@x.example"]);
    }

    #[test]
    fn what_is_no_address_is_told_and_nothing_is_made() {
        let told = made(&draft("Ben"), None).unwrap_err().to_string();
        assert!(told.starts_with("\"Ben\" is no address") && told.ends_with("Nothing was done."), "{told}");
    }

    #[test]
    fn an_id_is_the_same_at_each_attempt_and_another_for_each_call() {
        let of = |call: &str, arguments: &str| message_id(call, arguments, &settings());
        assert_eq!(of("run 1, call 2", "{}"), of("run 1, call 2", "{}"));
        assert_ne!(of("run 1, call 2", "{}"), of("run 1, call 3", "{}"));
        assert_ne!(of("run 1, call 2", "{}"), of("run 1, call 2", "{\"to\":[]}"));
        assert!(of("", "").ends_with(".mail@home.example"));
    }
}
