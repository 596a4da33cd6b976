-- +goose Up
-- How far the events of a stream were delivered to a sink, by the name that its configuration has.
-- The row of account 0 says that the sink is known: streams without a row of their own begin
-- with their first event then. failures counts since the last success.
CREATE TABLE sink (
    name        TEXT NOT NULL,
    account     BIGINT NOT NULL,
    number      BIGINT NOT NULL,
    failures    BIGINT NOT NULL,
    failing_ms  BIGINT NOT NULL,
    due_ms      BIGINT NOT NULL,
    environment SMALLINT NOT NULL,
    PRIMARY KEY (name, account, environment)
) WITH (fillfactor = 50);
