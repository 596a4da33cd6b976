-- +goose Up
-- What an engine on many machines keeps in rows. settle is the number of the last change of
-- run state that an execution asked for, wake the time at which it asked for a slot.
ALTER TABLE execution ADD COLUMN settle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN wake_ms INTEGER NOT NULL DEFAULT 0;

-- With the account, so that an account's queue is read without those of the others.
DROP INDEX execution_owed;
CREATE INDEX execution_owed ON execution (run, account, batch, item) WHERE run <> 0;
CREATE INDEX execution_ready ON execution (account, batch, wake_ms) WHERE run = 2;
CREATE INDEX execution_queued ON execution (workflow) WHERE run = 1 AND batch = 0;

-- Messages to executions. A number is never used twice, because executions remember those
-- that they have seen.
CREATE TABLE inbox (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    execution INTEGER NOT NULL,
    kind      INTEGER NOT NULL,
    reason    TEXT,
    settle    INTEGER NOT NULL,
    due_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_due ON inbox (due_ms);
CREATE INDEX inbox_execution ON inbox (execution, kind);
