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
    created_at INTEGER NOT NULL,
    -- The model that stands in for the one that should answer, as the chat was told; none: the right one answers.
    stand_in TEXT,
    -- What the last run's requests began with, as JSON.
    prefix TEXT,
    -- The persona that was chosen by `/persona`; none: as configured.
    persona TEXT,
    -- Who paused the conversation; none: nobody.
    paused_by INTEGER REFERENCES users (id),
    -- JSON: what the last run noted, if it did not come to its end (row B12).
    run_journal TEXT,
    -- Where the runs of a session ask and answer that is no conversation itself, such as an event's.
    speaks_in INTEGER REFERENCES sessions (id)
) STRICT;
CREATE INDEX sessions_on_the_page ON sessions (id) WHERE channel = 'web';

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
    -- What its channel needs to answer a message, in the channel's own words: to whom a letter was addressed.
    envelope TEXT,
    UNIQUE (channel, account, chat, external_id)
) STRICT;
CREATE INDEX inbound_commands ON inbound (id) WHERE disposition = 'command';

-- Heartbeats, which tell facts that nobody asked for.
CREATE INDEX inbound_heartbeats ON inbound (received_at) WHERE external_id >= 'heartbeat:' AND external_id < 'heartbeat;';

-- The page shows what was said on it, newest first, whatever else there is.
CREATE INDEX inbound_on_the_page ON inbound (session_id, id) WHERE channel = 'web';

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
    -- When an open question expires.
    waits_until INTEGER,
    -- The hash of the state that the journal folds to (`hob replay --verify`).
    state_hash TEXT,
    -- What nobody has asked for just now: a person's message goes before it.
    yields INTEGER NOT NULL DEFAULT 0 CHECK (yields IN (0, 1)),
    -- Agents: runs that work for other runs (rows A12, B8). NULL in all of these: a person's message began the run.
    parent_run INTEGER REFERENCES runs (id),
    parent_call TEXT,
    -- The run that a person's message began: what the tree may cost is counted there.
    root_run INTEGER REFERENCES runs (id),
    -- That run's conversation: what an agent has to ask is asked there, and a pause of it holds for its agents.
    home_session INTEGER REFERENCES sessions (id),
    depth INTEGER NOT NULL DEFAULT 0,
    -- When a run's journal was let go because it was old; NULL: it is there, or what was said in it was forgotten.
    let_go_at INTEGER,
    -- A run whose record this Hob cannot read, and why: it stands beside its lane until a Hob that can takes it up. NULL: it does not.
    parked_why TEXT,
    -- The edition of Hob that wrote its journal last.
    edition TEXT,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (lease_owner IS NULL OR state = 'running'),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'running', 'waiting')))
) STRICT;
CREATE UNIQUE INDEX runs_one_active ON runs (session_id) WHERE state IN ('running', 'waiting');

-- What is over is never looked at again by the lanes, however much of it there is.
CREATE INDEX runs_lane ON runs (session_id, id) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_queue ON runs (session_id, id) WHERE state = 'queued';

-- What the form of a conversation was lately.
CREATE INDEX runs_over ON runs (session_id, id) WHERE state IN ('completed', 'cancelled', 'failed');
CREATE INDEX runs_expiring ON runs (waits_until) WHERE waits_until IS NOT NULL;

-- What came of a run comes of its occurrence, in the transaction that ends it.
CREATE TRIGGER occurrences_settle AFTER UPDATE OF ended_at ON runs
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE occurrences
    SET state = CASE new.state WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'stopped' END
    WHERE run_id = new.id;
END;
CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_by_root ON runs (root_run) WHERE root_run IS NOT NULL;

CREATE INDEX runs_at_home ON runs (home_session, id)
    WHERE home_session IS NOT NULL AND state IN ('queued', 'running', 'waiting');

-- The page lists runs, newest first: those of one conversation (what is open and what is over have their indexes already),
-- and those that ended in one way.
CREATE INDEX runs_aside ON runs (session_id, id) WHERE state IN ('withdrawn', 'joined');
CREATE INDEX runs_ended_so ON runs (state, id) WHERE state IN ('cancelled', 'failed', 'withdrawn', 'joined');
CREATE INDEX runs_parked ON runs (session_id) WHERE parked_why IS NOT NULL;

