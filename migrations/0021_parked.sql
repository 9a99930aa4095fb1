-- A run whose record this Hob cannot read, and why: it stands beside its lane until a Hob that can takes it up. NULL: it does not.
ALTER TABLE runs ADD COLUMN parked_why TEXT;
-- The edition of Hob that wrote its journal last.
ALTER TABLE runs ADD COLUMN edition TEXT;
CREATE INDEX runs_parked ON runs (session_id) WHERE parked_why IS NOT NULL;

-- Recordings that were put into words, a row for each try: what was set aside for it, what it cost, and, until its message is
-- taken in, the words. Of whom nobody knew at the time who they are, `user_id` is NULL and their share is added later.
CREATE TABLE recordings (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    external_id TEXT NOT NULL,
    -- Which of the message's files it is.
    place INTEGER NOT NULL,
    user_id INTEGER REFERENCES users (id),
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'lost')),
    reserved INTEGER NOT NULL DEFAULT 0,
    cost INTEGER,
    words TEXT,
    seconds INTEGER,
    asked_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;

CREATE INDEX recordings_of_message ON recordings (channel, account, chat, external_id, place);
CREATE INDEX recordings_open ON recordings (id) WHERE state = 'asked';
CREATE INDEX recordings_by_time ON recordings (asked_at);
