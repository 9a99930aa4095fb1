//! What the fuzz target in `fuzz/` calls; there only with the feature `fuzzing`.
//!
//! Never: I/O. Each letter is read; whatever stands in it, what is handed in keeps to its laws.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::letter::{FetchedLetter, LetterOutcome, read};
use crate::part_handle::{MailboxPosition, PartHandle};
use crate::settings::{Authentication, Credential, Security, Server, Settings, Timing};
use hob_core::domain::email_envelope::Envelope;
use hob_core::domain::inbound::{InboundEvent, SenderProof};
use hob_core::domain::secret::Secret;

/// The settings of a mailbox that is nowhere.
pub fn settings() -> Settings {
    let server = Server {
        host: "localhost".to_owned(),
        port: 1,
        user: "hob".to_owned(),
        credential: Credential::Password(Secret::new(String::new())),
    };
    Settings {
        account: "default".to_owned(),
        address: "hob@home.example".to_owned(),
        name: "Hob".to_owned(),
        aliases: vec!["butler@home.example".to_owned()],
        imap: server.clone(),
        smtp: server,
        imap_security: Security::Plain,
        smtp_security: Security::Plain,
        ca_file: None,
        folder: "INBOX".to_owned(),
        sent_folder: None,
        mark_seen: true,
        authentication: Authentication { authserv_ids: vec!["mx.home.example".to_owned()], verify: false },
        answer_automatic_from: Vec::new(),
        reply_all: true,
        poll: Duration::from_secs(60),
        letter_bytes_max: 1 << 20,
        pace: Timing::PRODUCTION,
    }
}

/// A letter, whatever stands in it.
///
/// # Panics
/// When a law does not hold.
pub fn letter(raw: &[u8]) {
    let spot = MailboxPosition { validity: 1, uid: 1 };
    let fetched = FetchedLetter { raw, bytes: raw.len() as u64, spot, came_at: Timestamp::UNIX_EPOCH };
    let settings = settings();
    let inbound = match read(&fetched, &settings) {
        LetterOutcome::Said(inbound) => inbound,
        LetterOutcome::Passed { why } => {
            assert!(!why.is_empty(), "what is passed over has a reason");
            return;
        }
    };
    assert!(!inbound.external_id.is_empty() && !inbound.conversation.chat.is_empty(), "it has an id and a thread");
    let sender = &inbound.sender.external_id;
    assert!(
        !settings.is_own(sender) && sender.contains('@') && *sender == sender.to_lowercase(),
        "its sender is another"
    );
    let lines = [&inbound.sender.name, sender, &inbound.external_id, &inbound.conversation.chat];
    assert!(lines.iter().all(|line| !line.contains(['\n', '\r', '\0'])), "nothing breaks out of its line");
    let InboundEvent::Posted { text } = &inbound.happening else { panic!("a letter is posted") };
    assert!(!text.is_empty() || !inbound.attachments.is_empty(), "it says something");
    let envelope = inbound.metadata.envelope.as_deref().and_then(Envelope::decode);
    let envelope = envelope.unwrap_or_else(|| panic!("it can be answered"));
    let recipients: Vec<&str> = envelope.recipients().collect();
    let different: BTreeSet<&&str> = recipients.iter().collect();
    assert_eq!(recipients.len(), different.len(), "nobody gets an answer twice");
    assert!(recipients.iter().all(|address| !settings.is_own(address)), "Hob does not write to itself");
    assert!(
        inbound.attachments.iter().all(|file| PartHandle::decode(&file.handle).is_some()),
        "its files can be found"
    );
    if inbound.metadata.proof == SenderProof::Platform {
        assert!(
            String::from_utf8_lossy(raw).to_lowercase().contains("authentication-results"),
            "nobody vouches for himself"
        );
    }
}
