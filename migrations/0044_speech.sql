-- Answers that are spoken as well (row F10, `/voice`).

-- Its sender spoke it.
ALTER TABLE inbound ADD COLUMN spoken INTEGER NOT NULL DEFAULT 0 CHECK (spoken IN (0, 1));

-- Whether answers are spoken. NULL: those to what was spoken.
ALTER TABLE sessions ADD COLUMN voice TEXT CHECK (voice IN ('on', 'off'));

-- Answers that are still to be spoken. What was paid for that stands in `recordings`.
CREATE TABLE speeches (
    -- The answer's first chunk.
    outbox_id INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    -- How often that was begun.
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
