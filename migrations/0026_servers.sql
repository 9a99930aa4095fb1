-- The platform's server that a conversation was last heard on: a Discord server, a Slack workspace. NULL: none, or nobody knows.
ALTER TABLE sessions ADD COLUMN server TEXT;
