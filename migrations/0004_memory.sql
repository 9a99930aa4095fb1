-- What is remembered (rows A4, N8). Everything remembered belongs to one scope, as text: 'p12' is one person's, 'c5' is
-- seen by those in one conversation, 'house' by everyone in the house.

DROP TRIGGER messages_index;
DROP TABLE messages_fts;

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

-- `scope` is searched along with the words, so that nothing of another scope is even looked at.
CREATE VIRTUAL TABLE memories_fts USING fts5 (
    scope, text, content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

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

DROP TRIGGER facts_index;
DROP TRIGGER facts_unindex;
DROP TABLE facts_fts;
ALTER TABLE facts RENAME TO facts_before;
DROP INDEX facts_current;

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
    superseded_by INTEGER REFERENCES facts (id) ON DELETE SET NULL
) STRICT;

INSERT INTO facts (id, scope, category, key, value, user_id, speaker, run_id, source, confidence, importance, created_at, superseded_at)
SELECT f.id, 'p' || f.user_id, f.category, f.key, f.value, f.user_id, u.name, f.run_id, 'told', 1.0, 0.5, f.created_at, f.superseded_at
FROM facts_before f JOIN users u ON u.id = f.user_id;
DROP TABLE facts_before;

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

-- Scopes whose facts have changed and were not consolidated since.
CREATE TABLE facts_changed (
    scope TEXT PRIMARY KEY NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX facts_changed_since ON facts_changed (since);

CREATE VIRTUAL TABLE facts_fts USING fts5 (
    scope, category, key, value, content = 'facts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

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

INSERT INTO facts_fts (rowid, scope, category, key, value)
SELECT id, scope, category, key, value FROM facts WHERE superseded_at IS NULL;

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

-- Commands that showed what is remembered: their answers are not kept once something was forgotten.
CREATE INDEX signals_by_run ON signals (run_id);
CREATE INDEX inbound_commands ON inbound (id) WHERE disposition = 'command';
-- Heartbeats, which tell facts that nobody asked for.
CREATE INDEX inbound_heartbeats ON inbound (received_at) WHERE external_id >= 'heartbeat:' AND external_id < 'heartbeat;';

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

-- What people said before: an episode for each person's day in a conversation.
INSERT INTO episodes (scope, session_id, began_at, ended_at)
SELECT CASE WHEN s.key LIKE '-%' THEN 'c' || m.session_id ELSE 'p' || m.user_id END AS owner, m.session_id, min(m.at), max(m.at)
FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.role = 'user' AND m.user_id IS NOT NULL AND m.pruned = 0 AND m.text <> ''
GROUP BY owner, m.session_id, m.at / 86400000;

INSERT INTO memories (episode_id, place, scope, speaker, user_id, message_id, text, origin, importance, at)
SELECT e.id, row_number() OVER (PARTITION BY e.id ORDER BY m.ordinal), e.scope, u.name, m.user_id, m.id, m.text, u.role, 0.3, m.at
FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = m.user_id
JOIN episodes e ON e.session_id = m.session_id AND m.at / 86400000 = e.began_at / 86400000
    AND e.scope = CASE WHEN s.key LIKE '-%' THEN 'c' || m.session_id ELSE 'p' || m.user_id END
WHERE m.role = 'user' AND m.user_id IS NOT NULL AND m.pruned = 0 AND m.text <> ''
ORDER BY m.id;

UPDATE episodes SET turns = (SELECT count(*) FROM memories WHERE episode_id = episodes.id);
-- What was said before is not gone through for facts: it was told when it was said.
UPDATE episodes SET extracted = turns;
