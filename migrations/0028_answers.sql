-- What Hob answered can be found again (row E5), by those who may see it: a leg of its own beside what people said.

ALTER TABLE recalled RENAME TO recalled_before;
DROP INDEX recalled_memory;
DROP INDEX recalled_fact;

CREATE TABLE recalled (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    place INTEGER NOT NULL,
    memory_id INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    fact_id INTEGER REFERENCES facts (id) ON DELETE SET NULL,
    -- An answer of Hob's.
    message_id INTEGER REFERENCES messages (id) ON DELETE SET NULL,
    leg TEXT NOT NULL CHECK (leg IN ('recency', 'salience', 'relevance', 'fact', 'answer')),
    -- In thousandths.
    score INTEGER NOT NULL,
    -- JSON: what each signal brought, in thousandths.
    parts TEXT NOT NULL,
    PRIMARY KEY (run_id, place)
) STRICT, WITHOUT ROWID;

INSERT INTO recalled (run_id, place, memory_id, fact_id, leg, score, parts)
SELECT run_id, place, memory_id, fact_id, leg, score, parts FROM recalled_before;
DROP TABLE recalled_before;

CREATE INDEX recalled_memory ON recalled (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX recalled_fact ON recalled (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX recalled_answer ON recalled (message_id) WHERE message_id IS NOT NULL;

-- Of an answer: whose it is, as of a memory. NULL: nobody finds it, be it no answer, or what it answers is remembered no more.
ALTER TABLE messages ADD COLUMN scope TEXT;

-- `scope` is searched along with the words, so that nothing of another scope is even looked at. How long each answer is, is
-- not kept: nothing is ranked by it here, and each answer would write one page more.
CREATE VIRTUAL TABLE answers_fts USING fts5 (
    scope, text, content = 'messages', content_rowid = 'id', columnsize = 0,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER answers_index AFTER INSERT ON messages WHEN new.scope IS NOT NULL BEGIN
    INSERT INTO answers_fts (rowid, scope, text) VALUES (new.id, new.scope, new.text);
END;

CREATE TRIGGER answers_unindex AFTER UPDATE OF scope, text ON messages WHEN old.scope IS NOT NULL BEGIN
    INSERT INTO answers_fts (answers_fts, rowid, scope, text) VALUES ('delete', old.id, old.scope, old.text);
END;

CREATE TRIGGER answers_reindex AFTER UPDATE OF scope, text ON messages WHEN new.scope IS NOT NULL BEGIN
    INSERT INTO answers_fts (rowid, scope, text) VALUES (new.id, new.scope, new.text);
END;

CREATE TRIGGER answers_drop AFTER DELETE ON messages WHEN old.scope IS NOT NULL BEGIN
    INSERT INTO answers_fts (answers_fts, rowid, scope, text) VALUES ('delete', old.id, old.scope, old.text);
END;

-- What is no longer found is no longer told as found, either.
CREATE TRIGGER answers_untold AFTER UPDATE OF scope ON messages WHEN old.scope IS NOT NULL AND new.scope IS NULL BEGIN
    UPDATE recalled SET message_id = NULL WHERE message_id = old.id;
END;

-- An answer goes with the memory of what it answers, however that goes: forgotten, or let go with time.
CREATE TRIGGER answers_outlive_nothing AFTER DELETE ON memories WHEN old.message_id IS NOT NULL BEGIN
    UPDATE messages SET scope = NULL WHERE id IN (
        SELECT a.id FROM messages g CROSS JOIN messages a
        WHERE g.id = old.message_id AND a.session_id = g.session_id AND a.ordinal > g.ordinal AND a.ordinal <= g.ordinal + 200
            AND a.run_id = g.run_id AND a.scope IS NOT NULL);
END;

-- What was answered before: the last words of a run belong to those who see what it answers, as long as that is remembered.
UPDATE messages SET scope = (
    SELECT m.scope FROM messages g CROSS JOIN memories m ON m.message_id = g.id
    WHERE g.session_id = messages.session_id AND g.ordinal BETWEEN messages.ordinal - 50 AND messages.ordinal - 1
        AND g.run_id = messages.run_id LIMIT 1)
WHERE role = 'assistant' AND pruned = 0 AND text NOT IN ('', '[forgotten]')
    AND run_id IN (SELECT id FROM runs WHERE state = 'completed')
    AND NOT EXISTS (
        SELECT 1 FROM messages n
        WHERE n.session_id = messages.session_id AND n.ordinal BETWEEN messages.ordinal + 1 AND messages.ordinal + 50
            AND n.run_id = messages.run_id AND n.role = 'assistant');
