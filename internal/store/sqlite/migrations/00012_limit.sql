-- +goose Up
-- What a key, and what a definition that such a key has applied, has to do with: ids of workflows (16 bytes
-- each) and namespaces (separated by spaces). Both NULL: everything.
ALTER TABLE api_key ADD COLUMN namespaces TEXT;
ALTER TABLE revision ADD COLUMN workflows BLOB;
ALTER TABLE revision ADD COLUMN namespaces TEXT;

-- Which workflows may declare a secret. Both NULL: all.
ALTER TABLE secret ADD COLUMN workflows BLOB;
ALTER TABLE secret ADD COLUMN namespaces TEXT;

-- The key that has uploaded a file; 0: none, or before it was noted.
ALTER TABLE file ADD COLUMN uploader INTEGER NOT NULL DEFAULT 0;

-- Who may write in live could publish; now this is a scope of its own.
UPDATE api_key SET scopes = scopes || ' workflows:publish'
 WHERE environment = 1 AND ' ' || scopes || ' ' LIKE '% workflows:write %';

-- The workflows of the namespaces of a key, deleted ones too.
CREATE INDEX workflow_namespace ON workflow (account, namespace);
