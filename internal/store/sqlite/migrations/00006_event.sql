-- +goose Up
-- The events of an environment are a stream: numbered from 1 without gaps, in the order of
-- commit. last_ms never goes back, so that the order of numbers is the order of times.
CREATE TABLE stream (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    last_ms     INTEGER NOT NULL,
    PRIMARY KEY (account, environment)
) STRICT, WITHOUT ROWID;

-- How far somebody has read a stream: event number is done, and part of the next one.
CREATE TABLE stream_cursor (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    number      INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    PRIMARY KEY (account, environment, name)
) STRICT, WITHOUT ROWID;

-- data comes last: who looks for types does not read it.
CREATE TABLE event (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    dedupe      BLOB NOT NULL CHECK (length(dedupe) = 16),
    type        TEXT NOT NULL,
    source      TEXT,
    subject     TEXT,
    origin      BLOB,
    data_blob   BLOB,
    data_size   INTEGER,
    data        BLOB,
    PRIMARY KEY (account, environment, number),
    UNIQUE (account, environment, dedupe)
) STRICT;
CREATE INDEX event_type ON event (account, environment, type, number);
CREATE INDEX event_received ON event (account, environment, received_ms, number);

-- Who listens. A number is never used twice: cursors remember them.
CREATE TABLE subscription (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    execution   INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    woken       INTEGER NOT NULL,
    UNIQUE (execution, command)
) STRICT;
CREATE INDEX subscription_woken ON subscription (no) WHERE woken = 1;

-- The index that finds subscriptions for an event. kind says what of an event is in the key, in one text, so
-- that one step leads from one to the next.
CREATE TABLE subscription_filter (
    subscription INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    account      INTEGER NOT NULL,
    environment  INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    key          BLOB NOT NULL,
    PRIMARY KEY (subscription, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_filter_match ON subscription_filter (account, environment, kind, key, subscription);

-- Executions that others have started, and the roots of their trees (parent 0). open counts, in
-- the row of a root, the executions of the tree that have not ended.
CREATE TABLE child (
    execution INTEGER PRIMARY KEY,
    parent    INTEGER NOT NULL,
    root      INTEGER NOT NULL,
    command   INTEGER NOT NULL,
    depth     INTEGER NOT NULL,
    state     INTEGER NOT NULL,
    open      INTEGER NOT NULL
) STRICT;
CREATE INDEX child_open ON child (parent, command) WHERE state <> 0;
CREATE INDEX child_due ON child (execution) WHERE state >= 3;
