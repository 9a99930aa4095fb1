-- The older part of a conversation in few words, as one person may see it: what requests begin with after a compaction.
CREATE TABLE summaries (
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    -- The last ordinal that it stands for.
    through INTEGER NOT NULL,
    text TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    made_at INTEGER NOT NULL,
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

-- The persona that was chosen by `/persona`; none: as configured.
ALTER TABLE sessions ADD COLUMN persona TEXT;
-- Who paused the conversation; none: nobody.
ALTER TABLE sessions ADD COLUMN paused_by INTEGER REFERENCES users (id);
-- JSON: what the last run noted, if it did not come to its end (row B12).
ALTER TABLE sessions ADD COLUMN run_journal TEXT;

-- When an open question expires.
ALTER TABLE runs ADD COLUMN waits_until INTEGER;
-- The hash of the state that the journal folds to (`hob replay --verify`).
ALTER TABLE runs ADD COLUMN state_hash TEXT;
CREATE INDEX runs_expiring ON runs (waits_until) WHERE waits_until IS NOT NULL;

-- Left out of what models read: a turn that only looked whether there is something to do (row E14).
ALTER TABLE messages ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned IN (0, 1));
CREATE INDEX messages_pruned ON messages (session_id, ordinal) WHERE pruned = 1;

-- Who had a tool called, for quotas by the minute (row E15).
ALTER TABLE tool_calls ADD COLUMN user_id INTEGER REFERENCES users (id);
CREATE INDEX tool_calls_by_user ON tool_calls (user_id, started_at);
CREATE INDEX model_calls_by_user ON model_calls (user_id, asked_at);
