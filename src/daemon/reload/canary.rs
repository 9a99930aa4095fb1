//! Tries out what is new before anything changes: the first model by a small call, a channel by its own question.

use std::time::Duration;

use crate::daemon::channels::ConnectedAccount;
use crate::daemon::reload::refusal::RefusalReason;
use hob_model::catalog::Catalog;
use hob_model::message::Message;
use hob_model::provider::{NoSink, Request, ToolChoice};

/// A model must answer within this.
const MODEL_MAX: Duration = Duration::from_secs(45);
/// A platform must answer within this.
const CHANNEL_MAX: Duration = Duration::from_secs(20);
/// Tokens of the answer, at most; nobody reads it.
const TOKENS_MAX: u64 = 64;

/// Asks the first model something small.
pub(super) async fn model(models: &Catalog) -> Result<(), RefusalReason> {
    let Some(label) = models.by_role("primary") else { return Ok(()) };
    // What rests is asked all the same: the change may be what mends it.
    let Some(provider) = models.get_forced(label) else { return Ok(()) };
    let request = Request {
        system: "You are being tried out. Answer with the one word: yes.".to_owned(),
        messages: vec![Message::user("Are you there?")],
        stable: 0,
        tools: Vec::new().into(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: Some(TOKENS_MAX),
        session: None,
    };
    let why = match tokio::time::timeout(MODEL_MAX, provider.complete(&request, &NoSink)).await {
        Ok(Ok(_answer)) => return Ok(()),
        Ok(Err(error)) => format!("[provider]: {label} was asked and did not answer: {}", error.message),
        Err(_elapsed) => format!("[provider]: {label} was asked and did not answer within {MODEL_MAX:?}"),
    };
    Err(RefusalReason::model(why))
}

/// Asks the platform who Hob is there.
pub(super) async fn channel(connected: &ConnectedAccount) -> Result<(), RefusalReason> {
    let (kind, account) = connected.connector.address();
    let why = match tokio::time::timeout(CHANNEL_MAX, connected.adapter.check()).await {
        Ok(Ok(_name)) => return Ok(()),
        Ok(Err(why)) => format!("[{kind}] ({account}): {why}"),
        Err(_elapsed) => format!("[{kind}] ({account}): no answer within {CHANNEL_MAX:?}"),
    };
    Err(RefusalReason::channel(why))
}
