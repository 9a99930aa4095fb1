-- What nobody in particular asked for (vectors of skills and imports, the try at the start) is the house's own: user_id 0, as the
-- persona '' is nobody in particular.
CREATE TABLE sums (
    quarter INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
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
SELECT quarter, user_id, model, persona, calls, unpriced, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
       reasoning_tokens, cost, prefix_breaks
FROM spend;
DROP TABLE spend;
ALTER TABLE sums RENAME TO spend;
