-- Effects that can be taken back for a while, each by a call that was fixed when the effect took place (row N16, `/undo`).
CREATE TABLE undos (
    id INTEGER NOT NULL PRIMARY KEY,
    -- The call that had the effect, and its tool.
    run_id INTEGER NOT NULL REFERENCES runs (id),
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- The conversation that it was had for, and whose run it was.
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    -- The call that takes it back: a tool and a JSON object.
    inverse_tool TEXT NOT NULL,
    inverse_arguments TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    -- At this moment it is offered no longer.
    until INTEGER NOT NULL,
    -- The run that takes it back, or has: there is one at most.
    taken_by INTEGER REFERENCES runs (id),
    UNIQUE (run_id, call_id)
) STRICT;
CREATE INDEX undos_by_session ON undos (session_id, id);
