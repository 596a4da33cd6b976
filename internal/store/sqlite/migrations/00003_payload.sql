-- +goose Up
-- Blobs that an engine keeps for an execution outside of the database, as Temporal's histories do.
CREATE TABLE payload (
    execution INTEGER NOT NULL,
    digest    BLOB NOT NULL,
    PRIMARY KEY (execution, digest)
) STRICT, WITHOUT ROWID;
