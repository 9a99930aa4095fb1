-- Agents: runs that work for other runs (rows A12, B8). NULL in all of these: a person's message began the run.
ALTER TABLE runs ADD COLUMN parent_run INTEGER REFERENCES runs (id);
ALTER TABLE runs ADD COLUMN parent_call TEXT;
-- The run that a person's message began: what the tree may cost is counted there.
ALTER TABLE runs ADD COLUMN root_run INTEGER REFERENCES runs (id);
-- That run's conversation: what an agent has to ask is asked there, and a pause of it holds for its agents.
ALTER TABLE runs ADD COLUMN home_session INTEGER REFERENCES sessions (id);
ALTER TABLE runs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_by_root ON runs (root_run) WHERE root_run IS NOT NULL;
CREATE INDEX runs_at_home ON runs (home_session, id)
    WHERE home_session IS NOT NULL AND state IN ('queued', 'running', 'waiting');
