//! An adapter that runs against the servers, and an intake that remembers as the database does.
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::domain::ids::OutboxId;
use hob_core::domain::inbound::Inbound;
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_email::Email;
use hob_email::settings::{Authentication, Credential, Security, Server, Settings, Timing};

use crate::adapter;
use hob_testkit::intake::Memory;
use hob_testkit::mail_servers::{Servers, files};

/// Fast enough for a test, slow enough for two busy cores.
const PACE: Timing = Timing {
    retry_min: Duration::from_millis(10),
    retry_max: Duration::from_millis(200),
    retry_refused: Duration::from_millis(200),
    command_deadline: Duration::from_secs(20),
    idle_max: Duration::from_secs(60),
    pass_over_after: Duration::from_secs(600),
};

/// An adapter at work.
pub(crate) type RunningAdapter = adapter::RunningAdapter<Email>;

impl RunningAdapter {
    /// One that knows nothing yet; it is waited for its first look.
    pub(crate) async fn start(servers: &Servers) -> Self {
        let running = Self::resume(settings(servers), Arc::default());
        // Its first look is over.
        running.intake.until_cursor(|cursors| !cursors.is_empty()).await;
        running
    }

    /// One with what an earlier one has stored.
    pub(crate) fn resume(settings: Settings, intake: Arc<Memory>) -> Self {
        Self::by(Arc::new(SystemClock), settings, intake)
    }

    /// One that goes by this clock.
    pub(crate) fn by(clock: Arc<dyn Clock>, settings: Settings, intake: Arc<Memory>) -> Self {
        Self::of(Email::new(settings, clock, Arc::new(SystemRng)).unwrap(), intake)
    }
}

pub(crate) fn settings(servers: &Servers) -> Settings {
    settings_at(servers.imap_port, servers.smtp_port)
}

/// Those for servers at these ports.
pub(crate) fn settings_at(imap_port: u16, smtp_port: u16) -> Settings {
    let server = |port| Server {
        host: "localhost".to_owned(),
        port,
        user: "hob".to_owned(),
        credential: Credential::Password(Secret::new("secret".to_owned())),
    };
    Settings {
        account: "default".to_owned(),
        address: "hob@home.example".to_owned(),
        name: "Hob".to_owned(),
        aliases: vec!["butler@home.example".to_owned()],
        imap: server(imap_port),
        smtp: server(smtp_port),
        imap_security: Security::Tls,
        smtp_security: Security::Tls,
        ca_file: Some(files().join("localhost.crt")),
        folder: "INBOX".to_owned(),
        sent_folder: None,
        mark_seen: true,
        authentication: Authentication { authserv_ids: vec!["mx.home.example".to_owned()], verify: false },
        answer_automatic_from: Vec::new(),
        reply_all: true,
        poll: Duration::from_millis(50),
        letter_bytes_max: 1 << 20,
        pace: PACE,
    }
}

/// A letter of these words.
pub(crate) fn letter(number: usize, from: &str, text: &str) -> Vec<u8> {
    format!(
        "From: <{from}>\r\nTo: <hob@home.example>\r\nSubject: Letter {number}\r\nMessage-ID: <{number}@example.org>\r\n\
         Date: Thu, 1 Jan 2026 10:00:00 +0000\r\n\r\n{text}\r\n"
    )
    .into_bytes()
}

/// An answer to a letter that came.
pub(crate) fn answer(letter: &Inbound, row: i64, text: &str) -> Outgoing {
    Outgoing {
        id: OutboxId(row),
        destination: Destination {
            conversation: letter.conversation.clone(),
            reply_to: Some(letter.external_id.clone()),
        },
        run: None,
        text: text.to_owned(),
        markup: Some(format!("<p>{text}</p>")),
        replaces: None,
        envelope: letter.metadata.envelope.clone(),
        choices: Vec::new(),
        file: None,
        may_repeat: false,
    }
}
