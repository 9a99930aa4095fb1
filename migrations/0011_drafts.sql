-- A reply that grows in a chat while the model writes it: the message that its final form takes the place of.
-- In a conversation there is one at a time, as there is one run at work.
CREATE TABLE drafts (
    run_id INTEGER PRIMARY KEY NOT NULL REFERENCES runs (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    -- The platform's id of the message.
    external_id TEXT NOT NULL
) STRICT;

-- The first chunk of a run's last word: it takes the place of the run's draft.
ALTER TABLE outbox ADD COLUMN takes_draft INTEGER NOT NULL DEFAULT 0 CHECK (takes_draft IN (0, 1));
-- Which of its run's questions this chunk asks; the buttons are under it.
ALTER TABLE outbox ADD COLUMN question INTEGER;
-- The chunk whose message this one takes the place of; without such a message it is done without.
ALTER TABLE outbox ADD COLUMN replaces_key TEXT;

CREATE INDEX outbox_takes_draft ON outbox (run_id) WHERE takes_draft = 1;
CREATE INDEX outbox_questions ON outbox (run_id, question) WHERE question IS NOT NULL;
