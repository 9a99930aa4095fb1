//! What a server has besides tools: prompts, and what there is to read.

use rmcp::model::{
    CallToolResult, ContentBlock, EmbeddedResource, GetPromptRequestParams, JsonObject, PaginatedRequestParams, Prompt,
    ReadResourceRequestParams, Role,
};

use crate::mcp::answer::ToolAnswer;
use crate::mcp::connection::{Connection, OpenCallGuard, PAGES_MAX};
use crate::mcp::error::McpError;
use crate::mcp::excerpt;
use crate::mcp::listed::ListedTool;

/// The most prompts, resources, or patterns that are looked at.
const LISTED_MAX: usize = 500;
/// The most characters of what is said about a resource.
const ABOUT_CHARS_MAX: usize = 160;

/// Asks for a list page by page: `$method` of the peer, the items of whose answer are `$items`.
macro_rules! pages {
    ($link:expr, $method:ident, $items:ident) => {{
        let (mut found, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            $link.allowance.reset();
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let listed = match $link.service.peer().$method(Some(page)).await {
                Ok(listed) => listed,
                Err(error) => return Err($link.failure(error).await),
            };
            found.extend(listed.$items);
            cursor = listed.next_cursor.filter(|next| !next.is_empty());
            if cursor.is_none() || found.len() > LISTED_MAX {
                break;
            }
        }
        found.truncate(LISTED_MAX);
        found
    }};
}

impl Connection {
    /// Its prompts.
    pub(in crate::mcp) async fn prompts(&self) -> Result<Vec<Prompt>, McpError> {
        let _call = OpenCallGuard::of(self);
        if self.service.peer_info().is_none_or(|server| server.capabilities.prompts.is_none()) {
            return Ok(Vec::new());
        }
        Ok(pages!(self, list_prompts, prompts))
    }

    /// What a prompt says.
    pub(in crate::mcp) async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<String, McpError> {
        let _call = OpenCallGuard::of(self);
        self.allowance.reset();
        let asked = GetPromptRequestParams::new(name).with_arguments(arguments);
        let said = match self.service.peer().get_prompt(asked).await {
            Ok(said) => said,
            Err(error) => return Err(self.failure(error).await),
        };
        let blocks = said.messages.into_iter().flat_map(|message| {
            let speaker = (message.role == Role::Assistant).then(|| ContentBlock::text("As you might answer:"));
            speaker.into_iter().chain([message.content])
        });
        let answer = ToolAnswer::of(&CallToolResult::success(blocks.collect()));
        Ok(self.login.redact(answer.text))
    }

    /// The tools by which what it has to read is looked at; none: it has nothing.
    pub(super) async fn resource_tools(&self) -> Result<Vec<ListedTool>, McpError> {
        if self.service.peer_info().is_none_or(|server| server.capabilities.resources.is_none()) {
            return Ok(Vec::new());
        }
        let is_there = !pages!(self, list_resources, resources).is_empty() || self.has_patterns().await;
        Ok(if is_there { ListedTool::of_resources().into() } else { Vec::new() })
    }

    /// Some servers know no patterns at all, and say that they do not know what that is.
    async fn has_patterns(&self) -> bool {
        self.allowance.reset();
        let listed = self.service.peer().list_resource_templates(None).await;
        listed.is_ok_and(|listed| !listed.resource_templates.is_empty())
    }

    /// What it has to read.
    pub(super) async fn list_resources(&self) -> Result<ToolAnswer, McpError> {
        let mut lines = Vec::new();
        for resource in pages!(self, list_resources, resources) {
            let about = resource.description.or(resource.title).unwrap_or(resource.name);
            let kind = resource.mime_type.map(|kind| format!(" ({})", excerpt(&kind))).unwrap_or_default();
            lines.push(format!("- {}{kind}: {}", excerpt(&resource.uri), about_text(&about)));
        }
        if self.has_patterns().await {
            for pattern in pages!(self, list_resource_templates, resource_templates) {
                let about = pattern.description.or(pattern.title).unwrap_or(pattern.name);
                lines.push(format!("- {} (a pattern): {}", excerpt(&pattern.uri_template), about_text(&about)));
            }
        }
        if lines.is_empty() {
            lines.push("There is nothing to read.".to_owned());
        }
        let text = self.login.redact(lines.join("\n"));
        Ok(ToolAnswer { text, failed: false, files: Vec::new(), structured: None })
    }

    /// Reads one. Its address is a name that the server knows, whatever it looks like: nothing is looked for there by Hob.
    pub(super) async fn read_resource(&self, uri: &str) -> Result<ToolAnswer, McpError> {
        self.allowance.reset();
        let read = match self.service.peer().read_resource(ReadResourceRequestParams::new(uri)).await {
            Ok(read) => read,
            Err(error) => return Err(self.failure(error).await),
        };
        let blocks = read.contents.into_iter().map(|content| ContentBlock::Resource(EmbeddedResource::new(content)));
        let answer = ToolAnswer::of(&CallToolResult::success(blocks.collect()));
        Ok(ToolAnswer { text: self.login.redact(answer.text), ..answer })
    }
}

fn about_text(words: &str) -> String {
    excerpt(words).chars().take(ABOUT_CHARS_MAX).collect()
}
