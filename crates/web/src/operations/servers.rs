//! The MCP servers, and what an owner says that their tools do (row N16).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use hob_core::domain::tool_class::ToolClass;
use hob_tools::mcp::tool_table::{ClassChange, ClassError, ServerTools, ToolLine};

/// The MCP servers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct McpServers {
    /// A line about each.
    servers: Vec<String>,
    /// Their names, in the same order.
    names: Vec<String>,
}

/// A tool of an MCP server.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct McpToolShown {
    /// Its server's own name for it.
    name: String,
    /// What it does, in its server's words.
    about: String,
    /// What its server's hints amount to: `looks`, `changes` or `critical`; none: it has given none.
    hinted: Option<&'static str>,
    /// What an owner says: `looks`, `changes`, `critical` or `off`; none: nobody has said, and each call is asked about.
    class: Option<&'static str>,
    /// What an owner said when its server said something else of it.
    was: Option<&'static str>,
}

/// The tools of an MCP server.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct McpTools {
    /// Those that the config does not leave out.
    tools: Vec<McpToolShown>,
}

/// What an owner says of a server's tools.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct McpClasses {
    /// By the server's own names: `looks`, `changes`, `critical` (asked about each time) or `off` (not offered); nothing: what
    /// was said holds no longer.
    tools: BTreeMap<String, Option<String>>,
}

impl From<ServerTools> for McpTools {
    fn from(ServerTools { tools, .. }: ServerTools) -> Self {
        let shown = |ToolLine { own, about, hinted, has_hints, class, was, .. }: ToolLine| McpToolShown {
            name: own,
            about,
            hinted: has_hints.then(|| hinted.as_str()),
            class: class.map(ToolClass::as_str),
            was: was.map(ToolClass::as_str),
        };
        Self { tools: tools.into_iter().map(shown).collect() }
    }
}

impl From<ClassError> for ApiError {
    fn from(error: ClassError) -> Self {
        match error {
            ClassError::NoServer(_) => Self::NotFound("MCP server"),
            ClassError::Unknown(_) => Self::NotFound("known tool of this MCP server"),
            ClassError::NoTool { .. } => Self::NotFound("tool of this MCP server"),
            ClassError::Store(error) => Self::Store(error),
        }
    }
}

/// The MCP servers: how each stands, and how many tools it has.
#[utoipa::path(get, path = "/api/operations/servers", tag = "operations", responses((status = 200, body = McpServers), (status = 401, body = Problem)))]
pub(crate) async fn servers(State(app): State<Arc<AppState>>, _visitor: Visitor) -> Json<McpServers> {
    let router = &app.router;
    let all = router.config().services.servers.clone();
    let lines = all.standing(router.clock.now());
    let servers = lines.iter().map(|line| router.redactor.redact(line).into_owned()).collect();
    Json(McpServers { servers, names: all.names() })
}

/// The tools of an MCP server, with what it says of them and what an owner says.
#[utoipa::path(get, path = "/api/operations/servers/{server}/tools", tag = "operations", params(("server" = String, Path,)),
    responses((status = 200, body = McpTools), (status = 401, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn tools(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(server): Path<String>,
) -> Result<Json<McpTools>, ApiError> {
    Ok(Json(app.router.class_tools(&server, &ClassChange::default()).await?.into()))
}

/// An owner says what tools of an MCP server do; that holds from the next message on. Gives all as they are classed then.
#[utoipa::path(put, path = "/api/operations/servers/{server}/tools", tag = "operations", params(("server" = String, Path,)), request_body = McpClasses,
    responses((status = 200, body = McpTools), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn class(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(server): Path<String>,
    Json(McpClasses { tools }): Json<McpClasses>,
) -> Result<Json<McpTools>, ApiError> {
    let class = |(tool, class): (String, Option<String>)| {
        let class = class.map(|name| {
            ToolClass::parse(&name).ok_or_else(|| ApiError::Bad(format!("a tool cannot be classed as {name:?}")))
        });
        Ok((tool, class.transpose()?))
    };
    let tools = tools.into_iter().map(class).collect::<Result<_, ApiError>>()?;
    Ok(Json(app.router.class_tools(&server, &ClassChange { tools, as_it_says: false }).await?.into()))
}

/// What a browser brings back from a login at an MCP server that an owner has begun. It counts once.
pub(crate) async fn called_back(State(app): State<Arc<AppState>>, uri: Uri) -> (StatusCode, String) {
    let router = &app.router;
    let (servers, address) = (router.config().services.servers.clone(), format!("http://page{uri}"));
    let Some(server) = servers.awaiting_login(&address) else {
        let told = "No login waits for this here. If you began one in a terminal, paste this page's address there.\n";
        return (StatusCode::NOT_FOUND, told.to_owned());
    };
    match servers.finish_login(&server, &address).await {
        Ok(_) => (StatusCode::OK, format!("Hob is logged in at {server}. You can close this.\n")),
        Err(error) => {
            tracing::warn!(server, %error, "a login at an MCP server has failed");
            let told = format!("Hob is not logged in at {server}: {error}. Begin again.\n");
            (StatusCode::BAD_REQUEST, router.redactor.redact(&told).into_owned())
        }
    }
}
