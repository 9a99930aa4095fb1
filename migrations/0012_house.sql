-- What people said in groups between the messages for Hob: context of its next run there, for a day at most. A row whose
-- words were taken stays, without them, so that the platform can deliver the message again.
CREATE TABLE overheard (
    id INTEGER PRIMARY KEY NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    external_id TEXT NOT NULL,
    -- The platform's id of whoever said it, and how they are called there.
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    -- Whether a member of the household said it.
    member INTEGER NOT NULL CHECK (member IN (0, 1)),
    taken INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),
    at INTEGER NOT NULL,
    UNIQUE (channel, account, chat, external_id)
) STRICT;

CREATE INDEX overheard_open ON overheard (session_id, id) WHERE taken = 0;
CREATE INDEX overheard_by_sender ON overheard (channel, account, sender);
CREATE INDEX overheard_by_time ON overheard (at);

-- What `/group` chose for a chat; without a row: as configured.
CREATE TABLE group_modes (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('mention', 'all', 'off')),
    PRIMARY KEY (channel, account, chat)
) STRICT, WITHOUT ROWID;

-- People who were paired, beside those that the config names.
CREATE TABLE members (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('guest', 'user', 'admin', 'owner')),
    paired_at INTEGER NOT NULL,
    UNIQUE (channel, account, external_id)
) STRICT;

-- People who wrote and are not let in, each with the hash of the code that they were given.
CREATE TABLE pairings (
    code TEXT PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    name TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    expires_at INTEGER NOT NULL,
    UNIQUE (channel, account, external_id)
) STRICT, WITHOUT ROWID;

-- Wrong codes, by whoever said them.
CREATE TABLE pairing_guesses (
    id INTEGER PRIMARY KEY NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX pairing_guesses_of ON pairing_guesses (channel, account, external_id, at);
CREATE INDEX pairing_guesses_by_time ON pairing_guesses (at);

-- The code that makes its sender the first owner, made anew at each start. `hob pair` shows it: whoever can read this file
-- is the owner already.
CREATE TABLE first_owner (
    id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    code TEXT NOT NULL,
    guesses INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Where somebody last talked with Hob by themselves, on each platform.
CREATE TABLE private_chats (
    user_id INTEGER NOT NULL REFERENCES users (id),
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user_id, channel, account)
) STRICT, WITHOUT ROWID;

INSERT OR REPLACE INTO private_chats (user_id, channel, account, chat, at)
SELECT user_id, channel, account, chat, max(received_at) FROM inbound
WHERE channel = 'telegram' AND chat NOT LIKE '-%' GROUP BY user_id, channel, account;