-- Durable words to a run from outside its lane: cancel, or a person's answer. Taken exactly once.
CREATE TABLE signals (
    id INTEGER PRIMARY KEY NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1))
) STRICT;
CREATE INDEX signals_open ON signals (run_id, id) WHERE taken = 0;

-- Commands that showed what is remembered: their answers are not kept once something was forgotten.
CREATE INDEX signals_by_run ON signals (run_id);

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
    -- How many tokens a message is, as counted here; a message does not change. None: it was not counted yet.
    tokens INTEGER,
    -- Left out of what models read: a turn that only looked whether there is something to do (row E14).
    pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned IN (0, 1)),
    -- What the run had read by then that says it, or shows it.
    taint TEXT,
    UNIQUE (session_id, ordinal)
) STRICT;

-- A message takes the next ordinal of its session; what people said can be searched.
CREATE TRIGGER messages_count AFTER INSERT ON messages BEGIN
    UPDATE sessions SET last_ordinal = new.ordinal WHERE id = new.session_id;
END;
CREATE INDEX messages_pruned ON messages (session_id, ordinal) WHERE pruned = 1;
CREATE INDEX messages_tainted ON messages (run_id) WHERE taint IS NOT NULL;

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
    -- Who had a tool called, for quotas by the minute (row E15).
    user_id INTEGER REFERENCES users (id),
    PRIMARY KEY (run_id, call_id),
    CHECK ((finished_at IS NULL) = (result IS NULL) AND (result IS NULL) = (is_error IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_calls_by_user ON tool_calls (user_id, started_at);

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
    -- What each call cost (row C8): by whom it was caused, how it was estimated, what it cost. Money is in nano-dollars;
    -- none where no price is known. `reserved` is set aside while the call is open, so that calls at once cannot overshoot
    -- a budget together.
    session_id INTEGER REFERENCES sessions (id),
    user_id INTEGER REFERENCES users (id),
    estimate INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    cost INTEGER,
    latency_ms INTEGER,
    -- Why the provider's cache could not be used from where the last request of the session left it.
    prefix_break TEXT,
    PRIMARY KEY (run_id, asked_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX model_calls_by_time ON model_calls (asked_at);
CREATE INDEX model_calls_open ON model_calls (user_id) WHERE state = 'asked';
CREATE INDEX model_calls_by_user ON model_calls (user_id, asked_at);

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
    -- The file that goes out with the words; what is delivered outlives it.
    file_id INTEGER REFERENCES files (id) ON DELETE SET NULL,
    -- What a platform shows of a chunk, where it has a markup of its own; `text` is what goes out if it refuses that.
    markup TEXT,
    -- The first chunk of a run's last word: it takes the place of the run's draft.
    takes_draft INTEGER NOT NULL DEFAULT 0 CHECK (takes_draft IN (0, 1)),
    -- Which of its run's questions this chunk asks; the buttons are under it.
    question INTEGER,
    -- The chunk whose message this one takes the place of; without such a message it is done without.
    replaces_key TEXT,
    CHECK ((ended_at IS NULL) = (state IN ('pending', 'sending', 'unknown')))
) STRICT;
CREATE INDEX outbox_given_up ON outbox (ended_at) WHERE state IN ('failed', 'abandoned');
CREATE INDEX outbox_open_by_session ON outbox (session_id, id) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_by_file ON outbox (file_id) WHERE file_id IS NOT NULL;
CREATE INDEX outbox_questions ON outbox (run_id, question) WHERE question IS NOT NULL;
CREATE INDEX outbox_on_the_page ON outbox (session_id, id) WHERE channel = 'web';

-- The sums of what calls cost, by quarter of an hour: every time zone's days and months begin at one.
CREATE TABLE spend (
    quarter INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    prefix_breaks INTEGER NOT NULL,
    PRIMARY KEY (quarter, user_id, model)
) STRICT, WITHOUT ROWID;

-- That a budget is nearly used up is said once per scope and period.
CREATE TABLE budget_notes (
    scope TEXT NOT NULL,
    period INTEGER NOT NULL,
    PRIMARY KEY (scope, period)
) STRICT, WITHOUT ROWID;

-- The older part of a conversation in few words, as one person may see it: what requests begin with after a compaction.
CREATE TABLE summaries (
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    -- The last ordinal that it stands for.
    through INTEGER NOT NULL,
    text TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    made_at INTEGER NOT NULL,
    taint TEXT,
    PRIMARY KEY (session_id, user_id)
) STRICT, WITHOUT ROWID;

-- "Always" as an answer to a question for approval (row D6): one person, one conversation, one tool.
CREATE TABLE grants (
    id INTEGER PRIMARY KEY NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    tool TEXT NOT NULL,
    -- The run in which it was said.
    run_id INTEGER NOT NULL REFERENCES runs (id),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX grants_current ON grants (session_id, user_id, tool) WHERE revoked_at IS NULL;

-- What holds for the whole house: `paused` is the emergency stop.
CREATE TABLE switches (
    name TEXT PRIMARY KEY NOT NULL,
    set_by INTEGER NOT NULL REFERENCES users (id),
    set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A stretch of talk without a long pause: what is ranked together, and what facts are drawn from at its end.
CREATE TABLE episodes (
    -- No number is given twice: whoever goes through one that is forgotten meanwhile meets no other.
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    scope TEXT NOT NULL,
    -- Where; NULL: it was brought in from elsewhere.
    session_id INTEGER REFERENCES sessions (id),
    began_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    -- Facts were drawn from the first so many of its turns.
    extracted INTEGER NOT NULL DEFAULT 0,
    -- How often it was tried since to draw facts from the next.
    tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX episodes_latest ON episodes (session_id, scope, id);
CREATE INDEX episodes_by_time ON episodes (scope, began_at);
CREATE INDEX episodes_to_extract ON episodes (ended_at) WHERE extracted < turns;

-- One thing that a person said.
CREATE TABLE memories (
    -- No number is given twice: vectors are made in their order, each once.
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    episode_id INTEGER NOT NULL REFERENCES episodes (id),
    -- Its place in the episode, from 1; what is forgotten leaves a hole.
    place INTEGER NOT NULL,
    scope TEXT NOT NULL,
    -- Who said it, as they are called, and by their row where they have one.
    speaker TEXT NOT NULL,
    user_id INTEGER REFERENCES users (id),
    -- The message of the history; NULL: it was brought in from elsewhere.
    message_id INTEGER UNIQUE REFERENCES messages (id),
    text TEXT NOT NULL,
    -- Hob's question that it answers: a short answer makes sense only with it. Never searched, never recalled by itself.
    asked TEXT,
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'admin', 'user', 'guest', 'import')),
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    uses INTEGER NOT NULL DEFAULT 0,
    used_at INTEGER,
    at INTEGER NOT NULL,
    -- Derived from `text` and made anew where NULL: the stems of its words (32-bit hashes), and the manner in which it is said.
    stems BLOB,
    manner INTEGER,
    UNIQUE (episode_id, place)
) STRICT;
CREATE INDEX memories_by_time ON memories (scope, at);
CREATE INDEX memories_pinned ON memories (scope, importance) WHERE pinned = 1;
CREATE INDEX memories_salient ON memories (scope, importance) WHERE importance >= 0.8;
CREATE INDEX memories_by_speaker ON memories (scope, speaker);

CREATE TRIGGER memories_index AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts (rowid, scope, text) VALUES (new.id, new.scope, new.text);
END;

CREATE TRIGGER memories_unindex AFTER DELETE ON memories BEGIN
    INSERT INTO memories_fts (memories_fts, rowid, scope, text) VALUES ('delete', old.id, old.scope, old.text);
END;

CREATE TRIGGER memories_reindex AFTER UPDATE OF scope, text ON memories BEGIN
    INSERT INTO memories_fts (memories_fts, rowid, scope, text) VALUES ('delete', old.id, old.scope, old.text);
    INSERT INTO memories_fts (rowid, scope, text) VALUES (new.id, new.scope, new.text);
END;

-- `scope` is searched along with the words, so that nothing of another scope is even looked at.
CREATE VIRTUAL TABLE memories_fts USING fts5 (
    scope, text, content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- The models that made vectors. While a new one is at work, the vectors of the one before serve.
CREATE TABLE embedding_models (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    -- All memories through this one have their vectors, but for what cannot be embedded.
    through INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE vectors (
    model_id INTEGER NOT NULL REFERENCES embedding_models (id),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    vector BLOB NOT NULL,
    PRIMARY KEY (model_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_by_memory ON vectors (memory_id);

-- The signs of the vectors of a memory's tokens, for late interaction.
CREATE TABLE token_signs (
    model_id INTEGER NOT NULL REFERENCES embedding_models (id),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    signs BLOB NOT NULL,
    PRIMARY KEY (model_id, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_signs_by_memory ON token_signs (memory_id);

-- People of whom something is known, whether or not they talk to Hob.
CREATE TABLE people (
    -- No number is given twice: what is to be forgotten is named by it.
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The user who this is.
    user_id INTEGER REFERENCES users (id),
    -- 'sister', 'plumber' …
    relation TEXT,
    -- 'YYYY-MM-DD', or '--MM-DD' where the year is not known.
    birthday TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX people_by_name ON people (scope, name COLLATE NOCASE);

-- By what else somebody is known: another name ('name'), an address ('email', 'telegram', 'phone' …).
CREATE TABLE person_identities (
    person_id INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    value TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (person_id, kind, value)
) STRICT, WITHOUT ROWID;

-- (scope, category, key) → value. A new value supersedes the one before it, which is kept.
CREATE TABLE facts (
    -- No number is given twice: what is to be forgotten is named by it.
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    scope TEXT NOT NULL,
    category TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- Whom it is about, where that is somebody in `people`.
    person_id INTEGER REFERENCES people (id) ON DELETE CASCADE,
    -- Whose words it rests on, and which.
    user_id INTEGER REFERENCES users (id),
    speaker TEXT NOT NULL,
    message_id INTEGER REFERENCES messages (id),
    run_id INTEGER REFERENCES runs (id),
    source TEXT NOT NULL CHECK (source IN ('told', 'extracted', 'import')),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    uses INTEGER NOT NULL DEFAULT 0,
    used_at INTEGER,
    -- The time in which it holds, where that is known.
    valid_from INTEGER,
    valid_until INTEGER,
    -- The current fact that it contradicts: both are kept until a person says which is true.
    rival_of INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    -- When somebody was asked.
    asked_at INTEGER,
    created_at INTEGER NOT NULL,
    superseded_at INTEGER,
    superseded_by INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    -- What people said themselves has its speaker's role (`memories.origin`); what a run kept may rest on what it read.
    taint TEXT
) STRICT;
CREATE UNIQUE INDEX facts_current ON facts (scope, category, key) WHERE superseded_at IS NULL AND rival_of IS NULL;
CREATE INDEX facts_by_key ON facts (scope, category, key);
CREATE INDEX facts_pinned ON facts (scope) WHERE pinned = 1 AND superseded_at IS NULL;
CREATE INDEX facts_used ON facts (scope, used_at) WHERE used_at IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX facts_by_scope ON facts (scope, created_at) WHERE superseded_at IS NULL;
CREATE INDEX facts_by_person ON facts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_by_message ON facts (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX facts_rivals ON facts (rival_of) WHERE rival_of IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

-- Where the current fact is deleted, the oldest of its rivals stands in its place, with the others as its rivals.
CREATE TRIGGER facts_heir BEFORE DELETE ON facts WHEN old.superseded_at IS NULL AND old.rival_of IS NULL BEGIN
    UPDATE facts SET rival_of = (SELECT min(id) FROM facts WHERE rival_of = old.id AND superseded_at IS NULL)
    WHERE rival_of = old.id AND id <> (SELECT min(id) FROM facts WHERE rival_of = old.id AND superseded_at IS NULL);
END;

-- Only current facts can be searched.
CREATE TRIGGER facts_index AFTER INSERT ON facts WHEN new.superseded_at IS NULL BEGIN
    INSERT INTO facts_fts (rowid, scope, category, key, value) VALUES (new.id, new.scope, new.category, new.key, new.value);
END;

CREATE TRIGGER facts_unindex AFTER UPDATE OF superseded_at ON facts
WHEN old.superseded_at IS NULL AND new.superseded_at IS NOT NULL BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, scope, category, key, value)
    VALUES ('delete', old.id, old.scope, old.category, old.key, old.value);
END;

CREATE TRIGGER facts_reindex AFTER UPDATE OF key ON facts WHEN new.superseded_at IS NULL BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, scope, category, key, value)
    VALUES ('delete', old.id, old.scope, old.category, old.key, old.value);
    INSERT INTO facts_fts (rowid, scope, category, key, value) VALUES (new.id, new.scope, new.category, new.key, new.value);
END;

CREATE TRIGGER facts_drop AFTER DELETE ON facts WHEN old.superseded_at IS NULL BEGIN
    INSERT INTO facts_fts (facts_fts, rowid, scope, category, key, value)
    VALUES ('delete', old.id, old.scope, old.category, old.key, old.value);
END;

-- Scopes whose facts have changed and were not consolidated since.
CREATE TABLE facts_changed (
    scope TEXT PRIMARY KEY NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_changed_since ON facts_changed (since);

CREATE VIRTUAL TABLE facts_fts USING fts5 (
    scope, category, key, value, content = 'facts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- What was recalled for a run, and why (`/why`). What was forgotten since leaves its row, and nothing in it.
CREATE TABLE recalled (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    place INTEGER NOT NULL,
    memory_id INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    fact_id INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    leg TEXT NOT NULL CHECK (leg IN ('recency', 'salience', 'relevance', 'fact')),
    -- In thousandths.
    score INTEGER NOT NULL,
    -- JSON: what each signal brought, in thousandths.
    parts TEXT NOT NULL,
    PRIMARY KEY (run_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX recalled_memory ON recalled (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX recalled_fact ON recalled (fact_id) WHERE fact_id IS NOT NULL;

-- What is still to be taken out of the record of a run that was not over when something was forgotten: the words of a
-- message and all that rests on them, the run's journal, or only what was recalled for it.
CREATE TABLE forgettings (
    id INTEGER PRIMARY KEY NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    part TEXT NOT NULL CHECK (part IN ('words', 'journal', 'tail')),
    -- Of the words: the first message that was forgotten.
    message_id INTEGER REFERENCES messages (id),
    UNIQUE (run_id, part)
) STRICT;

-- Scopes of which everything is to be forgotten that was known then; it goes in slices.
CREATE TABLE forgotten_scopes (
    scope TEXT PRIMARY KEY NOT NULL,
    memories_through INTEGER NOT NULL,
    facts_through INTEGER NOT NULL,
    people_through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calls of a model on memory's behalf, outside any run, and what they cost.
CREATE TABLE memory_calls (
    id INTEGER PRIMARY KEY NOT NULL,
    -- Who pays: whose words it reads, or the first owner.
    user_id INTEGER REFERENCES users (id),
    purpose TEXT NOT NULL CHECK (purpose IN ('extraction', 'consolidation', 'embedding')),
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost')),
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    cost INTEGER,
    asked_at INTEGER NOT NULL,
    ended_at INTEGER,
    error TEXT
) STRICT;
CREATE INDEX memory_calls_open ON memory_calls (id) WHERE state = 'asked';
CREATE INDEX memory_calls_failed ON memory_calls (id) WHERE error <> '[forgotten]';
CREATE INDEX memory_calls_by_time ON memory_calls (asked_at);

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

-- What is to be done later, and what came of it (row N13).
CREATE TABLE schedules (
    id INTEGER PRIMARY KEY NOT NULL,
    -- `config`: it stands in the file under this name.
    source TEXT NOT NULL CHECK (source IN ('chat', 'config')),
    name TEXT,
    -- In whose name it is done, with what they may then.
    user_id INTEGER NOT NULL REFERENCES users (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    task TEXT NOT NULL,
    -- JSON (`policy::schedule::Rule`), with the zone whose wall clock it means, and the words that it was made from.
    rule TEXT NOT NULL,
    zone TEXT NOT NULL,
    asked TEXT NOT NULL,
    -- JSON: what the run that made it had read.
    taint TEXT NOT NULL,
    -- The call that made it: made again, it is the same one.
    run_id INTEGER REFERENCES runs (id),
    call_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'done', 'removed')),
    -- Why it is paused.
    why TEXT CHECK (why IN ('asked', 'failures', 'access', 'damaged')),
    -- Its people have not been told yet that it was paused.
    untold INTEGER NOT NULL DEFAULT 0 CHECK (untold IN (0, 1)),
    -- Runs in a row that failed.
    failures INTEGER NOT NULL DEFAULT 0,
    grace_secs INTEGER NOT NULL CHECK (grace_secs >= 0),
    -- Of several that were missed only the newest is run.
    coalesces INTEGER NOT NULL CHECK (coalesces IN (0, 1)),
    next_at INTEGER,
    -- Somebody wants it run once more, beside its rule.
    asked_at INTEGER,
    created_at INTEGER NOT NULL,
    CHECK ((why IS NULL) = (state <> 'paused')),
    CHECK ((run_id IS NULL) = (call_id IS NULL)),
    CHECK ((name IS NOT NULL) = (source = 'config'))
) STRICT;
CREATE UNIQUE INDEX schedules_call ON schedules (run_id, call_id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX schedules_name ON schedules (name) WHERE name IS NOT NULL AND state <> 'removed';
CREATE INDEX schedules_due ON schedules (next_at) WHERE state = 'active' AND next_at IS NOT NULL;
CREATE INDEX schedules_asked ON schedules (asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX schedules_untold ON schedules (id) WHERE untold = 1;
CREATE INDEX schedules_by_user ON schedules (user_id, id) WHERE state <> 'removed';

-- One row for each instant at which something was due: the primary key is the claim, so that none is done twice.
CREATE TABLE occurrences (
    schedule_id INTEGER NOT NULL REFERENCES schedules (id),
    due_at INTEGER NOT NULL,
    -- `stopped`: a person ended it.
    state TEXT NOT NULL CHECK (state IN ('queued', 'done', 'failed', 'stopped', 'missed', 'skipped')),
    run_id INTEGER REFERENCES runs (id),
    claimed_at INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, due_at),
    CHECK ((run_id IS NULL) = (state IN ('missed', 'skipped')))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX occurrences_run ON occurrences (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX occurrences_open ON occurrences (schedule_id) WHERE state = 'queued';

CREATE TRIGGER occurrences_succeed AFTER UPDATE OF state ON occurrences
WHEN new.state = 'done' BEGIN
    UPDATE schedules SET failures = 0 WHERE id = new.schedule_id AND failures > 0;
END;

-- Five failures in a row, and it is paused until somebody looks at it.
CREATE TRIGGER occurrences_fail AFTER UPDATE OF state ON occurrences
WHEN new.state = 'failed' BEGIN
    UPDATE schedules SET failures = failures + 1 WHERE id = new.schedule_id;
    UPDATE schedules SET state = 'paused', why = 'failures', untold = 1
    WHERE id = new.schedule_id AND state = 'active' AND failures >= 5;
END;

-- Skills that were installed (row K4): whether they may be used, and as which files.
CREATE TABLE skills (
    name TEXT PRIMARY KEY NOT NULL,
    -- Where it came from, for people.
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'inert')),
    -- Its words may instruct: the owner said so.
    trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1)),
    -- The files that this was said of. With others it is inert, and not trusted.
    digest TEXT NOT NULL,
    installed_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What runs did that ended well, as a fingerprint of the names and the shapes of their calls.
CREATE TABLE procedures (
    run_id INTEGER PRIMARY KEY NOT NULL REFERENCES runs (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    fingerprint TEXT NOT NULL,
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX procedures_alike ON procedures (user_id, fingerprint, ended_at);

-- What was offered as a draft of a skill: each procedure once to each person.
CREATE TABLE procedure_offers (
    user_id INTEGER NOT NULL REFERENCES users (id),
    fingerprint TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    drafted_at INTEGER,
    PRIMARY KEY (user_id, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX procedure_offers_open ON procedure_offers (offered_at) WHERE drafted_at IS NULL;

-- How far each account has come with what it catches up with after an outage.
CREATE TABLE cursors (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    list TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (channel, account, list)
) STRICT, WITHOUT ROWID;

-- A reply that grows in a chat while the model writes it: the message that its final form takes the place of.
-- In a conversation there is one at a time, as there is one run at work.
CREATE TABLE drafts (
    run_id INTEGER PRIMARY KEY NOT NULL REFERENCES runs (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    -- The platform's id of the message.
    external_id TEXT NOT NULL
) STRICT;

-- What people said in groups between the messages for Hob: context of its next run there, for a day at most. A row whose
-- words were taken stays, without them, so that the platform can deliver the message again.
CREATE TABLE overheard (
    id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    external_id TEXT NOT NULL,
    -- The platform's id of whoever said it, and how they are called there.
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    -- Whether a member of the household said it.
    member INTEGER NOT NULL CHECK (member IN (0, 1)),
    taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),
    at INTEGER NOT NULL,
    UNIQUE (channel, account, chat, external_id)
) STRICT;
CREATE INDEX overheard_open ON overheard (session_id, id) WHERE taken = 0;
CREATE INDEX overheard_by_sender ON overheard (channel, account, sender);
CREATE INDEX overheard_by_time ON overheard (at);

-- What `/group` chose for a chat; without a row: as configured.
CREATE TABLE group_modes (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('mention', 'all', 'off')),
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;

-- People who were paired, beside those that the config names.
CREATE TABLE members (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('guest', 'user', 'admin', 'owner')),
    paired_at INTEGER NOT NULL,
    UNIQUE (channel, account, external_id)
) STRICT;

-- People who wrote and are not let in, each with the hash of the code that they were given.
CREATE TABLE pairings (
    code TEXT PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    name TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    expires_at INTEGER NOT NULL,
    UNIQUE (channel, account, external_id)
) STRICT, WITHOUT ROWID;

-- Wrong codes, by whoever said them.
CREATE TABLE pairing_guesses (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX pairing_guesses_of ON pairing_guesses (channel, account, external_id, at);
CREATE INDEX pairing_guesses_by_time ON pairing_guesses (at);

-- The code that makes its sender the first owner, made anew at each start. `hob pair` shows it: whoever can read this file
-- is the owner already.
CREATE TABLE first_owner (
    id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    code TEXT NOT NULL,
    guesses INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Where somebody last talked with Hob by themselves, on each platform.
CREATE TABLE private_chats (
    user_id INTEGER NOT NULL REFERENCES users (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user_id, channel, account)
) STRICT, WITHOUT ROWID;

-- First letters to people who are not known, until an owner lets them out. Until then their row in the outbox is abandoned.
CREATE TABLE held_letters (
    outbox_id INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    -- JSON: the addresses that it goes to.
    recipients TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'approved', 'refused', 'expired')),
    held_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by INTEGER REFERENCES users (id),
    CHECK ((decided_at IS NULL) = (state = 'held'))
) STRICT;
CREATE INDEX held_letters_open ON held_letters (account, recipients) WHERE state = 'held';
CREATE INDEX held_letters_waiting ON held_letters (outbox_id) WHERE state = 'held';

-- Whom an owner has had answered before.
CREATE TABLE correspondents (
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    approved_by INTEGER NOT NULL REFERENCES users (id),
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (account, address)
) STRICT, WITHOUT ROWID;

-- To whom letters went lately, so that nobody is written to too often.
CREATE TABLE letters_sent (
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    outbox_id INTEGER NOT NULL,
    sent_at INTEGER NOT NULL,
    PRIMARY KEY (account, address, outbox_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX letters_sent_by_time ON letters_sent (sent_at);

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

-- Recordings that were put into words, a row for each try: what was set aside for it, what it cost, and, until its message is
-- taken in, the words. Of whom nobody knew at the time who they are, `user_id` is NULL and their share is added later.
CREATE TABLE recordings (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    external_id TEXT NOT NULL,
    -- Which of the message's files it is.
    place INTEGER NOT NULL,
    user_id INTEGER REFERENCES users (id),
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost')),
    reserved INTEGER NOT NULL DEFAULT 0,
    cost INTEGER,
    words TEXT,
    seconds INTEGER,
    asked_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX recordings_of_message ON recordings (channel, account, chat, external_id, place);
CREATE INDEX recordings_open ON recordings (id) WHERE state = 'asked';
CREATE INDEX recordings_by_time ON recordings (asked_at);

-- Letters that go to others than those whom the letter that they answer names: to some of them, or to owners.
CREATE TABLE letters_to (
    outbox_id INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    -- JSON: as `inbound.envelope`.
    envelope TEXT NOT NULL
) STRICT;

-- In a table without row ids, what is longer than a quarter of a page goes to a page of its own: so would nearly every event.
CREATE TABLE run_events (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;

CREATE INDEX run_events_system ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END)
    WHERE kind = 'run.begun';

CREATE INDEX run_events_tools ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END)
    WHERE kind = 'run.begun';

CREATE INDEX run_events_tail ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END)
    WHERE kind = 'run.begun';
