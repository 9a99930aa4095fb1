//! What owners have said that the tools of MCP servers do (row N16).

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::tool_class::{ToolClass, UnclassifiedTool};

/// What was said of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRow {
    /// Its server, as the config calls it.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// What it does: the name of a class.
    pub class: String,
    /// What this was said of.
    pub digest: String,
}

/// What is said of a tool now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewClass<'a> {
    /// The server's own name for it.
    pub tool: &'a str,
    /// What it does; none: that is said no longer.
    pub class: Option<ToolClass>,
    /// What this is said of.
    pub digest: &'a str,
}

impl<'a> NewClass<'a> {
    /// What its server says.
    pub fn by_server_hint(tool: &'a UnclassifiedTool) -> Self {
        Self { tool: &tool.own, class: Some(tool.hinted), digest: &tool.digest }
    }
}

pub async fn all(tx: &mut Tx) -> Result<Vec<ClassRow>, StoreError> {
    let rows = sql::query_as!(ClassRow, "SELECT server, tool, class, digest FROM mcp_classes ORDER BY server, tool")
        .fetch_all(&mut *tx)
        .await?;
    Ok(rows)
}

/// Stores what is said of these tools of a server, in the place of what was said before.
pub async fn put(tx: &mut Tx, server: &str, said: &[NewClass<'_>], at: i64) -> Result<(), StoreError> {
    for NewClass { tool, class, digest } in said {
        let (tool, digest) = (*tool, *digest);
        let Some(class) = class.map(ToolClass::as_str) else {
            sql::query!("DELETE FROM mcp_classes WHERE server = $1 AND tool = $2", server, tool)
                .execute(&mut *tx)
                .await?;
            continue;
        };
        sql::query!(
            "INSERT INTO mcp_classes (server, tool, class, digest, classed_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (server, tool) DO UPDATE SET class = excluded.class, digest = excluded.digest,
               classed_at = excluded.classed_at",
            server,
            tool,
            class,
            digest,
            at
        )
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
