-- What a run knows is mostly what the run before it knew. Facts that are told together are kept once, as a set, and a run names its
-- set: with 80 facts a turn wrote 80 rows, and as many places of an index.

CREATE TABLE fact_sets (
    id INTEGER PRIMARY KEY NOT NULL,
    -- JSON: their numbers, the smallest first.
    facts TEXT NOT NULL UNIQUE
) STRICT;

-- Which sets a fact is in. What was forgotten is in none.
CREATE TABLE fact_set_members (
    fact_id INTEGER NOT NULL REFERENCES facts (id) ON DELETE CASCADE,
    set_id INTEGER NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (fact_id, set_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_set_members_set ON fact_set_members (set_id);

-- All facts that a run was told. One of which there is more to say has a row of its own besides.
ALTER TABLE recalled ADD COLUMN set_id INTEGER REFERENCES fact_sets (id);
CREATE INDEX recalled_set ON recalled (set_id) WHERE set_id IS NOT NULL;

CREATE TRIGGER fact_sets_unused AFTER DELETE ON recalled WHEN old.set_id IS NOT NULL BEGIN
    DELETE FROM fact_sets
    WHERE id = old.set_id AND NOT EXISTS (SELECT 1 FROM recalled r WHERE r.set_id = old.set_id);
END;
