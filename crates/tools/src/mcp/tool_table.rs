//! The tools of a server as their owner sees them: what the server says of each, and what the owner has said (row N16).
//!
//! Start at [`ServerTools`]; [`ClassChange`] is what an owner says now.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::mcp::classes::{ClassStatus, Classes, digest};
use crate::mcp::listed::ListedTool;
use crate::mcp::names;
use crate::mcp::settings::Settings;
use hob_core::domain::tool_class::{ServerClassification, ToolClass, UnclassifiedTool};
use hob_store::error::StoreError;
use hob_store::mcp_classes::{self, NewClass};
use hob_store::{Store, Tx, millis};

/// The most tools of a server that are classed by the answer to a question: nobody reads a longer list.
const ASKED_MAX: usize = 48;

/// The tools of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTools {
    /// The server.
    pub server: String,
    /// Its tools that the config does not leave out, by name.
    pub tools: Vec<ToolLine>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLine {
    /// What it is called here.
    pub name: String,
    /// What its server calls it.
    pub own: String,
    /// What it does, in its server's words.
    pub about: String,
    /// What its server's hints amount to.
    pub hinted: ToolClass,
    /// The server has given hints.
    pub has_hints: bool,
    /// What an owner says.
    pub class: Option<ToolClass>,
    /// What an owner said when it was described otherwise.
    pub was: Option<ToolClass>,
    /// By which it is known again.
    pub digest: String,
}

/// What an owner says now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassChange {
    /// Of these tools, by either name; nothing: what was said holds no longer.
    pub tools: BTreeMap<String, Option<ToolClass>>,
    /// Of all others of which nothing was said: what their server says.
    pub as_it_says: bool,
}

/// Tools cannot be classed.
#[derive(Debug, thiserror::Error)]
pub enum ClassError {
    /// There is no such server.
    #[error("there is no MCP server {0}")]
    NoServer(String),
    /// What it has is not known.
    #[error("the tools of {0} are not known yet: `hob mcp test {0}` asks for them")]
    Unknown(String),
    /// It has no such tool.
    #[error("{server} has no tool {tool}")]
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a server's hints amount to.
pub(super) fn hinted(tool: &ListedTool) -> ToolClass {
    match (tool.reads_only, tool.destroys) {
        (true, _) => ToolClass::Looks,
        (false, Some(true)) => ToolClass::Critical,
        (false, Some(false) | None) => ToolClass::Changes,
    }
}

impl ServerTools {
    /// The tools that such a server has listed.
    pub(super) fn of(settings: &Settings, listed: &[ListedTool], classes: &Classes) -> Self {
        let offered: Vec<&ListedTool> = listed.iter().filter(|tool| settings.offers(&tool.name)).collect();
        let own: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        let identity = settings.identity();
        let line = |(name, tool): (String, &ListedTool)| {
            let said = classes.of(&settings.name, &identity, tool);
            ToolLine {
                name,
                own: tool.name.clone(),
                about: tool.description.clone(),
                hinted: hinted(tool),
                has_hints: tool.reads_only || tool.destroys.is_some(),
                class: said.holds(),
                was: if let ClassStatus::Stale(class) = said { Some(class) } else { None },
                digest: digest(&identity, tool),
            }
        };
        let tools = names::offered(&settings.name, &own).into_iter().zip(offered).map(line).collect();
        Self { server: settings.name.clone(), tools }
    }

    /// Those of which nothing was said, for a question; none: there are none, or too many.
    pub(super) fn unclassed(self) -> Option<ServerClassification> {
        let unclassed = self.tools.into_iter().filter(|tool| tool.class.is_none());
        let tools: Vec<UnclassifiedTool> = unclassed
            .map(|ToolLine { name, own, hinted, digest, .. }| UnclassifiedTool { name, own, hinted, digest })
            .collect();
        (1..=ASKED_MAX).contains(&tools.len()).then_some(ServerClassification { server: self.server, tools })
    }

    /// What is to be stored of it.
    ///
    /// # Errors
    /// When a tool is named that the server does not have.
    fn class_changes<'a>(&'a self, wish: &ClassChange) -> Result<Vec<NewClass<'a>>, ClassError> {
        let mut said = Vec::new();
        for (name, class) in &wish.tools {
            let tool = self.tools.iter().find(|tool| tool.own == *name || tool.name == *name);
            let missing = || ClassError::NoTool { server: self.server.clone(), tool: name.clone() };
            let tool = tool.ok_or_else(missing)?;
            said.push(NewClass { tool: &tool.own, class: *class, digest: &tool.digest });
        }
        let named: Vec<&str> = said.iter().map(|new| new.tool).collect();
        let others = self.tools.iter().filter(|tool| wish.as_it_says && tool.class.is_none());
        let others = others.filter(|tool| !named.contains(&tool.own.as_str()));
        let others: Vec<NewClass<'_>> =
            others.map(|tool| NewClass { tool: &tool.own, class: Some(tool.hinted), digest: &tool.digest }).collect();
        said.extend(others);
        Ok(said)
    }

    /// Stores what an owner says, and has it hold.
    ///
    /// # Errors
    /// When a tool is named that the server does not have, or the database fails.
    pub(super) async fn class(
        &self,
        wish: &ClassChange,
        store: &Store,
        classes: &Classes,
        now: Timestamp,
    ) -> Result<(), ClassError> {
        let said = self.class_changes(wish)?;
        let owned = said.iter().map(|new| (new.tool.to_owned(), new.class, new.digest.to_owned()));
        let (server, owned, at) = (self.server.clone(), owned.collect::<Vec<_>>(), millis(now));
        let put = async move |tx: &mut Tx| {
            let said = owned.iter().map(|(tool, class, digest)| NewClass { tool, class: *class, digest });
            mcp_classes::put(tx, &server, &said.collect::<Vec<_>>(), at).await
        };
        store.write(put).await?;
        classes.take(&self.server, &said);
        Ok(())
    }
}
