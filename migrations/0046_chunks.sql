-- What lies in the data directory beside a file, where daemons share a server. A file has some when a server's state was copied to it.
CREATE TABLE chunks (
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    kept_at INTEGER NOT NULL,
    PRIMARY KEY (name, place)
) STRICT;
