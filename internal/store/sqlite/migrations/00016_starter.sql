-- +goose Up
-- Keys with limits that start executions, each with the limits that it had then (as in table revision).
CREATE TABLE starter (
    no         INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    key        INTEGER NOT NULL, -- number of the API key; 0: several have to do with it
    workflows  BLOB,
    namespaces TEXT
) STRICT;
CREATE INDEX starter_key ON starter (account, key);

-- What the execution may read besides what its definition may: number of the starter; 0: no limits.
ALTER TABLE execution ADD COLUMN starter INTEGER NOT NULL DEFAULT 0;

-- The ids (16 bytes each) of the files that the definition names and its author might read when it was applied.
ALTER TABLE revision ADD COLUMN files BLOB;
