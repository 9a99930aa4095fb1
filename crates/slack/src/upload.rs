//! A file on its way out: an address for it, its content, then the message that shows it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Slack;
use crate::convert::{list, text};
use crate::files::is_slacks;
use crate::outcome::{outcome, repeatable_outcome};
use crate::send::{PostTarget, thread_gone};
use hob_core::domain::outgoing::{DeliveryError, OutgoingFile, Receipt};
use hob_core::domain::text::causes;

/// How long the content may take to go out; less than the outbox waits.
const UPLOAD_MAX: Duration = Duration::from_secs(80);

/// Sends the file, with the words beside it. Only the last of the three steps shows anybody anything.
pub(super) async fn upload(
    slack: &Slack,
    place: &PostTarget,
    words: &str,
    file: &OutgoingFile,
) -> Result<Receipt, DeliveryError> {
    let content = tokio::fs::read(&file.path).await;
    let content =
        content.map_err(|error| DeliveryError::Refused { why: format!("the file cannot be read: {error}") })?;
    is_there(slack, place).await?;
    let arguments = [("filename", file.name.clone()), ("length", content.len().to_string())];
    let opened =
        slack.web.get("files.getUploadURLExternal", &arguments).await.map_err(|error| repeatable_outcome(&error))?;
    let (Some(address), Some(id)) = (text(&opened, "upload_url"), text(&opened, "file_id")) else {
        return Err(retry_error("Slack named no address for the file"));
    };
    upload_content(slack, address, content).await?;
    let mut body = json!({"files": [{"id": id, "title": file.name}], "channel_id": place.channel});
    if !words.is_empty() {
        body["initial_comment"] = words.into();
    }
    if let Some(thread) = &place.thread {
        body["thread_ts"] = thread.as_str().into();
    }
    let shown = slack.web.post("files.completeUploadExternal", &body).await.map_err(|error| outcome(&error))?;
    slack.signs.posted(place);
    Ok(Receipt { external_id: posted_message(&shown, &place.channel) })
}

/// Is the thread still there? Slack may show a file of one that is gone to the whole channel, and does not say at once
/// where it stands: it could not be taken back.
async fn is_there(slack: &Slack, place: &PostTarget) -> Result<(), DeliveryError> {
    let Some(thread) = &place.thread else {
        return Ok(());
    };
    let arguments = [("channel", place.channel.clone()), ("ts", thread.clone()), ("limit", "1".to_owned())];
    match slack.web.get("conversations.replies", &arguments).await {
        Ok(page) if list(&page, "messages").next().is_some() => Ok(()),
        Ok(_) => Err(thread_gone()),
        Err(error) if error.code() == Some("thread_not_found") => Err(thread_gone()),
        // Where Hob may not look, it sends as it was told.
        Err(error) if matches!(error.code(), Some("missing_scope" | "not_allowed_token_type")) => Ok(()),
        Err(error) => Err(repeatable_outcome(&error)),
    }
}

fn retry_error(why: &str) -> DeliveryError {
    DeliveryError::Retry { after: None, why: why.to_owned() }
}

async fn upload_content(slack: &Slack, address: &str, content: Vec<u8>) -> Result<(), DeliveryError> {
    let address = url::Url::parse(address).ok().filter(|address| is_slacks(address, &slack.settings.api_url));
    let Some(address) = address else {
        return Err(retry_error("Slack named an address for the file that is not its own"));
    };
    let request = slack.files.post(address).timeout(UPLOAD_MAX).header("content-type", "application/octet-stream");
    match request.body(content).send().await {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(retry_error(&format!("the file was not taken: {}", answer.status()))),
        Err(error) => Err(retry_error(&format!("the file was not taken: {}", causes(&error.without_url())))),
    }
}

/// The message that shows the file, where Slack says already which it is.
fn posted_message(shown: &Value, channel: &str) -> Option<String> {
    let shares = list(shown, "files").next().map(|file| &file["shares"])?;
    let ways = [&shares["private"], &shares["public"]];
    let post = ways.into_iter().find_map(|way| list(way, channel).next())?;
    text(post, "ts").map(str::to_owned)
}
