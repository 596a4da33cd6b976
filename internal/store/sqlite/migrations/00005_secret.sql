-- +goose Up
-- The secrets of an environment, sealed. One that was deleted keeps its row, without the value,
-- so that no version number is used twice.
CREATE TABLE secret (
    no          INTEGER PRIMARY KEY,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    sealed      BLOB,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    UNIQUE (account, environment, name)
) STRICT;
CREATE INDEX secret_list ON secret (account, environment, no) WHERE sealed IS NOT NULL;

-- The secrets that an execution works with, as they were when it was accepted, until it ends.
CREATE TABLE execution_secret (
    execution INTEGER PRIMARY KEY,
    sealed    BLOB NOT NULL
) STRICT;
