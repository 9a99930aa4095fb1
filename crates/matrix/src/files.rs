//! Files: fetched and opened, sealed and uploaded. In an encrypted room the homeserver sees only what is sealed.

use std::io::{Cursor, Read as _};
use std::time::Duration;

use matrix_sdk_crypto::{AttachmentDecryptor, AttachmentEncryptor, MediaEncryptionInfo};
use reqwest::Method;
use ruma::RoomId;
use serde_json::{Value, json};
use tracing::debug;

use crate::content::{self, file_type};
use crate::convert::text;
use crate::machine::MachineError;
use crate::send::outcome;
use crate::session::Session;
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;
use hob_core::domain::outgoing::{DeliveryError, Outgoing, OutgoingFile};
use hob_core::domain::text::causes;

/// How long one try of a download, or an upload, may take.
const TRANSFER_MAX: Duration = Duration::from_secs(60);
/// How often a download is tried.
const TRIES: u32 = 3;

/// Why one try brought nothing.
enum DownloadError {
    /// Another try changes nothing.
    For(String),
    /// It may pass.
    Perhaps(String),
}

/// Fetches the file; what passes by itself is tried again.
pub(super) async fn fetch(session: &Session, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
    let too_big = || FetchError(format!("it is larger than {} MB", bytes_max >> 20));
    if attachment.bytes.is_some_and(|bytes| bytes > bytes_max) {
        return Err(too_big());
    }
    let file: Value = serde_json::from_str(&attachment.handle).unwrap_or_default();
    let mut tried = 1;
    let bytes = loop {
        let why = match attempt(session, &file, bytes_max).await {
            Ok(Some(bytes)) => break bytes,
            Ok(None) => return Err(too_big()),
            Err(DownloadError::For(why)) => return Err(FetchError(why)),
            Err(DownloadError::Perhaps(why)) => why,
        };
        if tried >= TRIES {
            return Err(FetchError(format!("the homeserver could not be asked for it: {why}")));
        }
        debug!(channel = "matrix", %why, "a file is asked for again: {why}");
        tokio::time::sleep(Duration::from_secs(1) * tried).await;
        tried += 1;
    };
    match file.get("key") {
        Some(_) => opened(file, bytes).map_err(|why| FetchError(format!("it cannot be decrypted: {why}"))),
        None => Ok(bytes),
    }
}

/// One try; none: it is too big.
async fn attempt(session: &Session, file: &Value, bytes_max: u64) -> Result<Option<Vec<u8>>, DownloadError> {
    let address = text(file, "url").and_then(|url| url.strip_prefix("mxc://")?.split_once('/'));
    let Some((server, id)) = address else {
        return Err(DownloadError::For("its address is none".to_owned()));
    };
    let request = session.api.request(Method::GET, &["client", "v1", "media", "download", server, id]);
    let request = request.map_err(|error| DownloadError::For(error.to_string()))?.timeout(TRANSFER_MAX);
    let lost = |error: reqwest::Error| DownloadError::Perhaps(causes(&error.without_url()));
    let answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    if matches!(status.as_u16(), 400..=404) {
        return Err(DownloadError::For("the homeserver does not have it".to_owned()));
    }
    if !status.is_success() {
        return Err(DownloadError::Perhaps(status.to_string()));
    }
    hob_http::body_within(answer, bytes_max).await.map_err(lost)
}

/// What was sealed, as it was. A file that was changed on its way is none.
fn opened(file: Value, sealed: Vec<u8>) -> Result<Vec<u8>, String> {
    let info: MediaEncryptionInfo = serde_json::from_value(file).map_err(|error| error.to_string())?;
    let (mut sealed, mut bytes) = (Cursor::new(sealed), Vec::new());
    let mut reader = AttachmentDecryptor::new(&mut sealed, info).map_err(|error| error.to_string())?;
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The file with the key that opens it, as a message tells of it.
fn sealed(bytes: Vec<u8>) -> Result<(Value, Vec<u8>), String> {
    let (mut bytes, mut sealed) = (Cursor::new(bytes), Vec::new());
    let mut reader = AttachmentEncryptor::new(&mut bytes);
    reader.read_to_end(&mut sealed).map_err(|error| error.to_string())?;
    let info = serde_json::to_value(reader.finish()).map_err(|error| error.to_string())?;
    Ok((info, sealed))
}

/// Uploads the file, and gives the message that shows it, with the words under it. That shows nobody anything yet.
pub(super) async fn upload(
    session: &Session,
    room: &RoomId,
    message: &Outgoing,
    file: &OutgoingFile,
) -> Result<Value, DeliveryError> {
    let refused = |why: String| DeliveryError::Refused { why: format!("the file cannot be read: {why}") };
    let bytes = tokio::fs::read(&file.path).await.map_err(|error| refused(error.to_string()))?;
    let room = session.rooms.get(session, room).await.map_err(|error| outcome(&error))?;
    let (seal, bytes, mime) = match room.is_encrypted {
        true => {
            let (info, bytes) = sealed(bytes).map_err(refused)?;
            (Some(info), bytes, "application/octet-stream")
        }
        false => (None, bytes, file.mime.as_str()),
    };
    let url = stored(session, bytes, mime).await?;
    let mut content = content::words(&message.text, message.markup.as_deref());
    if message.text.is_empty() {
        content["body"] = file.name.as_str().into();
    }
    content["msgtype"] = file_type(&file.mime).into();
    content["filename"] = file.name.as_str().into();
    content["info"] = json!({"mimetype": file.mime, "size": file.bytes});
    match seal {
        Some(mut info) => {
            info["url"] = url.into();
            content["file"] = info;
        }
        None => content["url"] = url.into(),
    }
    Ok(content)
}

/// Gives the address under which the homeserver has it.
async fn stored(session: &Session, bytes: Vec<u8>, mime: &str) -> Result<String, DeliveryError> {
    let again = |why: String| DeliveryError::Retry { after: None, why: format!("the file was not taken: {why}") };
    let request = session.api.request(Method::POST, &["media", "v3", "upload"]);
    let request = request.map_err(|error| outcome(&MachineError::from(error)))?.timeout(TRANSFER_MAX);
    let answer = request.header("content-type", mime.to_owned()).body(bytes).send().await;
    let answer = answer.map_err(|error| again(causes(&error.without_url())))?;
    let status = answer.status();
    if status.as_u16() == 413 {
        return Err(DeliveryError::Refused { why: "the homeserver takes no file of this size".to_owned() });
    }
    let body: Value = answer.json().await.map_err(|error| again(causes(&error.without_url())))?;
    text(&body, "content_uri").map(str::to_owned).ok_or_else(|| again(status.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_a_file_is_sealed_and_a_changed_one_is_refused() {
        let (mut info, sealed) = sealed(b"milk".to_vec()).unwrap();
        info["url"] = "mxc://x/1".into();
        assert_ne!(sealed, b"milk");
        assert_eq!(opened(info.clone(), sealed.clone()).unwrap(), b"milk");
        let changed = sealed.iter().map(|byte| byte ^ 1).collect();
        assert!(opened(info, changed).is_err());
    }
}
