//! Calls that a server takes as tasks alone (MCP 2025-11-25, `execution.taskSupport: "required"`): it answers at once with a
//! task, which is asked for until it is over.
//!
//! The SDK does not read which tools want that. A server says so when it is called without: by the code for what it does not
//! do, and nothing has been done by then.

use std::time::Duration;

use rmcp::model::{CallToolResult, ClientRequest, ContentBlock, CustomRequest, ErrorCode, ServerResult};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};

use crate::mcp::answer::ToolAnswer;
use crate::mcp::connection::Connection;
use crate::mcp::connection::call::CallParams;
use crate::mcp::error::McpError;
use hob_telemetry::tasks;

/// How long a server may keep what came of a task, in milliseconds.
const KEPT_MS: u64 = 600_000;
/// How soon a task is asked for again, where its server does not say.
const AGAIN: Duration = Duration::from_secs(1);
/// The least that a server may say …
const AGAIN_MIN: Duration = Duration::from_millis(50);
/// … and the most.
const AGAIN_MAX: Duration = Duration::from_secs(10);

/// How long a server may take to let a task go.
const CANCEL_MAX: Duration = Duration::from_secs(10);

/// Whether an error says that the server does not do what it was asked for.
pub(super) fn is_undone(error: &ServiceError) -> bool {
    matches!(error, ServiceError::McpError(error) if error.code == ErrorCode::METHOD_NOT_FOUND)
}

/// The same where the protocol's own SDK for TypeScript has put its error into a result.
pub(super) fn tells_undone(result: &CallToolResult) -> bool {
    let undone = format!("MCP error {}:", ErrorCode::METHOD_NOT_FOUND.0);
    let first = result.content.first();
    result.is_error == Some(true)
        && matches!(first, Some(ContentBlock::Text(text)) if text.text.starts_with(undone.as_str()))
}

impl Connection {
    /// Calls a tool as a task, and waits until that is over.
    pub(super) async fn call_as_task(&self, tool: &str, call: CallParams) -> Result<ToolAnswer, McpError> {
        let mut params = json!({ "name": tool, "arguments": call.arguments, "task": { "ttl": KEPT_MS } });
        if !call.meta.is_empty() {
            params["_meta"] = Value::Object(call.meta);
        }
        let mut created = self.ask("tools/call", params).await?;
        let mut task = created["task"].take();
        let id = task["taskId"].as_str().ok_or(McpError::Strange)?.to_owned();
        let mut open = OpenTask { peer: self.service.peer().clone(), id: Some(id.clone()) };
        // The SDK leaves this out of later answers.
        let pause = poll_interval(&task);
        loop {
            match task["status"].as_str() {
                Some("completed" | "failed" | "cancelled") => break,
                // Nobody is asked on its behalf, so it would wait for ever.
                Some("input_required") => return Err(McpError::WantsInput),
                _ => tokio::time::sleep(pause).await,
            }
            self.allowance.reset();
            task = self.ask("tasks/get", json!({ "taskId": id })).await?;
        }
        open.id = None;
        let result = self.ask("tasks/result", json!({ "taskId": id })).await?;
        let result: CallToolResult = serde_json::from_value(result).map_err(|_other| McpError::Strange)?;
        Ok(ToolAnswer::of(&result))
    }

    /// Asks for something that the SDK has no type for.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, McpError> {
        match self.service.peer().send_request(custom(method, params)).await {
            Ok(ServerResult::CustomResult(result)) => Ok(result.0),
            Ok(result) => serde_json::to_value(result).map_err(|_unwritable| McpError::Strange),
            Err(error) => Err(self.failure(error).await),
        }
    }
}

fn custom(method: &str, params: Value) -> ClientRequest {
    ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)))
}

/// A task that somebody waits for. Whoever goes before it is over, as a run does that is stopped, has the server told that
/// nobody wants it any more.
struct OpenTask {
    peer: Peer<RoleClient>,
    /// None: it is over.
    id: Option<String>,
}

impl Drop for OpenTask {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let (peer, cancel) = (self.peer.clone(), custom("tasks/cancel", json!({ "taskId": id })));
        tasks::spawn_if_running("mcp.cancel", async move {
            let told = tokio::time::timeout(CANCEL_MAX, peer.send_request(cancel)).await;
            if !matches!(told, Ok(Ok(_))) {
                tracing::debug!(task = id, "a server did not hear that nobody wants its task any more");
            }
        });
    }
}

fn poll_interval(task: &Value) -> Duration {
    task["pollInterval"].as_u64().map_or(AGAIN, Duration::from_millis).clamp(AGAIN_MIN, AGAIN_MAX)
}
