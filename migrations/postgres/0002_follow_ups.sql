-- What is still to be done for commands that were taken in. It goes with the words that say what came of it.
CREATE TABLE follow_ups (
    inbound_id BIGINT PRIMARY KEY REFERENCES inbound (id) ON DELETE CASCADE,
    -- What, for whom and where, as JSON.
    request TEXT COLLATE "C" NOT NULL,
    -- Which change of the workspace is being taken back: whoever goes on takes back no other.
    draft TEXT COLLATE "C"
);
