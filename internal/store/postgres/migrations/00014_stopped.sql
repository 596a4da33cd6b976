-- +goose Up
-- How many items of a batch were cancelled. They are counted in failed too.
ALTER TABLE batch ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0;
UPDATE batch SET stopped = (SELECT COUNT(*) FROM execution e WHERE e.batch = batch.no AND e.batch <> 0 AND e.status = 5 AND e.phase = 5)
 WHERE failed > 0;
