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

-- What nobody has asked for just now: a person's message goes before it.
ALTER TABLE runs ADD COLUMN yields INTEGER NOT NULL DEFAULT 0 CHECK (yields IN (0, 1));
-- Where the runs of a session ask and answer that is no conversation itself, such as an event's.
ALTER TABLE sessions ADD COLUMN speaks_in INTEGER REFERENCES sessions (id);

-- What came of a run comes of its occurrence, in the transaction that ends it.
CREATE TRIGGER occurrences_settle AFTER UPDATE OF ended_at ON runs
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
    UPDATE occurrences
    SET state = CASE new.state WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'stopped' END
    WHERE run_id = new.id;
END;

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
