-- +goose Up
-- What waits for a slot is read in turn: by environment, and in it by workflow and batch.
DROP INDEX execution_queued;
CREATE INDEX execution_queued ON execution (account, environment, workflow) WHERE run = 1 AND batch = 0;
DROP INDEX execution_ready;
CREATE INDEX execution_ready ON execution (account, batch, environment, workflow, wake_ms) WHERE run = 2;

-- Test has a share of the slots that is counted.
CREATE INDEX execution_test ON execution (account, environment, run) WHERE run = 3 AND environment = 2;
