-- +goose Up
-- Internal numbers (no) join tables; ids (16 bytes) are for the outside. A missing number
-- is 0, a missing text, id or byte value NULL. Times are milliseconds since 1970.
-- There are no foreign keys: the transactions of package store keep rows together, and the
-- checks would cost a lookup per reference on every execution.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account      INTEGER NOT NULL,
    environment  INTEGER NOT NULL,
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    preset       TEXT NOT NULL,
    workflows    BLOB,
    head         TEXT NOT NULL,
    last4        TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    rate         INTEGER NOT NULL,
    creator      TEXT NOT NULL,
    expires_ms   INTEGER NOT NULL DEFAULT 0,
    last_used_ms INTEGER NOT NULL DEFAULT 0,
    revoked_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX api_key_list ON api_key (account, environment, id) WHERE revoked_ms = 0;

CREATE TABLE workflow (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account    INTEGER NOT NULL,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    published  INTEGER NOT NULL DEFAULT 0,
    draft      INTEGER NOT NULL DEFAULT 0,
    deleted_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX workflow_name ON workflow (account, namespace, name) WHERE deleted_ms = 0;
CREATE UNIQUE INDEX workflow_created ON workflow (account, created_ms);
CREATE INDEX workflow_list ON workflow (account, created_ms) WHERE deleted_ms = 0;
CREATE INDEX workflow_published ON workflow (account, created_ms) WHERE deleted_ms = 0 AND published <> 0;

CREATE TABLE definition (
    no         INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    digest     BLOB NOT NULL CHECK (length(digest) = 32),
    media_type TEXT NOT NULL,
    source     BLOB NOT NULL,
    UNIQUE (account, digest)
) STRICT;

CREATE TABLE revision (
    no         INTEGER PRIMARY KEY,
    workflow   INTEGER NOT NULL,
    version    TEXT NOT NULL,
    number     INTEGER NOT NULL,
    definition INTEGER NOT NULL,
    title      TEXT,
    draft      INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (workflow, version, number)
) STRICT;
CREATE INDEX revision_list ON revision (workflow, no);

-- The hot table. Lists have the status before the id, so that one index serves every
-- combination of statuses (package store, ListExecutions).
CREATE TABLE execution (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    machine     INTEGER NOT NULL,
    batch       INTEGER NOT NULL,
    item        INTEGER NOT NULL,
    item_id     TEXT,
    status      INTEGER NOT NULL,
    phase       INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    started_ms  INTEGER NOT NULL,
    finished_ms INTEGER NOT NULL,
    input       BLOB,
    input_blob  BLOB,
    input_size  INTEGER,
    retry_of    BLOB,
    CHECK ((run = 0) = (status >= 4))
) STRICT;
CREATE INDEX execution_environment ON execution (account, environment, status, id);
CREATE INDEX execution_workflow ON execution (workflow, environment, status, id);
CREATE INDEX execution_batch ON execution (batch, status, item) WHERE batch <> 0;
CREATE INDEX execution_owed ON execution (run, batch, item) WHERE run <> 0;
CREATE INDEX execution_ended ON execution (environment, finished_ms) WHERE run = 0 AND batch = 0;

CREATE TABLE input (
    execution INTEGER PRIMARY KEY,
    data      BLOB NOT NULL
) STRICT;

CREATE TABLE outcome (
    execution   INTEGER PRIMARY KEY,
    output      BLOB,
    output_blob BLOB,
    output_size INTEGER,
    fault       BLOB,
    files       BLOB,
    timeline    BLOB
) STRICT;

CREATE TABLE journal (
    execution  INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    event      BLOB,
    event_blob BLOB,
    event_size INTEGER,
    digest     INTEGER NOT NULL,
    PRIMARY KEY (execution, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    execution  INTEGER PRIMARY KEY,
    seq        INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    state      BLOB,
    state_blob BLOB,
    state_size INTEGER
) STRICT;

CREATE TABLE timer (
    execution INTEGER NOT NULL,
    command   INTEGER NOT NULL,
    due_ms    INTEGER NOT NULL,
    PRIMARY KEY (execution, command)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_due ON timer (due_ms, execution, command);

CREATE TABLE timeline_chunk (
    execution INTEGER NOT NULL,
    chunk     INTEGER NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (execution, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    concurrency INTEGER NOT NULL,
    wanted      INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    finished    INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    cancelled   INTEGER NOT NULL DEFAULT 0,
    started_ms  INTEGER NOT NULL DEFAULT 0,
    finished_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batch_list ON batch (workflow, environment, id);
CREATE INDEX batch_active ON batch (no) WHERE status < 3;
CREATE INDEX batch_ended ON batch (environment, finished_ms) WHERE status >= 3;

CREATE TABLE idempotency (
    hash        BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    body        BLOB NOT NULL,
    status      INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    resource    BLOB NOT NULL,
    created_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_created ON idempotency (created_ms);

-- Content by digest; blobs are shared and belong to whoever refers to them.
CREATE TABLE blob (
    digest    BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
    size      INTEGER NOT NULL,
    refs      INTEGER NOT NULL DEFAULT 0 CHECK (refs >= 0),
    loose_ms  INTEGER NOT NULL DEFAULT 0,
    condemned INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_loose ON blob (condemned, loose_ms) WHERE refs = 0;

CREATE TABLE file (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    size        INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    execution   INTEGER NOT NULL,
    visible     INTEGER NOT NULL
) STRICT;
CREATE INDEX file_execution ON file (execution) WHERE execution <> 0;
CREATE INDEX file_hidden ON file (id) WHERE visible = 0;
CREATE INDEX file_upload ON file (environment, id) WHERE execution = 0 AND visible = 1;

CREATE TABLE file_use (
    execution INTEGER NOT NULL,
    file      INTEGER NOT NULL,
    PRIMARY KEY (execution, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_use_file ON file_use (file);
