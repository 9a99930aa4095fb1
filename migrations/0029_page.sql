-- What the page keeps of its own: what its conversations are called, and which browsers are told when nobody looks.

CREATE TABLE web_chats (
    session_id INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (id),
    -- As somebody called it; NULL: by how it began.
    title TEXT,
    -- What was said up to these rows was deleted, and is not shown.
    said_upto INTEGER NOT NULL DEFAULT 0,
    answered_upto INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A browser's address at its push service. It goes with the visit: who logs out is told no more.
CREATE TABLE web_pushes (
    id INTEGER PRIMARY KEY NOT NULL,
    visit_id INTEGER NOT NULL REFERENCES web_visits (id) ON DELETE CASCADE,
    endpoint TEXT NOT NULL UNIQUE,
    -- The browser's public key and its secret, in base64url: what is told is sealed for it.
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;
CREATE INDEX web_pushes_of_visit ON web_pushes (visit_id);

-- By which key push services know this Hob (VAPID): one row, made when the first browser asks.
CREATE TABLE web_push_key (
    id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    pkcs8 BLOB NOT NULL
) STRICT;
