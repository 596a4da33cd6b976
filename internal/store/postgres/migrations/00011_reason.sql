-- +goose Up
-- Why a batch was cancelled, as UTF-8: its items end with that reason, also after a restart.
ALTER TABLE batch ADD COLUMN reason BYTEA;
