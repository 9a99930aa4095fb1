-- Times are Unix milliseconds in UTC. Each CHECK and UNIQUE holds a promise that no code has to keep.

CREATE TABLE users (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('guest', 'user', 'admin', 'owner')),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE identities (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    PRIMARY KEY (channel, account, external_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY NOT NULL,
    key TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    -- NULL: as configured.
    queue_mode TEXT CHECK (queue_mode IN ('queue', 'steer', 'interrupt')),
    model TEXT,
    -- The context begins after this ordinal (/new moves it).
    context_from INTEGER NOT NULL DEFAULT 0,
    -- The newest message's ordinal: the next one takes the next.
    last_ordinal INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

-- What came in and was accepted. The UNIQUE is the claim that makes redelivery harmless.
CREATE TABLE inbound (
    id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    external_id TEXT NOT NULL,
    text TEXT NOT NULL,
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    disposition TEXT NOT NULL CHECK (disposition IN ('run', 'command', 'answer', 'refused')),
    sent_at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    UNIQUE (channel, account, chat, external_id)
) STRICT;

-- A run's state is the fold of its events; `state` is that fold's projection, written in the same transaction.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    inbound_id INTEGER NOT NULL UNIQUE REFERENCES inbound (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'completed', 'cancelled', 'failed', 'withdrawn', 'joined')),
    -- Whether it may be joined to a running one at a safe boundary (mode `steer`).
    may_join INTEGER NOT NULL DEFAULT 0 CHECK (may_join IN (0, 1)),
    lease_owner TEXT,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (lease_owner IS NULL OR state = 'running'),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'running', 'waiting')))
) STRICT;

CREATE UNIQUE INDEX runs_one_active ON runs (session_id) WHERE state IN ('running', 'waiting');
-- What is over is never looked at again by the lanes, however much of it there is.
CREATE INDEX runs_lane ON runs (session_id, id) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_queue ON runs (session_id, id) WHERE state = 'queued';
CREATE INDEX runs_leased ON runs (lease_owner) WHERE lease_owner IS NOT NULL;

CREATE TABLE run_events (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- Durable words to a run from outside its lane: cancel, or a person's answer. Taken exactly once.
CREATE TABLE signals (
    id INTEGER PRIMARY KEY NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1))
) STRICT;

CREATE INDEX signals_open ON signals (run_id, id) WHERE taken = 0;

-- Large texts that events refer to by hash.
CREATE TABLE blobs (
    hash TEXT PRIMARY KEY NOT NULL,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    ordinal INTEGER NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    -- Who said it, where a person did.
    user_id INTEGER REFERENCES users (id),
    body TEXT NOT NULL,
    -- The words in it, for the full-text index.
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (session_id, ordinal)
) STRICT;

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content = 'messages', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- A message takes the next ordinal of its session; what people said can be searched.
CREATE TRIGGER messages_count AFTER INSERT ON messages BEGIN
    UPDATE sessions SET last_ordinal = new.ordinal WHERE id = new.session_id;
END;

CREATE TRIGGER messages_index AFTER INSERT ON messages WHEN new.role = 'user' BEGIN
    INSERT INTO messages_fts (rowid, text) VALUES (new.id, new.text);
END;

-- The idempotency envelope (row B10): one row per call.
CREATE TABLE tool_calls (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments TEXT NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 1),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    is_error INTEGER CHECK (is_error IN (0, 1)),
    result TEXT,
    PRIMARY KEY (run_id, call_id),
    CHECK ((finished_at IS NULL) = (result IS NULL) AND (result IS NULL) = (is_error IS NULL))
) STRICT, WITHOUT ROWID;

-- Every call of a model and what it cost (row C8). `lost`: the process died while it was in flight.
CREATE TABLE model_calls (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    asked_seq INTEGER NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost', 'dropped')),
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    asked_at INTEGER NOT NULL,
    ended_at INTEGER,
    error TEXT,
    PRIMARY KEY (run_id, asked_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX model_calls_by_time ON model_calls (asked_at);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY NOT NULL,
    -- What it is the delivery of, so that one thing said is one row: `run:{id}:{seq}:{chunk}`, `command:{inbound}:{chunk}`.
    key TEXT NOT NULL UNIQUE,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    run_id INTEGER REFERENCES runs (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    text TEXT NOT NULL,
    -- JSON: the buttons under it.
    choices TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'unknown', 'delivered', 'failed', 'abandoned')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- An attempt's outcome is not known: the next one verifies or is marked.
    may_repeat INTEGER NOT NULL DEFAULT 0 CHECK (may_repeat IN (0, 1)),
    next_attempt_at INTEGER NOT NULL,
    external_id TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((ended_at IS NULL) = (state IN ('pending', 'sending', 'unknown')))
) STRICT;

CREATE INDEX outbox_given_up ON outbox (ended_at) WHERE state IN ('failed', 'abandoned');
CREATE INDEX outbox_open_by_session ON outbox (session_id, id) WHERE state IN ('pending', 'sending', 'unknown');

CREATE TABLE facts (
    id INTEGER PRIMARY KEY NOT NULL,
    -- Private to this person.
    user_id INTEGER NOT NULL REFERENCES users (id),
    category TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- The run in which it was said.
    run_id INTEGER REFERENCES runs (id),
    created_at INTEGER NOT NULL,
    superseded_at INTEGER
) STRICT;

CREATE UNIQUE INDEX facts_current ON facts (user_id, category, key) WHERE superseded_at IS NULL;

CREATE VIRTUAL TABLE facts_fts USING fts5 (
    category, key, value, content = 'facts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Only current facts can be searched.
CREATE TRIGGER facts_index AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts (rowid, category, key, value) VALUES (new.id, new.category, new.key, new.value);
END;

CREATE TRIGGER facts_unindex AFTER UPDATE OF superseded_at ON facts
WHEN old.superseded_at IS NULL AND new.superseded_at IS NOT NULL BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, category, key, value)
    VALUES ('delete', old.id, old.category, old.key, old.value);
END;
