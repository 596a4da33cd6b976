-- +goose Up
-- The external resources that a definition was applied with, as package plan encodes them;
-- NULL for none. The digest of the definition covers them.
ALTER TABLE definition ADD COLUMN resources BLOB;
