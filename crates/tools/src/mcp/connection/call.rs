//! Calls of a server's tools.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientNotification,
    ClientRequest, MetaObject, RequestId, RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};

use crate::dialogue::ActivityListener;
use crate::mcp::answer::ToolAnswer;
use crate::mcp::connection::{Connection, OpenCallGuard, task};
use crate::mcp::error::McpError;
use crate::mcp::listed::{ListedTool, ToolKind};
use hob_telemetry::tasks;

/// The most times that a call is asked for, with what a person said each time.
const ROUNDS_MAX: usize = 10;
/// How long a server may take to hear that nobody waits for it any more.
const CANCEL_MAX: Duration = Duration::from_secs(2);

/// What a tool is called with.
#[derive(Debug, Clone, Default)]
pub(in crate::mcp) struct CallParams {
    /// Its arguments.
    pub(in crate::mcp) arguments: Map<String, Value>,
    /// What its server learns beside them (row A10).
    pub(in crate::mcp) meta: Map<String, Value>,
    /// Who hears how far it is.
    pub(in crate::mcp) activity: ActivityListener,
}

impl Connection {
    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(in crate::mcp) async fn call(
        self: &Arc<Self>,
        tool: &ListedTool,
        call: CallParams,
    ) -> Result<ToolAnswer, McpError> {
        let _call = OpenCallGuard::of(self);
        match tool.kind {
            ToolKind::Tool => self.call_tool(&tool.name, call).await,
            ToolKind::ListResources => self.list_resources().await,
            ToolKind::ReadResource => {
                let uri = call.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
                self.read_resource(uri).await
            }
        }
    }

    async fn call_tool(self: &Arc<Self>, tool: &str, call: CallParams) -> Result<ToolAnswer, McpError> {
        let answer = self.outputs.checked(tool, self.ask_tool(tool, call).await?);
        Ok(ToolAnswer { text: self.login.redact(answer.text), ..answer })
    }

    async fn ask_tool(self: &Arc<Self>, tool: &str, call: CallParams) -> Result<ToolAnswer, McpError> {
        self.allowance.reset();
        let wants_task = || self.as_tasks.lock().unwrap_or_else(PoisonError::into_inner).contains(tool);
        if wants_task() {
            return Box::pin(self.call_as_task(tool, call)).await;
        }
        let answer = self.ask_in_rounds(tool, &call).await;
        let is_undone = match &answer {
            Ok(ServerResult::CallToolResult(result)) => task::tells_undone(result),
            Ok(_) => false,
            Err(error) => task::is_undone(error),
        };
        if is_undone {
            let said = Box::pin(self.call_as_task(tool, call)).await?;
            self.as_tasks.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
            return Ok(said);
        }
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(ToolAnswer::of(&result)),
            Ok(ServerResult::InputRequiredResult(_)) => Err(McpError::WantsInput),
            Ok(_) => Err(McpError::Strange),
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// Asks for a call, and once more with what a person said for each time that the server wants it so (MCP 2026-07-28).
    async fn ask_in_rounds(self: &Arc<Self>, tool: &str, call: &CallParams) -> Result<ServerResult, ServiceError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(call.arguments.clone());
        params.meta = (!call.meta.is_empty()).then(|| RequestMetaObject(MetaObject(call.meta.clone())));
        let mut rounds = ROUNDS_MAX;
        loop {
            let answer = self.ask_once(params.clone(), call.activity.clone()).await?;
            rounds -= 1;
            let ServerResult::InputRequiredResult(wanted) = &answer else { return Ok(answer) };
            let asked = wanted.input_requests.clone().unwrap_or_default();
            let Some(said) = self.listeners.ask_all(asked).await.filter(|_| rounds > 0) else { return Ok(answer) };
            (params.input_responses, params.request_state) = (Some(said), wanted.request_state.clone());
        }
    }

    /// Asks for a call. Whoever lets go of it has the server told so; until then it is followed how far it is.
    async fn ask_once(
        self: &Arc<Self>,
        params: CallToolRequestParams,
        activity: ActivityListener,
    ) -> Result<ServerResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let _followed = self.listeners.follow(sent.progress_token.clone(), activity);
        let mut open = OpenRequest { link: Arc::clone(self), id: Some(sent.id.clone()) };
        let answer = sent.await_response().await;
        open.id = None;
        answer
    }
}

/// A request that somebody waits for.
///
/// Whoever goes before it is answered has the server told that nobody wants it any more: the connection lasts so long.
struct OpenRequest {
    link: Arc<Connection>,
    /// None: it is answered.
    id: Option<RequestId>,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let link = Arc::clone(&self.link);
        tasks::spawn_if_running("mcp.cancel", async move {
            let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), None));
            let told = link.service.peer().send_notification(ClientNotification::CancelledNotification(cancelled));
            if !matches!(tokio::time::timeout(CANCEL_MAX, told).await, Ok(Ok(()))) {
                tracing::debug!("a server did not hear that nobody wants its answer any more");
            }
        });
    }
}
