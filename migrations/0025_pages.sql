-- A turn writes fewer pages.

-- In a table without row ids, what is longer than a quarter of a page goes to a page of its own: so would nearly every event.
CREATE TABLE events (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
INSERT INTO events SELECT run_id, seq, kind, version, body, at FROM run_events ORDER BY run_id, seq;
DROP TABLE run_events;
ALTER TABLE events RENAME TO run_events;
CREATE INDEX run_events_system ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END)
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tools ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END)
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tail ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END)
    WHERE kind = 'run.begun';

-- Those that are leased are among those that are at work, and these are few.
DROP INDEX runs_leased;
-- A model's latest calls are looked for once in the life of a process, among the latest of all.
DROP INDEX model_calls_answered;
-- What still goes out for a run is among what still goes out in its conversation.
DROP INDEX outbox_takes_draft;
