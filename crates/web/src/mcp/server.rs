//! What a client is offered, and what is done when it calls.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::access::PageRole;
use crate::chat::routes::checked_id;
use crate::mcp::asker::{AskError, Asker, is_waiting};
use crate::mcp::tools::{answer, described, house_tools, invocation, refusal, told};
use hob_core::domain::inbound::Conversation;
use hob_router::intake::Router;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Outcome, ToolSpec};

/// The tool by which a client talks with Hob.
const ASK: &str = "ask";
/// How much of an answer may be on its way to a client while it comes.
const PIECES_MAX: usize = 64;
/// The longest name of a conversation.
const NAME_CHARS_MAX: usize = 32;
/// For the client's model.
const INSTRUCTIONS: &str = "Hob looks after a household: it knows what was said to it, has tools of its own, and asks a person \
    before it does what matters. `ask` is a conversation with it; the other tools look and keep without one.";

/// What it is told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    /// What is said to Hob. It knows what was said before in the same conversation.
    text: String,
    /// Another conversation than the usual one: letters, digits, - and _.
    conversation: Option<String>,
}

/// Who calls, and where they talk with Hob.
#[derive(Clone)]
pub struct Client {
    /// What they may.
    pub role: PageRole,
    /// Where.
    pub asker: Arc<dyn Asker>,
}

/// Hob, as its clients see it.
#[derive(Clone)]
pub(crate) struct HobServer {
    router: Arc<Router>,
    /// None: each request tells.
    client: Option<Client>,
}

impl HobServer {
    /// For whoever a request shows to be.
    pub(super) fn by_request(router: Arc<Router>) -> Self {
        Self { router, client: None }
    }

    /// For this client alone.
    pub(super) fn for_client(router: Arc<Router>, client: Client) -> Self {
        Self { router, client: Some(client) }
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Result<Client, ErrorData> {
        let shown = || context.extensions.get::<Parts>()?.extensions.get::<Client>();
        let client = self.client.as_ref().or_else(shown).cloned();
        client.ok_or_else(|| ErrorData::internal_error("nobody has been let in", None))
    }

    async fn call(&self, name: &str, arguments: Value, context: &RequestContext<RoleServer>) -> CallAnswer {
        let client = self.client(context)?;
        let ask = ask_spec();
        if name == ASK && client.role == PageRole::Owner {
            let asked: AskArguments = match parse(&ask, arguments) {
                Ok(asked) => asked,
                Err(outcome) => return Ok(told(outcome, &self.router)),
            };
            return self.ask(&client, asked, context).await;
        }
        let tool = house_tools(&self.router).into_iter().find(|tool| tool.spec().schema.name == name);
        let Some(tool) = tool else {
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?} for you here"), None));
        };
        let principal = client.asker.principal().await.map_err(broken)?;
        let invocation = invocation(&self.router, principal, client.asker.conversation(None), arguments);
        let assessed = tool.assess(&invocation, &|_| false).await;
        if client.role < PageRole::Owner && !assessed.risk.is_read() {
            return Ok(refusal("This key may look, and change nothing."));
        }
        Ok(told(Outcome::of(tool.call(invocation).await), &self.router))
    }

    async fn ask(&self, client: &Client, asked: AskArguments, context: &RequestContext<RoleServer>) -> CallAnswer {
        let AskArguments { text, conversation: name } = asked;
        let name = match name.map(checked_id).transpose() {
            Ok(name) if name.as_ref().is_none_or(|name| name.len() <= NAME_CHARS_MAX) => name,
            Ok(_) => return Ok(refusal(&format!("A conversation's name has at most {NAME_CHARS_MAX} characters."))),
            Err(error) => return Ok(refusal(&error.to_string())),
        };
        let asker = &client.asker;
        let conversation = asker.conversation(name.as_deref());
        let place = asker.place_text(&conversation);
        if is_waiting(&self.router, &conversation).await.map_err(broken)? {
            return Ok(refusal(&format!(
                "Nothing was said: this conversation waits for a person's answer, or for an agent of Hob's. A person finds it \
                 {place}. Another `conversation` is free."
            )));
        }
        match self.answered(client, &conversation, text, context).await {
            Ok(mut words) => {
                if is_waiting(&self.router, &conversation).await.map_err(broken)? {
                    words = format!("{words}\n\n(A person answers that, {place}. You cannot.)");
                }
                Ok(answer(words.trim()))
            }
            Err(error) => Ok(refusal(&error.to_string())),
        }
    }

    /// What Hob answers; on the way, the client hears of it if it wants to.
    async fn answered(
        &self,
        client: &Client,
        conversation: &Conversation,
        text: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, AskError> {
        let token = context.meta.get_progress_token();
        let (told, mut pieces) = mpsc::channel(PIECES_MAX);
        let mut asked = client.asker.ask(conversation, text, token.is_some().then_some(told));
        let Some(token) = token else { return asked.await };
        let mut count = 0.0;
        let mut tell = async |piece: String| {
            count += 1.0;
            let progress = ProgressNotificationParam::new(token.clone(), count).with_message(piece);
            if let Err(error) = context.peer.notify_progress(progress).await {
                tracing::debug!(%error, "a client does not hear what comes");
            }
        };
        let answered = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => tell(piece).await,
                answered = &mut asked => break answered,
            }
        };
        // What came last came with the end.
        while let Ok(piece) = pieces.try_recv() {
            tell(piece).await;
        }
        answered
    }
}

/// What is answered to a call.
type CallAnswer = Result<CallToolResult, ErrorData>;

fn ask_spec() -> ToolSpec {
    let about = "Says something to Hob, the assistant of this household, and waits for its answer. It knows the house and its \
        people, remembers, and has tools of its own.";
    spec_of::<AskArguments>(ASK, about, false)
}

fn broken(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl ServerHandler for HobServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hob", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let client = self.client(&context)?;
        let house = house_tools(&self.router);
        let looks = |spec: &ToolSpec| !spec.facts.changes;
        let is_offered = |spec: &ToolSpec| client.role == PageRole::Owner || looks(spec);
        let offered = house.iter().map(|tool| tool.spec()).filter(|spec| is_offered(spec));
        let ask = (client.role == PageRole::Owner).then(|| described(&ask_spec().schema, false));
        let tools = ask.into_iter().chain(offered.map(|spec| described(&spec.schema, looks(spec))));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        tracing::info!(tool = %request.name, "mcp.called: a client calls");
        let done = tokio::select! {
            biased;
            done = Box::pin(self.call(&request.name, arguments, &context)) => done?,
            // What was said to Hob goes on.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("nobody waits any more", None)),
        };
        Ok(CallToolResponse::Complete(done))
    }
}
