-- What a platform shows of a chunk, where it has a markup of its own; `text` is what goes out if it refuses that.
ALTER TABLE outbox ADD COLUMN markup TEXT;

-- What its channel needs to answer a message, in the channel's own words: to whom a letter was addressed.
ALTER TABLE inbound ADD COLUMN envelope TEXT;

-- How far each account has come with what it catches up with after an outage.
CREATE TABLE cursors (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    list TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (channel, account, list)
) STRICT, WITHOUT ROWID;
