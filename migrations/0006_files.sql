-- Files that came with messages, or went out with them. The content lies beside the database, under its SHA-256: it is
-- written before the row that refers to it, and swept when no row does.
CREATE TABLE files (
    id INTEGER PRIMARY KEY NOT NULL,
    -- What it is the file of, so that one thing is one row: `in:{inbound}:{place}`, `out:{run}:{call}`.
    key TEXT NOT NULL UNIQUE,
    -- Who may read it: the people of this conversation.
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    -- Whose it is when everything of somebody is forgotten: `p12`, `c5`.
    scope TEXT NOT NULL,
    inbound_id INTEGER REFERENCES inbound (id),
    name TEXT NOT NULL,
    -- By its content, whatever its name says.
    mime TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    -- JSON: where it comes from.
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX files_by_content ON files (hash);
CREATE INDEX files_by_scope ON files (scope);
CREATE INDEX files_by_age ON files (created_at);
CREATE INDEX files_by_message ON files (inbound_id) WHERE inbound_id IS NOT NULL;

-- The file that goes out with the words; what is delivered outlives it.
ALTER TABLE outbox ADD COLUMN file_id INTEGER REFERENCES files (id) ON DELETE SET NULL;

CREATE INDEX outbox_by_file ON outbox (file_id) WHERE file_id IS NOT NULL;
