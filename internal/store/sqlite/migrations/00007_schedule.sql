-- +goose Up
-- The schedules of published versions: one row per workflow, another one whenever its version
-- changes. step counts what was done with the row. A time of 0 is still to be worked out, the
-- largest number stands for never. due_ms is the earliest of the others.
CREATE TABLE schedule (
    no           INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow     INTEGER NOT NULL UNIQUE,
    account      INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    step         INTEGER NOT NULL,
    activated_ms INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,
    every_ms     INTEGER NOT NULL,
    cron_ms      INTEGER NOT NULL,
    after_ms     INTEGER NOT NULL,
    tick_ms      INTEGER NOT NULL,
    execution    INTEGER NOT NULL,
    listens      INTEGER NOT NULL,
    position     INTEGER NOT NULL
) STRICT;
CREATE INDEX schedule_due ON schedule (due_ms, no);
CREATE INDEX schedule_execution ON schedule (execution) WHERE execution <> 0;
CREATE INDEX schedule_listens ON schedule (no) WHERE listens = 1;

-- Events that a schedule has taken, and that are not yet all that one run needs.
CREATE TABLE schedule_match (
    schedule INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    state    BLOB NOT NULL,
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;

-- What was published before there were schedules begins now.
INSERT INTO schedule (workflow, account, revision, step, activated_ms, due_ms, every_ms, cron_ms, after_ms, tick_ms, execution, listens, position)
SELECT w.no, w.account, w.published, 0, 0, 0, 0, 0, 0, 0, 0, 0,
 COALESCE((SELECT s.last FROM stream s WHERE s.account = w.account AND s.environment = 1), 0)
FROM workflow w WHERE w.published <> 0 AND w.deleted_ms = 0;
