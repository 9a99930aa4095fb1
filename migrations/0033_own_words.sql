-- Whether a message is what a person of the house said themselves and nothing else: it stays when a conversation goes on without what
-- was read (row N16, `/clean`), whatever its run had read by then. Of older messages nobody knows.
ALTER TABLE messages ADD COLUMN own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1));
