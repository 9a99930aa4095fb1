-- What an owner has said that the tools of MCP servers do (row N16): once for each, instead of at every call.
CREATE TABLE mcp_classes (
    -- The server, as the config calls it, and its own name for the tool.
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('looks', 'changes', 'critical', 'off')),
    -- What this was said of: the server, and the tool's name, description, schema and hints. Of anything else nothing was said.
    digest TEXT NOT NULL,
    classed_at INTEGER NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
