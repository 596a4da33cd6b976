-- +goose Up
-- Blobs that an engine keeps for an execution outside of the database, as Temporal's histories do.
CREATE TABLE payload (
    execution BIGINT NOT NULL,
    digest    BYTEA NOT NULL,
    PRIMARY KEY (execution, digest)
);
