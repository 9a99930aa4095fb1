-- Skills that were installed (row K4): whether they may be used, and as which files.
CREATE TABLE skills (
    name TEXT PRIMARY KEY NOT NULL,
    -- Where it came from, for people.
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('enabled', 'inert')),
    -- Its words may instruct: the owner said so.
    trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1)),
    -- The files that this was said of. With others it is inert, and not trusted.
    digest TEXT NOT NULL,
    installed_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What runs did that ended well, as a fingerprint of the names and the shapes of their calls.
CREATE TABLE procedures (
    run_id INTEGER PRIMARY KEY NOT NULL REFERENCES runs (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    fingerprint TEXT NOT NULL,
    ended_at INTEGER NOT NULL
) STRICT;

CREATE INDEX procedures_alike ON procedures (user_id, fingerprint, ended_at);

-- What was offered as a draft of a skill: each procedure once to each person.
CREATE TABLE procedure_offers (
    user_id INTEGER NOT NULL REFERENCES users (id),
    fingerprint TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    drafted_at INTEGER,
    PRIMARY KEY (user_id, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX procedure_offers_open ON procedure_offers (offered_at) WHERE drafted_at IS NULL;
