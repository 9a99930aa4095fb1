-- A schedule that looks first whether there is something to do (row F1): what it looks at, as JSON
-- (`policy::schedule::check::LookTarget`); NULL: it is simply run.
ALTER TABLE schedules ADD COLUMN looks_at TEXT;
-- What a watched page was like when it was last looked at (SHA-256).
ALTER TABLE schedules ADD COLUMN seen TEXT;
-- Looks in a row that failed.
ALTER TABLE schedules ADD COLUMN looks_failed INTEGER NOT NULL DEFAULT 0;
-- What the look came to: `idle`, `woken`, or `failed: ` and why. Where it began no run, the instant is `skipped`.
ALTER TABLE occurrences ADD COLUMN look TEXT;
CREATE INDEX occurrences_looked ON occurrences (schedule_id, due_at) WHERE look IS NOT NULL AND run_id IS NULL;
