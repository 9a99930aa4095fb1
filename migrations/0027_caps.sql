-- Who Hob was for whom a call was made: a persona's name, so that its caps hold. NULL: nobody in particular.
ALTER TABLE model_calls ADD COLUMN persona TEXT;
ALTER TABLE memory_calls ADD COLUMN persona TEXT;
ALTER TABLE recordings ADD COLUMN persona TEXT;
-- The tokens that a recording is, and its words are. While it is being heard: those that are expected.
ALTER TABLE recordings ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE recordings ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;

-- The sums of what calls cost, by persona as well; '' is nobody in particular.
CREATE TABLE sums (
    quarter INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    model TEXT NOT NULL,
    persona TEXT NOT NULL DEFAULT '',
    calls INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    prefix_breaks INTEGER NOT NULL,
    PRIMARY KEY (quarter, user_id, model, persona)
) STRICT, WITHOUT ROWID;
INSERT INTO sums
SELECT quarter, user_id, model, '', calls, unpriced, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
       reasoning_tokens, cost, prefix_breaks
FROM spend;
DROP TABLE spend;
ALTER TABLE sums RENAME TO spend;

-- The last hour is looked through by time, whoever's it is.
DROP INDEX model_calls_by_user;
