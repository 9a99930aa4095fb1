-- What of the words that nobody vouches for stands behind what is kept (row N6): JSON, a list of sources; NULL: nothing.

-- What the run had read by then that says it, or shows it.
ALTER TABLE messages ADD COLUMN taint TEXT;
CREATE INDEX messages_tainted ON messages (run_id) WHERE taint IS NOT NULL;
UPDATE messages SET taint = (
    SELECT json_array(json_object('o', 'guest', 'w', u.name)) FROM runs r JOIN users u ON u.id = r.user_id WHERE r.id = messages.run_id
) WHERE run_id IN (SELECT r.id FROM runs r JOIN users u ON u.id = r.user_id WHERE u.role = 'guest');

ALTER TABLE summaries ADD COLUMN taint TEXT;
UPDATE summaries SET taint = (
    SELECT json_array(json_object('o', 'guest', 'w', u.name)) FROM users u WHERE u.id = summaries.user_id
) WHERE user_id IN (SELECT id FROM users WHERE role = 'guest');

-- What people said themselves has its speaker's role (`memories.origin`); what a run kept may rest on what it read.
ALTER TABLE facts ADD COLUMN taint TEXT;
