-- What each call cost (row C8): by whom it was caused, how it was estimated, what it cost. Money is in nano-dollars;
-- none where no price is known. `reserved` is set aside while the call is open, so that calls at once cannot overshoot
-- a budget together.
ALTER TABLE model_calls ADD COLUMN session_id INTEGER REFERENCES sessions (id);
ALTER TABLE model_calls ADD COLUMN user_id INTEGER REFERENCES users (id);
ALTER TABLE model_calls ADD COLUMN estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_calls ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_calls ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_calls ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_calls ADD COLUMN cost INTEGER;
ALTER TABLE model_calls ADD COLUMN latency_ms INTEGER;
-- Why the provider's cache could not be used from where the last request of the session left it.
ALTER TABLE model_calls ADD COLUMN prefix_break TEXT;

-- What the form of a conversation was lately.
CREATE INDEX runs_over ON runs (session_id, id) WHERE state IN ('completed', 'cancelled', 'failed');

CREATE INDEX model_calls_open ON model_calls (user_id) WHERE state = 'asked';
CREATE INDEX model_calls_answered ON model_calls (model, asked_at) WHERE state = 'answered';

-- The model that stands in for the one that should answer, as the chat was told; none: the right one answers.
ALTER TABLE sessions ADD COLUMN stand_in TEXT;
-- What the last run's requests began with, as JSON.
ALTER TABLE sessions ADD COLUMN prefix TEXT;

-- The sums of what calls cost, by quarter of an hour: every time zone's days and months begin at one.
CREATE TABLE spend (
    quarter INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id),
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    prefix_breaks INTEGER NOT NULL,
    PRIMARY KEY (quarter, user_id, model)
) STRICT, WITHOUT ROWID;

-- That a budget is nearly used up is said once per scope and period.
CREATE TABLE budget_notes (
    scope TEXT NOT NULL,
    period INTEGER NOT NULL,
    PRIMARY KEY (scope, period)
) STRICT, WITHOUT ROWID;

-- How many tokens a message is, as counted here; a message does not change. None: it was not counted yet.
ALTER TABLE messages ADD COLUMN tokens INTEGER;
