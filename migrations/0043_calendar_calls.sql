-- What calls are about to change in calendars, written down before they do: one that was cut off goes on with that, and looks for
-- nothing else. It goes with its run's journal.
CREATE TABLE calendar_calls (
    run_id INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    -- The entry's name, with a digest of what was seen of it; of a new one the account and the calendar.
    entry TEXT NOT NULL,
    -- Random. Whatever the call has written has it, and nobody can have known it before.
    mark TEXT NOT NULL,
    PRIMARY KEY (run_id, call_id)
) STRICT, WITHOUT ROWID;
