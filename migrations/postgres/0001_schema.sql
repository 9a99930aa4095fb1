-- The end state of migrations/*.sql for PostgreSQL 15 or later: a test compares the two. What a column is for is said there.
--
-- Integers are BIGINT and flags stay integers, as SQLite knows nothing else; text is compared byte by byte, whatever the database's own
-- collation. The functions at the head are those of SQLite's that the program's SQL uses and PostgreSQL lacks.

-- Upper and lower case are the same.
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- The smaller and the larger of two; nothing if one is nothing.
CREATE FUNCTION min(a BIGINT, b BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN a <= b THEN a WHEN b < a THEN b END;

CREATE FUNCTION max(a BIGINT, b BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN a >= b THEN a WHEN b > a THEN b END;

CREATE FUNCTION max(a DOUBLE PRECISION, b DOUBLE PRECISION) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN a >= b THEN a WHEN b > a THEN b END;

CREATE FUNCTION instr(whole TEXT, part TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(whole, part);

CREATE FUNCTION substr(whole TEXT, first BIGINT, length BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(whole, first::integer, length::integer);

-- The server's time of day, in Unix milliseconds.
CREATE FUNCTION clock_ms() RETURNS BIGINT LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- A planner's hint in SQLite.
CREATE FUNCTION itself(value TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN value;
CREATE OPERATOR + (RIGHTARG = TEXT, FUNCTION = itself);

-- Whether it is JSON.
CREATE FUNCTION json_valid(body TEXT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN body::json IS NOT NULL;
EXCEPTION WHEN others THEN
    RETURN false;
END
$$;

-- What is at a path: `$.body.context.tail`, or a key alone. Texts are without quotation marks.
CREATE FUNCTION json_text_at(body TEXT, path TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN body::json #>> string_to_array(CASE WHEN path LIKE '$.%' THEN substr(path, 3) ELSE path END, '.');
CREATE OPERATOR ->> (LEFTARG = TEXT, RIGHTARG = TEXT, FUNCTION = json_text_at);

CREATE FUNCTION json_text_at(list TEXT, place INTEGER) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN list::json ->> place;
CREATE OPERATOR ->> (LEFTARG = TEXT, RIGHTARG = INTEGER, FUNCTION = json_text_at);

CREATE FUNCTION json_at(body TEXT, path TEXT) RETURNS JSON LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN body::json #> string_to_array(CASE WHEN path LIKE '$.%' THEN substr(path, 3) ELSE path END, '.');
CREATE OPERATOR -> (LEFTARG = TEXT, RIGHTARG = TEXT, FUNCTION = json_at);

-- The elements of a list, with their places from 0: SQLite's `json_each`, whose name is taken.
CREATE FUNCTION json_elements(list JSON, OUT key BIGINT, OUT value TEXT) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT e.place - 1, e.element FROM json_array_elements_text(list) WITH ORDINALITY AS e (element, place);
END;

CREATE FUNCTION json_elements(list TEXT, OUT key BIGINT, OUT value TEXT) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT e.place - 1, e.element FROM json_array_elements_text(list::json) WITH ORDINALITY AS e (element, place);
END;

CREATE FUNCTION json_array_length(list TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN json_array_length(list::json);

CREATE FUNCTION hex(bytes BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN upper(encode(bytes, 'hex'));

CREATE FUNCTION randomblob(length INTEGER) RETURNS BYTEA LANGUAGE sql VOLATILE
RETURN substr(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, length);

-- Full-text search. The words of a text are cut, folded and stemmed as SQLite's `porter unicode61 remove_diacritics 2` does it.
CREATE TEXT SEARCH DICTIONARY porter (TEMPLATE = snowball, LANGUAGE = porter);

CREATE FUNCTION stems(words TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY (
    SELECT coalesce((ts_lexize('porter', left(w.word, 500)))[1], left(w.word, 500))
    FROM regexp_split_to_table(
        lower(regexp_replace(normalize(words, NFD), '[\u0300-\u036f]', '', 'g') COLLATE "und-x-icu"),
        '[^[:alnum:]]+') AS w (word)
    WHERE w.word <> '');

-- A text's words, each with its column before it: so a query can ask for one column.
CREATE FUNCTION stems_of(column_name TEXT, words TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY (SELECT column_name || ':' || s.stem FROM unnest(stems(words)) AS s (stem));

-- `{key value} : ("dogs" OR "cats")` of SQLite's: that one of the columns has one of the words.
CREATE FUNCTION one_of(part TEXT) RETURNS TSQUERY LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(quote_literal(c.name || ':' || s.stem), ' | ')::tsquery
    FROM regexp_split_to_table(split_part(part, ':', 1), '[^a-z]+') AS c (name),
        regexp_matches(substr(part, strpos(part, ':') + 1), '"([^"]*)"', 'g') AS q (word),
        unnest(stems(q.word[1])) AS s (stem)
    WHERE c.name <> '');

-- A query such as `scope : ("p1" OR "h") AND {key value} : ("dogs" OR "cats")` for a column of words.
CREATE FUNCTION matching(query TEXT) RETURNS TSQUERY LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT string_agg('(' || one_of(p.part)::text || ')', ' & ')::tsquery
    FROM regexp_split_to_table(query, ' AND ') AS p (part));

CREATE TABLE users (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('guest', 'user', 'admin', 'owner')),
    created_at BIGINT NOT NULL
);

CREATE TABLE identities (
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    user_id BIGINT NOT NULL REFERENCES users (id),
    PRIMARY KEY (channel, account, external_id)
);

CREATE TABLE sessions (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    key TEXT COLLATE "C" NOT NULL UNIQUE,
    channel TEXT COLLATE "C" NOT NULL,
    queue_mode TEXT COLLATE "C" CHECK (queue_mode IN ('queue', 'steer', 'interrupt')),
    model TEXT COLLATE "C",
    context_from BIGINT NOT NULL DEFAULT 0,
    last_ordinal BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    stand_in TEXT COLLATE "C",
    prefix TEXT COLLATE "C",
    persona TEXT COLLATE "C",
    paused_by BIGINT REFERENCES users (id),
    run_journal TEXT COLLATE "C",
    speaks_in BIGINT REFERENCES sessions (id)
,
    server TEXT COLLATE "C",
    voice TEXT COLLATE "C" CHECK (voice IN ('on', 'off'))
);
CREATE INDEX sessions_on_the_page ON sessions (id) WHERE channel = 'web';

CREATE TABLE inbound (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    disposition TEXT COLLATE "C" NOT NULL CHECK (disposition IN ('run', 'command', 'answer', 'refused')),
    sent_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    envelope TEXT COLLATE "C",
    spoken BIGINT NOT NULL DEFAULT 0 CHECK (spoken IN (0, 1)),
    UNIQUE (channel, account, chat, external_id)
);
CREATE INDEX inbound_commands ON inbound (id) WHERE disposition = 'command';
CREATE INDEX inbound_heartbeats ON inbound (received_at) WHERE external_id >= 'heartbeat:' AND external_id < 'heartbeat;';
CREATE INDEX inbound_on_the_page ON inbound (session_id, id) WHERE channel = 'web';

CREATE TABLE runs (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    inbound_id BIGINT NOT NULL UNIQUE REFERENCES inbound (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'completed', 'cancelled', 'failed', 'withdrawn', 'joined')),
    may_join BIGINT NOT NULL DEFAULT 0 CHECK (may_join IN (0, 1)),
    lease_owner TEXT COLLATE "C",
    lease_until BIGINT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    waits_until BIGINT,
    state_hash TEXT COLLATE "C",
    yields BIGINT NOT NULL DEFAULT 0 CHECK (yields IN (0, 1)),
    parent_run BIGINT REFERENCES runs (id),
    parent_call TEXT COLLATE "C",
    root_run BIGINT REFERENCES runs (id),
    home_session BIGINT REFERENCES sessions (id),
    depth BIGINT NOT NULL DEFAULT 0,
    let_go_at BIGINT,
    parked_why TEXT COLLATE "C",
    edition TEXT COLLATE "C",
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (lease_owner IS NULL OR state = 'running'),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'running', 'waiting')))
);
CREATE UNIQUE INDEX runs_one_active ON runs (session_id) WHERE state IN ('running', 'waiting');
CREATE INDEX runs_lane ON runs (session_id, id) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_queue ON runs (session_id, id) WHERE state = 'queued';
CREATE INDEX runs_over ON runs (session_id, id) WHERE state IN ('completed', 'cancelled', 'failed');
CREATE INDEX runs_expiring ON runs (waits_until) WHERE waits_until IS NOT NULL;
CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_by_root ON runs (root_run) WHERE root_run IS NOT NULL;
CREATE INDEX runs_at_home ON runs (home_session, id)
    WHERE home_session IS NOT NULL AND state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_aside ON runs (session_id, id) WHERE state IN ('withdrawn', 'joined');
CREATE INDEX runs_ended_so ON runs (state, id) WHERE state IN ('cancelled', 'failed', 'withdrawn', 'joined');
CREATE INDEX runs_parked ON runs (session_id) WHERE parked_why IS NOT NULL;

CREATE TABLE signals (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    taken BIGINT NOT NULL DEFAULT 0 CHECK (taken IN (0, 1))
);
CREATE INDEX signals_open ON signals (run_id, id) WHERE taken = 0;
CREATE INDEX signals_by_run ON signals (run_id);

CREATE TABLE blobs (
    hash TEXT COLLATE "C" PRIMARY KEY,
    text TEXT COLLATE "C" NOT NULL
);

CREATE TABLE messages (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    ordinal BIGINT NOT NULL,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    user_id BIGINT REFERENCES users (id),
    body TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    tokens BIGINT,
    pruned BIGINT NOT NULL DEFAULT 0 CHECK (pruned IN (0, 1)),
    taint TEXT COLLATE "C",
    scope TEXT COLLATE "C",
    own BIGINT NOT NULL DEFAULT 0 CHECK (own IN (0, 1)),
    -- What full-text search looks at.
    words TSVECTOR GENERATED ALWAYS AS (
        CASE WHEN scope IS NOT NULL THEN
            array_to_tsvector(stems_of('scope', scope) || stems_of('text', text))
        END
    ) STORED,
    UNIQUE (session_id, ordinal)
);
CREATE INDEX messages_words ON messages USING gin (words);
CREATE INDEX messages_pruned ON messages (session_id, ordinal) WHERE pruned = 1;
CREATE INDEX messages_tainted ON messages (run_id) WHERE taint IS NOT NULL;

CREATE TABLE tool_calls (
    run_id BIGINT NOT NULL REFERENCES runs (id),
    call_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    arguments TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 1),
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    is_error BIGINT CHECK (is_error IN (0, 1)),
    result TEXT COLLATE "C",
    user_id BIGINT REFERENCES users (id),
    PRIMARY KEY (run_id, call_id),
    CHECK ((finished_at IS NULL) = (result IS NULL) AND (result IS NULL) = (is_error IS NULL))
);
CREATE INDEX tool_calls_by_user ON tool_calls (user_id, started_at);

CREATE TABLE model_calls (
    run_id BIGINT NOT NULL REFERENCES runs (id),
    asked_seq BIGINT NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost', 'dropped')),
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    cached_tokens BIGINT NOT NULL DEFAULT 0,
    asked_at BIGINT NOT NULL,
    ended_at BIGINT,
    error TEXT COLLATE "C",
    session_id BIGINT REFERENCES sessions (id),
    user_id BIGINT REFERENCES users (id),
    estimate BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens BIGINT NOT NULL DEFAULT 0,
    reserved BIGINT NOT NULL DEFAULT 0,
    cost BIGINT,
    latency_ms BIGINT,
    prefix_break TEXT COLLATE "C",
    persona TEXT COLLATE "C",
    PRIMARY KEY (run_id, asked_seq)
);
CREATE INDEX model_calls_by_time ON model_calls (asked_at);
CREATE INDEX model_calls_open ON model_calls (user_id) WHERE state = 'asked';

CREATE TABLE budget_notes (
    scope TEXT COLLATE "C" NOT NULL,
    period BIGINT NOT NULL,
    PRIMARY KEY (scope, period)
);

CREATE TABLE summaries (
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    through BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    made_at BIGINT NOT NULL,
    taint TEXT COLLATE "C",
    PRIMARY KEY (session_id, user_id)
);

CREATE TABLE grants (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id),
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    tool TEXT COLLATE "C" NOT NULL,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE UNIQUE INDEX grants_current ON grants (session_id, user_id, tool) WHERE revoked_at IS NULL;

CREATE TABLE switches (
    name TEXT COLLATE "C" PRIMARY KEY,
    set_by BIGINT NOT NULL REFERENCES users (id),
    set_at BIGINT NOT NULL
);

CREATE TABLE episodes (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT COLLATE "C" NOT NULL,
    session_id BIGINT REFERENCES sessions (id),
    began_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    turns BIGINT NOT NULL DEFAULT 0,
    extracted BIGINT NOT NULL DEFAULT 0,
    tries BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX episodes_latest ON episodes (session_id, scope, id);
CREATE INDEX episodes_by_time ON episodes (scope, began_at);
CREATE INDEX episodes_to_extract ON episodes (ended_at) WHERE extracted < turns;

CREATE TABLE memories (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    episode_id BIGINT NOT NULL REFERENCES episodes (id),
    place BIGINT NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    speaker TEXT COLLATE "C" NOT NULL,
    user_id BIGINT REFERENCES users (id),
    message_id BIGINT UNIQUE REFERENCES messages (id),
    text TEXT COLLATE "C" NOT NULL,
    asked TEXT COLLATE "C",
    origin TEXT COLLATE "C" NOT NULL CHECK (origin IN ('owner', 'admin', 'user', 'guest', 'import')),
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    pinned BIGINT NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    uses BIGINT NOT NULL DEFAULT 0,
    used_at BIGINT,
    at BIGINT NOT NULL,
    stems BYTEA,
    manner BIGINT,
    -- What full-text search looks at.
    words TSVECTOR GENERATED ALWAYS AS (
        array_to_tsvector(stems_of('scope', scope) || stems_of('text', text))
    ) STORED,
    UNIQUE (episode_id, place)
);
CREATE INDEX memories_words ON memories USING gin (words);
CREATE INDEX memories_by_time ON memories (scope, at);
CREATE INDEX memories_pinned ON memories (scope, importance) WHERE pinned = 1;
CREATE INDEX memories_salient ON memories (scope, importance) WHERE importance >= 0.8;
CREATE INDEX memories_by_speaker ON memories (scope, speaker);

CREATE TABLE embedding_models (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    dimensions BIGINT NOT NULL,
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    through BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

CREATE TABLE vectors (
    model_id BIGINT NOT NULL REFERENCES embedding_models (id),
    memory_id BIGINT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    vector BYTEA NOT NULL,
    PRIMARY KEY (model_id, memory_id)
);
CREATE INDEX vectors_by_memory ON vectors (memory_id);

CREATE TABLE token_signs (
    model_id BIGINT NOT NULL REFERENCES embedding_models (id),
    memory_id BIGINT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    signs BYTEA NOT NULL,
    PRIMARY KEY (model_id, memory_id)
);
CREATE INDEX token_signs_by_memory ON token_signs (memory_id);

CREATE TABLE people (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    user_id BIGINT REFERENCES users (id),
    relation TEXT COLLATE "C",
    birthday TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX people_by_name ON people (scope, name COLLATE nocase);

CREATE TABLE person_identities (
    person_id BIGINT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE nocase NOT NULL,
    PRIMARY KEY (person_id, kind, value)
);

CREATE TABLE facts (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    scope TEXT COLLATE "C" NOT NULL,
    category TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    person_id BIGINT REFERENCES people (id) ON DELETE CASCADE,
    user_id BIGINT REFERENCES users (id),
    speaker TEXT COLLATE "C" NOT NULL,
    message_id BIGINT REFERENCES messages (id),
    run_id BIGINT REFERENCES runs (id),
    source TEXT COLLATE "C" NOT NULL CHECK (source IN ('told', 'extracted', 'import')),
    confidence DOUBLE PRECISION NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    pinned BIGINT NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    uses BIGINT NOT NULL DEFAULT 0,
    used_at BIGINT,
    valid_from BIGINT,
    valid_until BIGINT,
    rival_of BIGINT REFERENCES facts (id) ON DELETE SET NULL,
    asked_at BIGINT,
    created_at BIGINT NOT NULL,
    superseded_at BIGINT,
    superseded_by BIGINT REFERENCES facts (id) ON DELETE SET NULL,
    taint TEXT COLLATE "C",
    -- What full-text search looks at.
    words TSVECTOR GENERATED ALWAYS AS (
        CASE WHEN superseded_at IS NULL THEN
            array_to_tsvector(
                stems_of('scope', scope) || stems_of('category', category) || stems_of('key', key) || stems_of('value', value))
        END
    ) STORED
);
CREATE INDEX facts_words ON facts USING gin (words);
CREATE UNIQUE INDEX facts_current ON facts (scope, category, key) WHERE superseded_at IS NULL AND rival_of IS NULL;
CREATE INDEX facts_by_key ON facts (scope, category, key);
CREATE INDEX facts_pinned ON facts (scope) WHERE pinned = 1 AND superseded_at IS NULL;
CREATE INDEX facts_used ON facts (scope, used_at) WHERE used_at IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX facts_by_scope ON facts (scope, created_at) WHERE superseded_at IS NULL;
CREATE INDEX facts_by_person ON facts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX facts_by_message ON facts (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX facts_rivals ON facts (rival_of) WHERE rival_of IS NOT NULL;
CREATE INDEX facts_superseded ON facts (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE facts_changed (
    scope TEXT COLLATE "C" PRIMARY KEY,
    since BIGINT NOT NULL
);
CREATE INDEX facts_changed_since ON facts_changed (since);

CREATE TABLE forgettings (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    part TEXT COLLATE "C" NOT NULL CHECK (part IN ('words', 'journal', 'tail')),
    message_id BIGINT REFERENCES messages (id),
    UNIQUE (run_id, part)
);

CREATE TABLE forgotten_scopes (
    scope TEXT COLLATE "C" PRIMARY KEY,
    memories_through BIGINT NOT NULL,
    facts_through BIGINT NOT NULL,
    people_through BIGINT NOT NULL
);

CREATE TABLE memory_calls (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    user_id BIGINT REFERENCES users (id),
    purpose TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('extraction', 'consolidation', 'embedding')),
    model TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost')),
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    cached_tokens BIGINT NOT NULL DEFAULT 0,
    reserved BIGINT NOT NULL DEFAULT 0,
    cost BIGINT,
    asked_at BIGINT NOT NULL,
    ended_at BIGINT,
    error TEXT COLLATE "C"
,
    persona TEXT COLLATE "C"
);
CREATE INDEX memory_calls_open ON memory_calls (id) WHERE state = 'asked';
CREATE INDEX memory_calls_failed ON memory_calls (id) WHERE error <> '[forgotten]';
CREATE INDEX memory_calls_by_time ON memory_calls (asked_at);

CREATE TABLE files (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    key TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    scope TEXT COLLATE "C" NOT NULL,
    inbound_id BIGINT REFERENCES inbound (id),
    name TEXT COLLATE "C" NOT NULL,
    mime TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    hash TEXT COLLATE "C" NOT NULL CHECK (length(hash) = 64),
    origin TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX files_by_content ON files (hash);
CREATE INDEX files_by_scope ON files (scope);
CREATE INDEX files_by_age ON files (created_at);
CREATE INDEX files_by_message ON files (inbound_id) WHERE inbound_id IS NOT NULL;

CREATE TABLE outbox (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    key TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    run_id BIGINT REFERENCES runs (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C",
    reply_to TEXT COLLATE "C",
    text TEXT COLLATE "C" NOT NULL,
    choices TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'sending', 'unknown', 'delivered', 'failed', 'abandoned')),
    attempts BIGINT NOT NULL DEFAULT 0,
    may_repeat BIGINT NOT NULL DEFAULT 0 CHECK (may_repeat IN (0, 1)),
    next_attempt_at BIGINT NOT NULL,
    external_id TEXT COLLATE "C",
    error TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    file_id BIGINT REFERENCES files (id) ON DELETE SET NULL,
    markup TEXT COLLATE "C",
    takes_draft BIGINT NOT NULL DEFAULT 0 CHECK (takes_draft IN (0, 1)),
    question BIGINT,
    replaces_key TEXT COLLATE "C",
    CHECK ((ended_at IS NULL) = (state IN ('pending', 'sending', 'unknown')))
);
CREATE INDEX outbox_given_up ON outbox (ended_at) WHERE state IN ('failed', 'abandoned');
CREATE INDEX outbox_open_by_session ON outbox (session_id, id) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_by_file ON outbox (file_id) WHERE file_id IS NOT NULL;
CREATE INDEX outbox_questions ON outbox (run_id, question) WHERE question IS NOT NULL;
CREATE INDEX outbox_on_the_page ON outbox (session_id, id) WHERE channel = 'web';

CREATE TABLE schedules (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    source TEXT COLLATE "C" NOT NULL CHECK (source IN ('chat', 'config')),
    name TEXT COLLATE "C",
    user_id BIGINT NOT NULL REFERENCES users (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C",
    task TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    zone TEXT COLLATE "C" NOT NULL,
    asked TEXT COLLATE "C" NOT NULL,
    taint TEXT COLLATE "C" NOT NULL,
    run_id BIGINT REFERENCES runs (id),
    call_id TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'paused', 'done', 'removed')),
    why TEXT COLLATE "C" CHECK (why IN ('asked', 'failures', 'access', 'damaged')),
    untold BIGINT NOT NULL DEFAULT 0 CHECK (untold IN (0, 1)),
    failures BIGINT NOT NULL DEFAULT 0,
    grace_secs BIGINT NOT NULL CHECK (grace_secs >= 0),
    coalesces BIGINT NOT NULL CHECK (coalesces IN (0, 1)),
    next_at BIGINT,
    asked_at BIGINT,
    created_at BIGINT NOT NULL,
    looks_at TEXT COLLATE "C",
    seen TEXT COLLATE "C",
    looks_failed BIGINT NOT NULL DEFAULT 0,
    CHECK ((why IS NULL) = (state <> 'paused')),
    CHECK ((run_id IS NULL) = (call_id IS NULL)),
    CHECK ((name IS NOT NULL) = (source = 'config'))
);
CREATE UNIQUE INDEX schedules_call ON schedules (run_id, call_id) WHERE run_id IS NOT NULL;
CREATE UNIQUE INDEX schedules_name ON schedules (name) WHERE name IS NOT NULL AND state <> 'removed';
CREATE INDEX schedules_due ON schedules (next_at) WHERE state = 'active' AND next_at IS NOT NULL;
CREATE INDEX schedules_asked ON schedules (asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX schedules_untold ON schedules (id) WHERE untold = 1;
CREATE INDEX schedules_by_user ON schedules (user_id, id) WHERE state <> 'removed';

CREATE TABLE occurrences (
    schedule_id BIGINT NOT NULL REFERENCES schedules (id),
    due_at BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'done', 'failed', 'stopped', 'missed', 'skipped')),
    run_id BIGINT REFERENCES runs (id),
    claimed_at BIGINT NOT NULL,
    look TEXT COLLATE "C",
    PRIMARY KEY (schedule_id, due_at),
    CHECK ((run_id IS NULL) = (state IN ('missed', 'skipped')))
);
CREATE UNIQUE INDEX occurrences_run ON occurrences (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX occurrences_open ON occurrences (schedule_id) WHERE state = 'queued';
CREATE INDEX occurrences_looked ON occurrences (schedule_id, due_at) WHERE look IS NOT NULL AND run_id IS NULL;

CREATE TABLE skills (
    name TEXT COLLATE "C" PRIMARY KEY,
    source TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('enabled', 'inert')),
    trusted BIGINT NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1)),
    digest TEXT COLLATE "C" NOT NULL,
    installed_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE procedures (
    run_id BIGINT PRIMARY KEY REFERENCES runs (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    fingerprint TEXT COLLATE "C" NOT NULL,
    ended_at BIGINT NOT NULL
);
CREATE INDEX procedures_alike ON procedures (user_id, fingerprint, ended_at);

CREATE TABLE procedure_offers (
    user_id BIGINT NOT NULL REFERENCES users (id),
    fingerprint TEXT COLLATE "C" NOT NULL,
    offered_at BIGINT NOT NULL,
    drafted_at BIGINT,
    PRIMARY KEY (user_id, fingerprint)
);
CREATE INDEX procedure_offers_open ON procedure_offers (offered_at) WHERE drafted_at IS NULL;

CREATE TABLE cursors (
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    list TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (channel, account, list)
);

CREATE TABLE drafts (
    run_id BIGINT PRIMARY KEY REFERENCES runs (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C",
    external_id TEXT COLLATE "C" NOT NULL
);

CREATE TABLE overheard (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    sender TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    member BIGINT NOT NULL CHECK (member IN (0, 1)),
    taken BIGINT NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),
    at BIGINT NOT NULL,
    UNIQUE (channel, account, chat, external_id)
);
CREATE INDEX overheard_open ON overheard (session_id, id) WHERE taken = 0;
CREATE INDEX overheard_by_sender ON overheard (channel, account, sender);
CREATE INDEX overheard_by_time ON overheard (at);

CREATE TABLE group_modes (
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('mention', 'all', 'off')),
    PRIMARY KEY (channel, account, chat)
);

CREATE TABLE members (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('guest', 'user', 'admin', 'owner')),
    paired_at BIGINT NOT NULL,
    UNIQUE (channel, account, external_id)
);

CREATE TABLE pairings (
    code TEXT COLLATE "C" PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C",
    expires_at BIGINT NOT NULL,
    UNIQUE (channel, account, external_id)
);

CREATE TABLE pairing_guesses (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX pairing_guesses_of ON pairing_guesses (channel, account, external_id, at);
CREATE INDEX pairing_guesses_by_time ON pairing_guesses (at);

CREATE TABLE first_owner (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    code TEXT COLLATE "C" NOT NULL,
    guesses BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE private_chats (
    user_id BIGINT NOT NULL REFERENCES users (id),
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (user_id, channel, account)
);

CREATE TABLE held_letters (
    outbox_id BIGINT PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    account TEXT COLLATE "C" NOT NULL,
    recipients TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('held', 'approved', 'refused', 'expired')),
    held_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by BIGINT REFERENCES users (id),
    CHECK ((decided_at IS NULL) = (state = 'held'))
);
CREATE INDEX held_letters_open ON held_letters (account, recipients) WHERE state = 'held';
CREATE INDEX held_letters_waiting ON held_letters (outbox_id) WHERE state = 'held';

CREATE TABLE correspondents (
    account TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    approved_by BIGINT NOT NULL REFERENCES users (id),
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (account, address)
);

CREATE TABLE letters_sent (
    account TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    outbox_id BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (account, address, outbox_id)
);
CREATE INDEX letters_sent_by_time ON letters_sent (sent_at);

CREATE TABLE web_logins (
    hash TEXT COLLATE "C" PRIMARY KEY,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'owner')),
    expires_at BIGINT NOT NULL
);

CREATE TABLE web_visits (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    hash TEXT COLLATE "C" NOT NULL UNIQUE,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'owner')),
    agent TEXT COLLATE "C" NOT NULL,
    began_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE web_entered (
    role TEXT COLLATE "C" PRIMARY KEY CHECK (role IN ('viewer', 'owner')),
    first_at BIGINT NOT NULL
);

CREATE TABLE web_tokens (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    hash TEXT COLLATE "C" NOT NULL UNIQUE,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'owner')),
    made_at BIGINT NOT NULL,
    used_at BIGINT
);

CREATE TABLE recordings (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    chat TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    user_id BIGINT REFERENCES users (id),
    model TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost')),
    reserved BIGINT NOT NULL DEFAULT 0,
    cost BIGINT,
    words TEXT COLLATE "C",
    seconds BIGINT,
    asked_at BIGINT NOT NULL,
    ended_at BIGINT
,
    persona TEXT COLLATE "C",
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX recordings_of_message ON recordings (channel, account, chat, external_id, place);
CREATE INDEX recordings_open ON recordings (id) WHERE state = 'asked';
CREATE INDEX recordings_by_time ON recordings (asked_at);

CREATE TABLE letters_to (
    outbox_id BIGINT PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    envelope TEXT COLLATE "C" NOT NULL
);

CREATE TABLE run_events (
    run_id BIGINT NOT NULL REFERENCES runs (id),
    seq BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE INDEX run_events_system ON run_events ((CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END))
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tools ON run_events ((CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END))
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tail ON run_events ((CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END))
    WHERE kind = 'run.begun';

CREATE TABLE web_chats (
    session_id BIGINT PRIMARY KEY REFERENCES sessions (id),
    title TEXT COLLATE "C",
    said_upto BIGINT NOT NULL DEFAULT 0,
    answered_upto BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE web_pushes (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    visit_id BIGINT NOT NULL REFERENCES web_visits (id) ON DELETE CASCADE,
    endpoint TEXT COLLATE "C" NOT NULL UNIQUE,
    p256dh TEXT COLLATE "C" NOT NULL,
    auth TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL
);
CREATE INDEX web_pushes_of_visit ON web_pushes (visit_id);

CREATE TABLE web_push_key (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    pkcs8 BYTEA NOT NULL
);

CREATE TABLE mcp_classes (
    server TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    class TEXT COLLATE "C" NOT NULL CHECK (class IN ('looks', 'changes', 'critical', 'off')),
    digest TEXT COLLATE "C" NOT NULL,
    classed_at BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
);

CREATE TABLE undos (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run_id BIGINT NOT NULL REFERENCES runs (id),
    call_id TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    session_id BIGINT NOT NULL REFERENCES sessions (id),
    user_id BIGINT NOT NULL REFERENCES users (id),
    inverse_tool TEXT COLLATE "C" NOT NULL,
    inverse_arguments TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL,
    until BIGINT NOT NULL,
    taken_by BIGINT REFERENCES runs (id),
    UNIQUE (run_id, call_id)
);
CREATE INDEX undos_by_session ON undos (session_id, id);

CREATE TABLE spend (
    quarter BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    persona TEXT COLLATE "C" NOT NULL DEFAULT '',
    calls BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    prefix_breaks BIGINT NOT NULL,
    PRIMARY KEY (quarter, user_id, model, persona)
);

CREATE TABLE calendar_calls (
    run_id BIGINT NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    entry TEXT COLLATE "C" NOT NULL,
    mark TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, call_id)
);

CREATE TABLE speeches (
    outbox_id BIGINT PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    attempts BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE fact_sets (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    facts TEXT COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE recalled (
    run_id BIGINT NOT NULL REFERENCES runs (id),
    place BIGINT NOT NULL,
    memory_id BIGINT REFERENCES memories (id) ON DELETE SET NULL,
    fact_id BIGINT REFERENCES facts (id) ON DELETE SET NULL,
    message_id BIGINT REFERENCES messages (id) ON DELETE SET NULL,
    leg TEXT COLLATE "C" NOT NULL CHECK (leg IN ('recency', 'salience', 'relevance', 'fact', 'answer')),
    score BIGINT NOT NULL,
    parts TEXT COLLATE "C" NOT NULL,
    set_id BIGINT REFERENCES fact_sets (id),
    PRIMARY KEY (run_id, place)
);
CREATE INDEX recalled_memory ON recalled (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX recalled_fact ON recalled (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX recalled_answer ON recalled (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX recalled_set ON recalled (set_id) WHERE set_id IS NOT NULL;

CREATE TABLE fact_set_members (
    fact_id BIGINT NOT NULL REFERENCES facts (id) ON DELETE CASCADE,
    set_id BIGINT NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (fact_id, set_id)
);
CREATE INDEX fact_set_members_set ON fact_set_members (set_id);

-- What comes of a run comes of its occurrence, in the transaction that ends it.
CREATE FUNCTION occurrences_settle() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE occurrences
    SET state = CASE new.state WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'stopped' END
    WHERE run_id = new.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER occurrences_settle AFTER UPDATE OF ended_at ON runs
FOR EACH ROW WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION occurrences_settle();

CREATE FUNCTION messages_count() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions SET last_ordinal = new.ordinal WHERE id = new.session_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER messages_count AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION messages_count();

CREATE FUNCTION facts_heir() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE facts SET rival_of = (SELECT min(id) FROM facts WHERE rival_of = old.id AND superseded_at IS NULL)
    WHERE rival_of = old.id AND id <> (SELECT min(id) FROM facts WHERE rival_of = old.id AND superseded_at IS NULL);
    RETURN NULL;
END
$$;
-- Before the foreign key lets go of all rivals: triggers fire in the order of their names, and that one's begins with `RI_`.
CREATE TRIGGER "FACTS_HEIR" AFTER DELETE ON facts
FOR EACH ROW WHEN (old.superseded_at IS NULL AND old.rival_of IS NULL) EXECUTE FUNCTION facts_heir();

CREATE FUNCTION occurrences_succeed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE schedules SET failures = 0 WHERE id = new.schedule_id AND failures > 0;
    RETURN NULL;
END
$$;
CREATE TRIGGER occurrences_succeed AFTER UPDATE OF state ON occurrences
FOR EACH ROW WHEN (new.state = 'done') EXECUTE FUNCTION occurrences_succeed();

CREATE FUNCTION occurrences_fail() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE schedules SET failures = failures + 1 WHERE id = new.schedule_id;
    UPDATE schedules SET state = 'paused', why = 'failures', untold = 1
    WHERE id = new.schedule_id AND state = 'active' AND failures >= 5;
    RETURN NULL;
END
$$;
CREATE TRIGGER occurrences_fail AFTER UPDATE OF state ON occurrences
FOR EACH ROW WHEN (new.state = 'failed') EXECUTE FUNCTION occurrences_fail();

-- What is no longer found is no longer told as found, either.
CREATE FUNCTION answers_untold() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recalled SET message_id = NULL WHERE message_id = old.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER answers_untold AFTER UPDATE OF scope ON messages
FOR EACH ROW WHEN (old.scope IS NOT NULL AND new.scope IS NULL) EXECUTE FUNCTION answers_untold();

-- An answer goes with the memory of what it answers, however that goes.
CREATE FUNCTION answers_outlive_nothing() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET scope = NULL WHERE id IN (
        SELECT a.id FROM messages g CROSS JOIN messages a
        WHERE g.id = old.message_id AND a.session_id = g.session_id AND a.ordinal > g.ordinal AND a.ordinal <= g.ordinal + 200
            AND a.run_id = g.run_id AND a.scope IS NOT NULL);
    RETURN NULL;
END
$$;
CREATE TRIGGER answers_outlive_nothing AFTER DELETE ON memories
FOR EACH ROW WHEN (old.message_id IS NOT NULL) EXECUTE FUNCTION answers_outlive_nothing();

CREATE FUNCTION fact_sets_unused() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM fact_sets
    WHERE id = old.set_id AND NOT EXISTS (SELECT 1 FROM recalled r WHERE r.set_id = old.set_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER fact_sets_unused AFTER DELETE ON recalled
FOR EACH ROW WHEN (old.set_id IS NOT NULL) EXECUTE FUNCTION fact_sets_unused();

-- What lies in the data directory beside a file, for all daemons.
CREATE TABLE chunks (
    name TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (name, place)
);

-- The daemons that are there: which one works with the database, and which stand by. A file has one, which has its data directory's lock.
-- These tables are the same in every schema, as daemons of different ones meet in them.
CREATE TABLE daemons (
    boot TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    config TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL
);
-- Until when each counts as there if nothing is heard of it. Rows of their own: those above are locked by transactions.
CREATE TABLE daemon_beats (
    boot TEXT COLLATE "C" PRIMARY KEY REFERENCES daemons (boot) ON DELETE CASCADE,
    alive_until BIGINT NOT NULL
);
-- What one daemon at a time has.
CREATE TABLE leases (
    what TEXT COLLATE "C" PRIMARY KEY,
    boot TEXT COLLATE "C" NOT NULL REFERENCES daemons (boot) ON DELETE CASCADE
);
