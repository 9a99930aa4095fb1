//! A form with a file in it, as the Bot API takes it.

use std::fmt::Write as _;

use teloxide::payloads::SendMessage;

use crate::call::CallError;
use hob_core::domain::outgoing::{DeliveryError, Outgoing, OutgoingFile};

/// What Telegram takes from bots at most.
const FILE_BYTES_MAX: u64 = 50 << 20;

/// Photos beyond this size are sent as documents: Telegram takes no larger ones.
const PHOTO_BYTES_MAX: u64 = 10 << 20;
/// How long the words that end a part are.
const BOUNDARY: &str = "hob-form-boundary";

/// The body of a request with a file.
pub(super) struct MultipartForm {
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// How a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UploadKind {
    Photo,
    Voice,
    Document,
}

impl UploadKind {
    /// What Telegram shows as a picture is one, and what it plays as a voice is one.
    fn of(file: &OutgoingFile) -> Self {
        match file.mime.as_str() {
            "image/jpeg" | "image/png" if file.bytes <= PHOTO_BYTES_MAX => Self::Photo,
            "audio/opus" => Self::Voice,
            _ => Self::Document,
        }
    }
}

/// A file on its way out.
pub(super) struct Upload<'a> {
    file: &'a OutgoingFile,
    content: Vec<u8>,
    how: UploadKind,
}

impl<'a> Upload<'a> {
    /// The file of a message, if it has one.
    pub(super) async fn of(message: &'a Outgoing) -> Result<Option<Self>, DeliveryError> {
        let Some(file) = &message.file else {
            return Ok(None);
        };
        if file.bytes > FILE_BYTES_MAX {
            let why = "the file is larger than the 50 MB that Telegram takes from bots".to_owned();
            return Err(DeliveryError::Refused { why });
        }
        let content = tokio::fs::read(&file.path).await;
        let content =
            content.map_err(|error| DeliveryError::Refused { why: format!("the file cannot be read: {error}") })?;
        Ok(Some(Self { file, content, how: UploadKind::of(file) }))
    }

    /// Did Telegram refuse to take it as what it is? Of voices whoever gets them may have said so.
    pub(super) fn is_refused(&self, error: &CallError) -> bool {
        let CallError::Api { status: 400, description, .. } = error else { return false };
        match self.how {
            UploadKind::Photo => {
                description.to_lowercase().contains("photo") || description.contains("IMAGE_PROCESS_FAILED")
            }
            UploadKind::Voice => description.to_lowercase().contains("voice"),
            UploadKind::Document => false,
        }
    }

    /// As a document Telegram takes everything.
    pub(super) fn as_document(&mut self) {
        self.how = UploadKind::Document;
    }

    pub(super) fn method(&self) -> &'static str {
        match self.how {
            UploadKind::Photo => "SendPhoto",
            UploadKind::Voice => "SendVoice",
            UploadKind::Document => "SendDocument",
        }
    }

    fn field(&self) -> &'static str {
        match self.how {
            UploadKind::Photo => "photo",
            UploadKind::Voice => "voice",
            UploadKind::Document => "document",
        }
    }
}

/// The form for a file with the address and the words of `payload`.
pub(super) fn form(payload: &SendMessage, upload: &Upload<'_>) -> Result<MultipartForm, serde_json::Error> {
    let Upload { file, content, .. } = upload;
    let boundary = boundary(content);
    let mut head = String::new();
    let mut field = |name: &str, value: &str| {
        let part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        head.push_str(&part);
    };
    field("chat_id", plain(&serde_json::to_value(&payload.chat_id)?).as_str());
    if let Some(thread) = payload.message_thread_id {
        field("message_thread_id", &thread.to_string());
    }
    if !payload.text.is_empty() {
        field("caption", &payload.text);
    }
    if let Some(mode) = &payload.parse_mode {
        field("parse_mode", plain(&serde_json::to_value(mode)?).as_str());
    }
    if let Some(reply) = &payload.reply_parameters {
        field("reply_parameters", &serde_json::to_string(reply)?);
    }
    if let Some(markup) = &payload.reply_markup {
        field("reply_markup", &serde_json::to_string(markup)?);
    }
    let (kind, name) = (upload.field(), quoted(&file.name));
    // Telegram knows a voice by what Opus lies in.
    let mime = if upload.how == UploadKind::Voice { "audio/ogg" } else { file.mime.as_str() };
    if let Err(error) = write!(
        head,
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{kind}\"; filename=\"{name}\"\r\nContent-Type: {mime}\r\n\r\n"
    ) {
        tracing::debug!(%error, "a text could not be written into a text");
    }
    let tail = format!("\r\n--{boundary}--\r\n");
    let body = [head.as_bytes(), content, tail.as_bytes()].concat();
    Ok(MultipartForm { content_type: format!("multipart/form-data; boundary={boundary}"), body })
}

/// A number or a name, without quotes.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A file's name within quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that does not stand in the content.
fn boundary(content: &[u8]) -> String {
    let stands = |boundary: &str| content.windows(boundary.len()).any(|window| window == boundary.as_bytes());
    let mut boundary = BOUNDARY.to_owned();
    let mut number = 0_u64;
    while stands(&boundary) {
        number += 1;
        boundary = format!("{BOUNDARY}-{number}");
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_a_content_cannot_end_its_part() {
        assert_eq!(boundary(b"plain"), BOUNDARY);
        let nasty = format!("--{BOUNDARY}--\r\n--{BOUNDARY}-1");
        assert_eq!(boundary(nasty.as_bytes()), format!("{BOUNDARY}-2"));
        assert_eq!(quoted("a\"\r\nb"), "a%22%0D%0Ab");
    }
}
