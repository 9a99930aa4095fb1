-- The page lists runs, newest first: those of one conversation (what is open and what is over have their indexes already),
-- and those that ended in one way.
CREATE INDEX runs_aside ON runs (session_id, id) WHERE state IN ('withdrawn', 'joined');
CREATE INDEX runs_ended_so ON runs (state, id) WHERE state IN ('cancelled', 'failed', 'withdrawn', 'joined');
