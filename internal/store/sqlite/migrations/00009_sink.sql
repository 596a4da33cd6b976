-- +goose Up
-- How far the events of a stream were delivered to a sink, by the name that its configuration has.
-- The row of account 0 says that the sink is known: streams without a row of their own begin
-- with their first event then. failures counts since the last success.
CREATE TABLE sink (
    name        TEXT NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    failures    INTEGER NOT NULL,
    failing_ms  INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    PRIMARY KEY (name, account, environment)
) STRICT, WITHOUT ROWID;
