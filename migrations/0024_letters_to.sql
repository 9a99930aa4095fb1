-- Letters that go to others than those whom the letter that they answer names: to some of them, or to owners.
CREATE TABLE letters_to (
    outbox_id INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    -- JSON: as `inbound.envelope`.
    envelope TEXT NOT NULL
) STRICT;
