-- +goose Up
-- The trace that the request belonged to which led to an execution; NULL unless it was recorded.
ALTER TABLE execution ADD COLUMN trace BYTEA;
