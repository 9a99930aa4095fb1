//! A file that came with a message: `getFile`, then the download.

use std::time::Duration;

use serde::Deserialize;
use teloxide::Bot;
use teloxide::payloads::GetFile;
use teloxide::types::FileId;

use crate::call::{CallError, call, download};
use crate::settings::Timing;
use hob_core::domain::channel::FetchError;
use hob_core::domain::inbound::Attachment;

/// What bots may download, by Telegram's own rule.
const BYTES_MAX: u64 = 20 << 20;
/// How often it is tried.
const TRIES: u32 = 3;

/// What `getFile` says: the path is left out where the file is too big.
#[derive(Deserialize)]
struct FileResponse {
    file_path: Option<String>,
}

/// Fetches the file; what passes by itself is tried again.
pub(super) async fn fetch(
    bot: &Bot,
    attachment: &Attachment,
    bytes_max: u64,
    pace: Timing,
) -> Result<Vec<u8>, FetchError> {
    let most = bytes_max.min(BYTES_MAX);
    if attachment.bytes.is_some_and(|bytes| bytes > most) {
        return Err(too_big());
    }
    let mut tried = 1;
    loop {
        let error = match attempt(bot, attachment, most, pace.send_deadline).await {
            Ok(fetched) => return fetched,
            Err(error) => error,
        };
        let wait = match &error {
            CallError::Api { status: 400, description, .. } if description.contains("too big") => return Err(too_big()),
            CallError::Api { retry_after: Some(after), .. } => *after,
            CallError::Api { status: 400..=499, .. } => return Err(FetchError(format!("Telegram says: {error}"))),
            _ => pace.retry_min * tried,
        };
        if tried >= TRIES {
            return Err(FetchError(format!("Telegram could not be asked for it: {error}")));
        }
        tried += 1;
        tokio::time::sleep(wait).await;
    }
}

fn too_big() -> FetchError {
    FetchError("it is larger than the 20 MB that Telegram lets bots have".to_owned())
}

async fn attempt(
    bot: &Bot,
    attachment: &Attachment,
    most: u64,
    deadline: Duration,
) -> Result<Result<Vec<u8>, FetchError>, CallError> {
    let answer = call(bot, &GetFile::new(FileId(attachment.handle.clone())), deadline).await?;
    let path = match answer.result::<FileResponse>() {
        Ok(FileResponse { file_path: Some(path) }) => path,
        Ok(FileResponse { file_path: None }) => return Ok(Err(too_big())),
        Err(error) => return Ok(Err(FetchError(format!("Telegram's answer cannot be read: {error}")))),
    };
    // A server of one's own may keep files on its disk and tell where: nothing is to be downloaded there.
    if path.starts_with('/') {
        return Ok(Err(FetchError("the Bot API server keeps it on its own disk; run it without --local".to_owned())));
    }
    Ok(download(bot, &path, most).await?.ok_or_else(too_big))
}
