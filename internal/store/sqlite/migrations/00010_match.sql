-- +goose Up
-- What a schedule has taken of events is a blob where it is large; state is empty then.
ALTER TABLE schedule_match ADD COLUMN state_blob BLOB;
ALTER TABLE schedule_match ADD COLUMN state_size INTEGER;

-- When a process said last that it has a sink, in the row of account 0. 0: before it was noted.
ALTER TABLE sink ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sink_used ON sink (used_ms) WHERE account = 0;
