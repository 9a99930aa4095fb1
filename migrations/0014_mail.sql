-- First letters to people who are not known, until an owner lets them out. Until then their row in the outbox is abandoned.
CREATE TABLE held_letters (
    outbox_id INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    account TEXT NOT NULL,
    -- JSON: the addresses that it goes to.
    recipients TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'approved', 'refused', 'expired')),
    held_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by INTEGER REFERENCES users (id),
    CHECK ((decided_at IS NULL) = (state = 'held'))
) STRICT;

CREATE INDEX held_letters_open ON held_letters (account, recipients) WHERE state = 'held';
CREATE INDEX held_letters_waiting ON held_letters (outbox_id) WHERE state = 'held';

-- Whom an owner has had answered before.
CREATE TABLE correspondents (
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    approved_by INTEGER NOT NULL REFERENCES users (id),
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (account, address)
) STRICT, WITHOUT ROWID;

-- To whom letters went lately, so that nobody is written to too often.
CREATE TABLE letters_sent (
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    outbox_id INTEGER NOT NULL,
    sent_at INTEGER NOT NULL,
    PRIMARY KEY (account, address, outbox_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX letters_sent_by_time ON letters_sent (sent_at);
