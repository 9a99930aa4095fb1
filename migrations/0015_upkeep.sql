-- When a run's journal was let go because it was old; NULL: it is there, or what was said in it was forgotten.
ALTER TABLE runs ADD COLUMN let_go_at INTEGER;

-- Which runs still refer to a large text: what nothing refers to is swept. A body that cannot be read refers to nothing.
CREATE INDEX run_events_system ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.system' END)
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tools ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tools' END)
    WHERE kind = 'run.begun';
CREATE INDEX run_events_tail ON run_events (CASE WHEN json_valid(body) THEN body ->> '$.body.context.tail' END)
    WHERE kind = 'run.begun';
