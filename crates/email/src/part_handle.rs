//! Where a file of a letter lies in the mailbox, as text that is kept with it; and the file from there.

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, GetHeader as _, HeaderName, MessagePart};

use crate::command::fetch;
use crate::connect::{ImapSession, MailboxError, open};
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;

/// A part of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartHandle {
    /// `UIDVALIDITY/UID` of the letter.
    pub(super) letter: String,
    /// IMAP's number of the part.
    pub(super) section: String,
    /// How it is written down in the letter.
    pub(super) encoding: Encoding,
}

/// A letter's place in a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MailboxPosition {
    pub(super) validity: u32,
    pub(super) uid: u32,
}

impl MailboxPosition {
    pub(super) fn encode(self) -> String {
        format!("{}/{}", self.validity, self.uid)
    }
}

impl PartHandle {
    /// As it is kept.
    pub(super) fn encode(&self) -> String {
        let encoding = match self.encoding {
            Encoding::None => "plain",
            Encoding::QuotedPrintable => "quoted",
            Encoding::Base64 => "base64",
        };
        format!("{}/{}/{encoding}", self.letter, self.section)
    }

    /// As it was kept; none: it is no part's.
    pub(super) fn decode(text: &str) -> Option<(Self, MailboxPosition)> {
        let mut parts = text.split('/');
        let (validity, uid) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let section = parts
            .next()
            .filter(|section| !section.is_empty() && section.split('.').all(|n| n.parse::<u16>().is_ok()))?;
        let encoding = match parts.next()? {
            "plain" => Encoding::None,
            "quoted" => Encoding::QuotedPrintable,
            "base64" => Encoding::Base64,
            _ => return None,
        };
        let spot = MailboxPosition { validity, uid };
        Some((Self { letter: spot.encode(), section: section.to_owned(), encoding }, spot))
    }

    /// What the part holds.
    pub(super) fn open(&self, raw: Vec<u8>) -> Option<Vec<u8>> {
        match self.encoding {
            Encoding::None => Some(raw),
            Encoding::QuotedPrintable => quoted_printable_decode(&raw),
            Encoding::Base64 => base64_decode(&raw),
        }
    }
}

/// Fetches a file of a letter that lies in this folder. What the file itself keeps from it is no failure of the mailbox.
///
/// # Errors
/// When the server does not let it be looked for.
pub async fn fetch_file(
    session: &mut ImapSession,
    folder: &str,
    attachment: &Attachment,
    bytes_max: u64,
) -> Result<Result<Vec<u8>, FetchError>, MailboxError> {
    let no = |why: &str| Ok(Err(FetchError(why.to_owned())));
    let Some((handle, spot)) = PartHandle::decode(&attachment.handle) else {
        return no("its place in the letter cannot be read");
    };
    let too_big = || no(&format!("it is larger than {} MB", bytes_max >> 20));
    if attachment.bytes.is_some_and(|bytes| bytes > bytes_max) {
        return too_big();
    }
    // Base64 makes four bytes of three, and breaks lines.
    let raw_max = bytes_max.saturating_mul(3) / 2 + 4_096;
    let (_, validity) = open(session, folder, false).await?;
    let command = format!("UID FETCH {} (UID BODY.PEEK[{}]<0.{raw_max}>)", spot.uid, handle.section);
    let shown = if validity == spot.validity { fetch(session, &command).await? } else { Vec::new() };
    let Some(raw) = shown.into_iter().filter(|shown| shown.uid == spot.uid).find_map(|shown| shown.content) else {
        return no("the letter is not in the mailbox any more");
    };
    if raw.len() as u64 >= raw_max {
        return too_big();
    }
    match handle.open(raw) {
        Some(bytes) if bytes.len() as u64 > bytes_max => too_big(),
        Some(bytes) => Ok(Ok(bytes)),
        None => no("it is damaged"),
    }
}

/// How a part says that it is written down.
pub(super) fn encoding_of(part: &MessagePart<'_>) -> Encoding {
    let said = part.headers.header_value(&HeaderName::ContentTransferEncoding).and_then(|how| how.as_content_type());
    match said.map(|how| how.ctype().trim().to_lowercase()).as_deref() {
        Some("base64") => Encoding::Base64,
        Some("quoted-printable") => Encoding::QuotedPrintable,
        _ => Encoding::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_files_place_is_read_again() {
        for encoding in [Encoding::None, Encoding::QuotedPrintable, Encoding::Base64] {
            let spot = MailboxPosition { validity: 7, uid: 12 };
            let handle = PartHandle { letter: spot.encode(), section: "1.2".to_owned(), encoding };
            assert_eq!(PartHandle::decode(&handle.encode()), Some((handle, spot)));
        }
        for bad in ["", "7/12", "7/12/1.2", "7/x/1/plain", "7/12/1]/plain", "7/12//plain", "7/12/1/zip"] {
            assert_eq!(PartHandle::decode(bad), None, "{bad}");
        }
    }
}
