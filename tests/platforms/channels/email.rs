//! E-mail, over real servers: what Ada gets, without what it quotes.

use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::inbound::ChannelKind;
use mail_parser::{MessageParser, MimeHeaders as _};

use crate::channels::platform::{MessagesPredicate, Platform, VisibleMessage};
use hob_testkit::mail_servers::Servers;
use hob_testkit::test_hob::TestHob;

/// How long Hob's mailbox may stay silent before it is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) struct ByEmail {
    servers: Servers,
    letters: Vec<Vec<u8>>,
    /// How often a mailbox has been watched by the Hob at work.
    watched: usize,
}

pub(crate) async fn platform() -> ByEmail {
    ByEmail { servers: Servers::start(), letters: Vec::new(), watched: 0 }
}

fn shown(letter: &str) -> VisibleMessage {
    let letter = MessageParser::new().parse(letter.as_bytes()).unwrap();
    let text = letter.body_text(0).unwrap_or_default();
    let own = text.lines().filter(|line| !line.starts_with('>') && !line.ends_with("wrote:"));
    let file = letter.attachments().next();
    VisibleMessage {
        text: unfolded(own.collect::<Vec<_>>().join("\n").trim()),
        buttons: Vec::new(),
        file: file.map(|part| (part.attachment_name().unwrap().to_owned(), part.contents().to_vec())),
    }
}

/// The lines of a letter are short: a paragraph goes on behind their ends.
fn unfolded(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

impl ByEmail {
    fn here(&self) -> Vec<VisibleMessage> {
        self.servers.got("ada").iter().map(|letter| shown(letter)).collect()
    }

    /// A letter in the one thread that there is, as a server hands it over that has checked its sender.
    fn put(&mut self, headers: &str, body: &str) -> String {
        let number = self.letters.len() + 1;
        let thread = if number == 1 { "" } else { "References: <1@example.org>\r\nIn-Reply-To: <1@example.org>\r\n" };
        let letter = format!(
            "Authentication-Results: mx.home.example; dmarc=pass header.from=example.org\r\nFrom: Ada <ada@example.org>\r\n\
             To: <hob@home.example>\r\nSubject: Home\r\nMessage-ID: <{number}@example.org>\r\n{thread}\
             Date: Thu, 1 Jan 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n{headers}\r\n{body}\r\n"
        );
        self.servers.put(letter.as_bytes());
        self.letters.push(letter.into_bytes());
        (number - 1).to_string()
    }
}

#[async_trait]
impl Platform for ByEmail {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Email
    }

    fn settings(&self) -> String {
        self.servers.settings() + "replies_per_hour_max = 1000\nowner_addresses = ['ada@example.org']\n"
    }

    async fn connected(&mut self, hob: &TestHob) {
        let process = hob.process.as_ref().unwrap();
        while process.log().matches("is watched").count() <= self.watched {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn say(&mut self, _house: &TestHob, text: &str) -> String {
        self.put("Content-Type: text/plain; charset=utf-8\r\n", text)
    }

    async fn again(&mut self, _house: &TestHob, id: &str) {
        let index: usize = id.parse().unwrap();
        self.servers.put(&self.letters[index]);
    }

    async fn hand(&mut self, _house: &TestHob, name: &str, bytes: &[u8], text: &str) {
        let content = String::from_utf8(bytes.to_vec()).unwrap().replace('\n', "=0A=\r\n");
        let body = format!(
            "--part\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--part\r\nContent-Type: text/plain; name=\"{name}\"\r\n\
             Content-Disposition: attachment; filename=\"{name}\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
             {content}\r\n--part--"
        );
        self.put("Content-Type: multipart/mixed; boundary=part\r\n", &body);
    }

    async fn press(&mut self, _house: &TestHob, label: &str) {
        panic!("a letter has no button {label}");
    }

    async fn until(&self, _house: &TestHob, seen: MessagesPredicate<'_>) -> Vec<VisibleMessage> {
        loop {
            let here = self.here();
            if seen(&here) {
                return here;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn raw(&self, _house: &TestHob) -> String {
        self.servers.got("ada").join("\n")
    }

    async fn goes_down(&mut self, _house: &mut TestHob) {
        self.servers.stop_imap();
        self.servers.stop_smtp();
    }

    async fn comes_back(&mut self, _house: &mut TestHob) {
        self.servers.start_imap();
        self.servers.start_smtp();
    }
}
