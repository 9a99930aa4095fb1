-- Who may open the page. Secrets are kept as their SHA-256.
CREATE TABLE web_logins (
    hash TEXT PRIMARY KEY NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'owner')),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE web_visits (
    id INTEGER PRIMARY KEY NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'owner')),
    -- What the browser says it is, for whoever looks through them.
    agent TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Who has ever been let in: once an owner has, no start prints a link for one.
CREATE TABLE web_entered (
    role TEXT PRIMARY KEY NOT NULL CHECK (role IN ('viewer', 'owner')),
    first_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Programs' keys to the API.
CREATE TABLE web_tokens (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'owner')),
    made_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT;

-- The page shows what was said on it, newest first, whatever else there is.
CREATE INDEX inbound_on_the_page ON inbound (session_id, id) WHERE channel = 'web';
CREATE INDEX outbox_on_the_page ON outbox (session_id, id) WHERE channel = 'web';
CREATE INDEX sessions_on_the_page ON sessions (id) WHERE channel = 'web';
