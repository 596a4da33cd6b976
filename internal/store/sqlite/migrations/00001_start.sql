-- +goose Up
-- The first schema. What its tables have in common:
--   - Internal numbers (no) join tables; ids (16 bytes) are for the outside. A column with the name of a table holds
--     the number of one of its rows.
--   - A missing number is 0, a missing text, id or byte value NULL. Times are milliseconds since 1970.
--   - There are no foreign keys: the transactions of package store keep rows together, and the checks would cost a
--     lookup per reference on every execution.
-- The comment of an index names the methods of package store that it serves.

-- Installation -------------------------------------------------------------------------------------------------------

-- A row is a fact about the installation, or the lease of a process, by name.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A row is a random key of the installation, wrapped by a master key: the pepper of API keys, the signature of links, a
-- key that seals data. While the master key is being exchanged, a key has a row for the old one and for the new one.
CREATE TABLE wrapped_key (
    number     INTEGER NOT NULL, -- of the key; what is sealed names it
    master     TEXT NOT NULL,    -- id of the master key
    purpose    TEXT NOT NULL,
    wrapped    BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    active_ms  INTEGER NOT NULL, -- from when on it seals
    PRIMARY KEY (number, master)
) STRICT, WITHOUT ROWID;

-- A row is a process that works on the installation, and what its master key file holds. It goes when the process
-- ends in good order, or was not seen for a long time.
CREATE TABLE node (
    id      BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    name    TEXT NOT NULL, -- host and process
    file    TEXT NOT NULL, -- its master key file
    masters TEXT NOT NULL, -- ids of the master keys in it, separated by spaces
    seen_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A row is an account.
CREATE TABLE account (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

-- A row is an API key. The key itself is not stored.
CREATE TABLE api_key (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account      INTEGER NOT NULL,
    environment  INTEGER NOT NULL,
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,    -- separated by spaces
    preset       TEXT NOT NULL,    -- empty: made from scopes
    workflows    BLOB,             -- ids of the workflows that it is limited to, 16 bytes each
    namespaces   TEXT,             -- that it is limited to, separated by spaces; both NULL: no limit
    addresses    TEXT,             -- networks that it may be used from, separated by spaces; NULL: any
    prefix       TEXT NOT NULL,    -- first characters, for display
    last4        TEXT NOT NULL,    -- last characters, for display
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    old_hash     BLOB UNIQUE,      -- of the key before its rotation
    old_until_ms INTEGER NOT NULL DEFAULT 0, -- until then it counts
    person       INTEGER NOT NULL DEFAULT 0, -- that it stands for; 0: none
    rate         INTEGER NOT NULL, -- requests per second; -1: the installation's default
    creator      TEXT NOT NULL,    -- id of a key or user, or a name
    rotators     TEXT,             -- ids of the keys and users who have rotated it, separated by spaces; NULL: none
    expires_ms   INTEGER NOT NULL DEFAULT 0,
    warned_ms    INTEGER NOT NULL DEFAULT 0, -- when the last warning of its end was due
    last_used_ms INTEGER NOT NULL DEFAULT 0,
    revoked_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
-- EndingKeys.
CREATE INDEX api_key_expires ON api_key (expires_ms) WHERE revoked_ms = 0;
-- ListKeys.
CREATE INDEX api_key_list ON api_key (account, environment, id) WHERE revoked_ms = 0;
-- ListPersonalKeys, PersonalKeys, RevokeKeysOf.
CREATE INDEX api_key_person ON api_key (person, id) WHERE revoked_ms = 0 AND person <> 0;

-- A row is a key or person with limits that has started executions, as it was then: they read only files that it could read,
-- also when the key is changed or gone.
CREATE TABLE starter (
    no         INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    key        INTEGER NOT NULL, -- API key; below 0: person; 0: several of them
    workflows  BLOB,             -- as in api_key
    namespaces TEXT
) STRICT;
-- PutStarter.
CREATE INDEX starter_key ON starter (account, key);

-- People -------------------------------------------------------------------------------------------------------------

-- A row is a person, a member of one or several accounts. The interface calls a member of an account a user, whose
-- id is that of the person.
CREATE TABLE person (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    email       TEXT NOT NULL,        -- as it was given
    email_key   TEXT NOT NULL UNIQUE, -- in the form that is compared (package person)
    name        TEXT NOT NULL,
    locale      TEXT,
    password    TEXT,                 -- hash, with its parameters; NULL: signs in without a password
    created_ms  INTEGER NOT NULL,
    disabled_ms INTEGER NOT NULL DEFAULT 0 -- in all accounts
) STRICT;

-- A row is what a person has set in the web interface.
CREATE TABLE person_settings (
    person     INTEGER PRIMARY KEY,
    data       BLOB NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

-- A row says that a person is a member of an account. The texts that members are searched by are copies of those of the
-- person: a search reads one index of the account.
CREATE TABLE membership (
    no           INTEGER PRIMARY KEY,
    account      INTEGER NOT NULL,
    person       INTEGER NOT NULL,
    status       INTEGER NOT NULL, -- store.MemberStatus
    created_ms   INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL DEFAULT 0,
    email_key    TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    UNIQUE (account, person)
) STRICT;
-- ListMembers.
CREATE INDEX membership_list ON membership (account, no);
-- MembershipsOf.
CREATE INDEX membership_person ON membership (person, no);
-- ListMembers of a status.
CREATE INDEX membership_status ON membership (account, status, no);
-- ListMembers whose e-mail or name begins with a text.
CREATE INDEX membership_email ON membership (account, email_key);
CREATE INDEX membership_name ON membership (account, name_key, no);

-- A row is a group of members of an account.
CREATE TABLE user_group (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account    INTEGER NOT NULL,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL, -- in the form that is compared (package person)
    source     TEXT,          -- the identity provider that has the group, as oidc:NAME; NULL: made here
    created_ms INTEGER NOT NULL,
    UNIQUE (account, name_key)
) STRICT;
-- ListGroups.
CREATE INDEX user_group_list ON user_group (account, no);

-- A row says that a person is in a group.
CREATE TABLE group_member (
    user_group INTEGER NOT NULL,
    person     INTEGER NOT NULL,
    account    INTEGER NOT NULL,
    PRIMARY KEY (user_group, person)
) STRICT, WITHOUT ROWID;
-- GroupsOf, GrantsOf.
CREATE INDEX group_member_person ON group_member (person, account);

-- A row is a grant: a role that a person or a group has, over everything, a namespace or a workflow.
CREATE TABLE role_grant (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account      INTEGER NOT NULL,
    person       INTEGER NOT NULL, -- 0: a group has it
    user_group   INTEGER NOT NULL, -- 0: a person has it
    role         TEXT NOT NULL,
    namespace    TEXT,
    workflow_id  BLOB,             -- id; both NULL: everything
    environments INTEGER NOT NULL, -- 1 live, 2 test, 3 both
    created_ms   INTEGER NOT NULL,
    creator      TEXT NOT NULL     -- id of a user or key, or a name, for display
) STRICT;
-- ListGrants.
CREATE INDEX role_grant_list ON role_grant (account, no);
-- GrantsOf, ListGrants of a person.
CREATE INDEX role_grant_person ON role_grant (person, account, no) WHERE person <> 0;
-- GrantsOf, ListGrants of a group.
CREATE INDEX role_grant_group ON role_grant (user_group, no) WHERE user_group <> 0;
-- ListGrants over a workflow: over everything, its namespace, itself.
CREATE INDEX role_grant_everything ON role_grant (account, no) WHERE namespace IS NULL AND workflow_id IS NULL;
CREATE INDEX role_grant_namespace ON role_grant (account, namespace, no) WHERE namespace IS NOT NULL;
CREATE INDEX role_grant_workflow ON role_grant (workflow_id, no) WHERE workflow_id IS NOT NULL;
-- HasAdmin.
CREATE INDEX role_grant_admin ON role_grant (account, no) WHERE role = 'admin';

-- A row is a session: a person has signed in. The token itself is not stored.
CREATE TABLE session (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the token
    old_hash     BLOB UNIQUE,                                    -- of the token before
    old_until_ms INTEGER NOT NULL DEFAULT 0,                     -- until then it counts
    person       INTEGER NOT NULL,
    account      INTEGER NOT NULL,
    method       TEXT NOT NULL,    -- how the person has signed in: password, passkey, oidc:NAME
    address      TEXT NOT NULL,    -- of the sign-in
    agent        TEXT NOT NULL,
    rights       INTEGER NOT NULL, -- digest of the rights at the time of the token
    created_ms   INTEGER NOT NULL,
    last_seen_ms INTEGER NOT NULL,
    idle_ms      INTEGER NOT NULL, -- when it ends without a request
    expires_ms   INTEGER NOT NULL, -- when it ends at the latest
    fresh_ms     INTEGER NOT NULL, -- until then the sign-in is fresh
    revoked_ms   INTEGER NOT NULL DEFAULT 0
) STRICT;
-- ListSessions, RevokeSessions, KeepSessions: those of a person.
CREATE INDEX session_person ON session (person, no) WHERE revoked_ms = 0;
-- DeleteSessions.
CREATE INDEX session_expires ON session (expires_ms, no);

-- A row is a passkey of a person.
CREATE TABLE passkey (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    person       INTEGER NOT NULL,
    credential   BLOB NOT NULL UNIQUE, -- the id that the authenticator gave it
    data         BLOB NOT NULL,        -- public key and what belongs to it, as package signin encodes them
    sign_count   INTEGER NOT NULL,
    name         TEXT NOT NULL,
    created_ms   INTEGER NOT NULL,
    last_used_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
-- PasskeysOf.
CREATE INDEX passkey_person ON passkey (person, no);

-- A row is who a person is at an identity provider.
CREATE TABLE identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    person     INTEGER NOT NULL,
    provider   TEXT NOT NULL, -- its name in the configuration
    created_ms INTEGER NOT NULL,
    by_session INTEGER NOT NULL, -- 1: a session of the person has linked it; 0: the person came by it
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
-- IdentitiesOf.
CREATE INDEX identity_person ON identity (person, issuer, subject);

-- A row is a secret that can be used once, such as that of an invitation. The secret itself is not stored.
CREATE TABLE ticket (
    hash       BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the secret
    kind       INTEGER NOT NULL,           -- store.TicketKind
    code       BLOB,                       -- SHA-256 of a second, short secret by which it is found too; NULL: none
    account    INTEGER NOT NULL,           -- 0: none
    person     INTEGER NOT NULL,           -- 0: none
    step       INTEGER NOT NULL DEFAULT 0, -- counts its changes: of two processes that read it, one changes it
    data       BLOB,                       -- as who made it encodes it
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- TicketByCode. No two tickets of a kind have the same code.
CREATE UNIQUE INDEX ticket_code ON ticket (kind, code) WHERE code IS NOT NULL;
-- DeleteTicketsOf, DeleteTicketsIn, KeepTickets.
CREATE INDEX ticket_person ON ticket (person, kind, created_ms) WHERE person <> 0;
-- CountTickets.
CREATE INDEX ticket_kind ON ticket (kind, expires_ms);
-- DeleteTickets.
CREATE INDEX ticket_expires ON ticket (expires_ms);

-- A row delays the next sign-in of a person, or from an address, after tries that failed.
CREATE TABLE sign_in_delay (
    name       BLOB PRIMARY KEY NOT NULL CHECK (length(name) = 32), -- SHA-256 of whom it delays
    failures   INTEGER NOT NULL,
    until_ms   INTEGER NOT NULL, -- the next try counts from then on
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- DeleteSignInDelays, KeepSignInDelays.
CREATE INDEX sign_in_delay_updated ON sign_in_delay (updated_ms);

-- Workflows ----------------------------------------------------------------------------------------------------------

-- A row is a workflow: a name in a namespace, with the revisions that are published and in draft.
CREATE TABLE workflow (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account    INTEGER NOT NULL,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    published  INTEGER NOT NULL DEFAULT 0, -- revision; 0: none
    draft      INTEGER NOT NULL DEFAULT 0, -- revision; 0: none
    deleted_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
-- WorkflowByName. No two workflows of an account have the same name.
CREATE UNIQUE INDEX workflow_name ON workflow (account, namespace, name) WHERE deleted_ms = 0;
-- The cursor of lists is the time of creation, so no two workflows of an account have the same one.
CREATE UNIQUE INDEX workflow_created ON workflow (account, created_ms);
-- ListWorkflows.
CREATE INDEX workflow_list ON workflow (account, created_ms) WHERE deleted_ms = 0;
-- ListWorkflows of those that are published.
CREATE INDEX workflow_published ON workflow (account, created_ms) WHERE deleted_ms = 0 AND published <> 0;
-- WorkflowsOf: the workflows of a namespace, deleted ones too.
CREATE INDEX workflow_namespace ON workflow (account, namespace);

-- A row is a definition with the external resources that it was applied with, stored once per account.
CREATE TABLE definition (
    no         INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    digest     BLOB NOT NULL CHECK (length(digest) = 32), -- over source and resources
    media_type TEXT NOT NULL,
    source     BLOB NOT NULL,
    resources  BLOB,                                      -- as package plan encodes them; NULL: none
    UNIQUE (account, digest)
) STRICT;

-- A row is a revision: what was applied as a version of a workflow. Executions are pinned to it.
CREATE TABLE revision (
    no         INTEGER PRIMARY KEY,
    workflow   INTEGER NOT NULL,
    version    TEXT NOT NULL,
    number     INTEGER NOT NULL, -- within the version, from 1
    definition INTEGER NOT NULL,
    title      TEXT,
    draft      INTEGER NOT NULL, -- 1: a draft
    created_ms INTEGER NOT NULL,
    workflows  BLOB,             -- limits of the key that applied it, as in api_key
    namespaces TEXT,
    files      BLOB,             -- ids of the files that the definition names and that key could read, 16 bytes each
    created_by INTEGER NOT NULL DEFAULT 0, -- who applied it, as started_by in execution
    message    TEXT,             -- what that one says about it
    tags       TEXT,             -- document.tags: a JSON array of "key:value"
    UNIQUE (workflow, version, number)
) STRICT;
-- ListRevisions.
CREATE INDEX revision_list ON revision (workflow, no);

-- A row is a secret of an environment, sealed. A deleted secret keeps its row without the value, so that no version
-- number is used twice.
CREATE TABLE secret (
    no          INTEGER PRIMARY KEY,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    sealed      BLOB, -- NULL: deleted
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    workflows   BLOB, -- that may declare it, as in api_key; both NULL: all
    namespaces  TEXT,
    restores    INTEGER NOT NULL DEFAULT 0, -- the version whose value it has again; 0: none
    UNIQUE (account, environment, name)
) STRICT;
-- ListSecrets, CountSecrets.
CREATE INDEX secret_list ON secret (account, environment, no) WHERE sealed IS NOT NULL;

-- A row is an earlier version of a secret, sealed. The oldest ones go, and all of them when the secret is deleted.
CREATE TABLE secret_version (
    secret   INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    sealed   BLOB NOT NULL,
    set_ms   INTEGER NOT NULL,
    restores INTEGER NOT NULL, -- as in secret
    PRIMARY KEY (secret, version)
) STRICT, WITHOUT ROWID;

-- A row says that the definition of a revision declares a secret of that name.
CREATE TABLE secret_use (
    account  INTEGER NOT NULL,
    name     TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (account, name, revision)
) STRICT, WITHOUT ROWID;

-- Executions ---------------------------------------------------------------------------------------------------------

-- A row is an execution. It is small and updated often; what is written once, at the end, is in outcome.
CREATE TABLE execution (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    machine     INTEGER NOT NULL,           -- revision of the machine that it started under
    batch       INTEGER NOT NULL,           -- 0: a single execution
    item        INTEGER NOT NULL,           -- index in the batch
    item_id     TEXT,
    status      INTEGER NOT NULL,           -- chargehand.Status
    phase       INTEGER NOT NULL,           -- chargehand.Phase
    state       INTEGER NOT NULL,           -- store.ExecutionState: 0 ended, 1 queued, 2 ready, 3 active, 4 parked, 5 delayed
    report      INTEGER NOT NULL DEFAULT 0, -- number of the last state that its workflow reported (ReportState)
    ready_ms    INTEGER NOT NULL DEFAULT 0, -- when it became ready; 0: it is not ready
    started_ms  INTEGER NOT NULL,
    finished_ms INTEGER NOT NULL,
    input       BLOB,                       -- up to 1 KiB; a larger one is in table input or in a blob
    input_blob  BLOB,
    input_size  INTEGER,
    retry_of    BLOB,                       -- id of the execution that it repeats
    starter     INTEGER NOT NULL DEFAULT 0, -- limits of the key that started it; 0: none
    trace       BLOB,                       -- trace context of the request that led to it, if that was recorded
    started_by  INTEGER NOT NULL DEFAULT 0, -- API key whose request has started it; below 0: the person; 0: no request
    bytes       INTEGER NOT NULL DEFAULT 0, -- of input and output, as they are counted in usage_sum
    cause       INTEGER NOT NULL DEFAULT 0, -- store.Cause, where no other column says it
    cause_id    TEXT,                       -- id of what has caused it
    root        INTEGER NOT NULL DEFAULT 0, -- of its tree, if another execution has started it
    start_ms    INTEGER NOT NULL DEFAULT 0, -- before then it does not start
    parked      INTEGER NOT NULL DEFAULT 0, -- store.WaitKind: what it waits for; 0: for nothing, or for a slot
    waits       BLOB,                       -- more of what it waits for, as JSON
    suspensions INTEGER NOT NULL DEFAULT 0, -- how often it was suspended
    error_code  TEXT,                       -- of its fault
    error_at    TEXT,                       -- the task of its fault, as a JSON pointer; NULL: none
    error_hash  INTEGER NOT NULL DEFAULT 0, -- of the detail of its fault without what differs from case to case
    root_by     INTEGER,                    -- started_by of the root of its tree, if that is another; NULL: 0
    CHECK ((state = 0) = (status >= 4))
) STRICT;
-- ListExecutions of an environment. Here and in the next two indexes, the status comes before the id, so that one
-- index serves every combination of statuses.
CREATE INDEX execution_environment ON execution (account, environment, status, id);
-- ListExecutions of a workflow; CountListed reads nothing but the index.
CREATE INDEX execution_workflow ON execution (workflow, environment, status, id, account);
-- ListExecutions of a batch, BatchItems, ListItems.
CREATE INDEX execution_batch ON execution (batch, status, item) WHERE batch <> 0;
-- ExecutionsByState, ScanUnfinished, CountUnfinished, CountActive, WaitingAccounts; Queues and NextQueued of batches:
-- the executions of an account that have not ended, without those of other accounts.
CREATE INDEX execution_unfinished ON execution (state, account, batch, item) WHERE state <> 0;
-- CountNow, which reads nothing but the index.
CREATE INDEX execution_now ON execution (account, environment, state, workflow, started_by, status) WHERE state <> 0;
-- NextReady, ReadyBefore, Queues: ready executions of a queue, in the order in which they became ready.
CREATE INDEX execution_ready ON execution (account, batch, environment, workflow, ready_ms) WHERE state = 2;
-- QueuedSinglesOf: queued single executions of one actor. Before the next one, which SQLite takes where both would do.
CREATE INDEX execution_queued_actor ON execution (account, environment, workflow, COALESCE(root_by, started_by)) WHERE state = 1 AND batch = 0;
-- NextQueued, QueuedSingles, QueuedAtLeast, Queues: queued single executions of a workflow, in order of acceptance.
CREATE INDEX execution_queued ON execution (account, environment, workflow) WHERE state = 1 AND batch = 0;
-- CountActiveOfTest: the slots that environment test has a share of.
CREATE INDEX execution_test ON execution (account, environment, state) WHERE state = 3 AND environment = 2;
-- ListExecutions of what a person has started.
CREATE INDEX execution_person ON execution (started_by, environment, status, id) WHERE started_by < 0;
-- ListExecutions of those that have failed with a code.
CREATE INDEX execution_error ON execution (account, environment, error_code, id) WHERE error_code IS NOT NULL;
-- Failures, and Examined for it, which read nothing but the index.
CREATE INDEX execution_failed ON execution (account, environment, id, workflow, error_code, error_at, error_hash, phase, finished_ms, started_by)
    WHERE error_code IS NOT NULL;
-- ListExecutions of those that wait for something.
CREATE INDEX execution_parked ON execution (account, environment, parked, id) WHERE parked <> 0;
-- ListExecutions of those that an execution has started, directly or through others.
CREATE INDEX execution_tree ON execution (root, id) WHERE root <> 0;
-- ListExecutions of those that repeat an execution.
CREATE INDEX execution_retry ON execution (retry_of, id) WHERE retry_of IS NOT NULL;
-- StartDelayed, NextDelayedMs.
CREATE INDEX execution_delayed ON execution (start_ms) WHERE state = 5;
-- DeleteEnded.
CREATE INDEX execution_ended ON execution (environment, finished_ms) WHERE state = 0 AND batch = 0;

-- A row is a label of an execution. The items of a batch have those of the batch, too, which are in batch_label. Account,
-- environment and id are copies of those of the execution: a list reads one index.
CREATE TABLE label (
    execution   INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    id          BLOB NOT NULL,
    PRIMARY KEY (execution, name)
) STRICT, WITHOUT ROWID;
-- ListExecutions by label. The workflow keeps lists of one workflow from looking at the rows of others.
CREATE INDEX label_value ON label (account, environment, name, value, id, workflow);

-- A row is the input of an execution, if it has more than 1 KiB and is not in a blob.
CREATE TABLE input (
    execution INTEGER PRIMARY KEY,
    data      BLOB NOT NULL
) STRICT;

-- A row says how an execution ended. It is written once, with the final status.
CREATE TABLE outcome (
    execution   INTEGER PRIMARY KEY,
    output      BLOB,
    output_blob BLOB,
    output_size INTEGER,
    fault       BLOB, -- JSON; NULL: it completed
    files       BLOB, -- JSON array of the ids of its result files
    timeline    BLOB  -- the last timeline chunk
) STRICT;

-- A row is an event that an execution has applied. It goes when a checkpoint covers it, or the execution ends.
CREATE TABLE journal (
    execution  INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    event      BLOB,
    event_blob BLOB,
    event_size INTEGER,
    digest     INTEGER NOT NULL, -- of the machine's decisions after the event
    PRIMARY KEY (execution, seq)
) STRICT, WITHOUT ROWID;

-- A row is the state of the machine after event seq. It goes when the execution ends.
CREATE TABLE checkpoint (
    execution  INTEGER PRIMARY KEY,
    seq        INTEGER NOT NULL,
    revision   INTEGER NOT NULL, -- of the machine
    state      BLOB,
    state_blob BLOB,
    state_size INTEGER
) STRICT;

-- A row is a timer of an execution. It goes when it has fired, or the execution ends.
CREATE TABLE timer (
    execution   INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    PRIMARY KEY (execution, command)
) STRICT, WITHOUT ROWID;
-- TimersAfter, CountTimersDue.
CREATE INDEX timer_due ON timer (environment, due_ms, execution, command);

-- A row is a part of the timeline of an execution. The last part is in outcome.
CREATE TABLE timeline_chunk (
    execution INTEGER NOT NULL,
    chunk     INTEGER NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (execution, chunk)
) STRICT, WITHOUT ROWID;

-- A row is a segment of the log of an execution: lines that were written together.
CREATE TABLE log_segment (
    execution INTEGER NOT NULL,
    line      INTEGER NOT NULL, -- number of its first line; lines are numbered from 1 without gaps
    lines     INTEGER NOT NULL,
    bytes     INTEGER NOT NULL, -- as they are counted in usage_sum
    total     INTEGER NOT NULL, -- bytes of the log so far
    ended     INTEGER NOT NULL, -- 1: the log has reached its limit, and no segment follows
    tasks     BLOB NOT NULL,    -- bytes of text by task, as package runlog encodes them
    data      BLOB,
    data_blob BLOB,
    PRIMARY KEY (execution, line)
) STRICT, WITHOUT ROWID;

-- A row is the secrets of an execution, sealed, as they were when it was accepted. It goes when the execution ends.
CREATE TABLE execution_secret (
    execution INTEGER PRIMARY KEY,
    sealed    BLOB NOT NULL
) STRICT;

-- A row is a blob that an engine keeps for an execution outside of the database, as Temporal's histories do.
CREATE TABLE execution_blob (
    execution INTEGER NOT NULL,
    digest    BLOB NOT NULL,
    PRIMARY KEY (execution, digest)
) STRICT, WITHOUT ROWID;

-- A row links an execution to the one that started it. The root of a tree has a row too, with the parent 0.
CREATE TABLE child (
    execution  INTEGER PRIMARY KEY,
    parent     INTEGER NOT NULL,
    root       INTEGER NOT NULL,
    command    INTEGER NOT NULL, -- of the parent
    depth      INTEGER NOT NULL, -- below the root
    state      INTEGER NOT NULL, -- store.ChildState
    unfinished INTEGER NOT NULL  -- in the row of a root: executions of the tree that have not ended
) STRICT;
-- OpenChildren, StopChild, FinishExecution: children whose end matters to the parent.
CREATE INDEX child_open ON child (parent, command) WHERE state <> 0;
-- DueChildren: ends to deliver, and children to cancel.
CREATE INDEX child_due ON child (execution) WHERE state >= 3;

-- A row is a message to an execution, written with the change that it tells of and deleted when it was delivered.
-- A number is never used twice, because executions remember those that they have seen.
CREATE TABLE outbox (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    execution INTEGER NOT NULL,
    kind      INTEGER NOT NULL, -- store.OutboxKind
    reason    BLOB,             -- of a cancellation, as UTF-8
    report    INTEGER NOT NULL, -- of a grant: number of the state report that it answers
    due_ms    INTEGER NOT NULL  -- end of the lease of the process that delivers it
) STRICT;
-- LeaseOutbox, OutboxDue, OldestOutboxMs, CountOutbox.
CREATE INDEX outbox_due ON outbox (due_ms);
-- StartUndelivered.
CREATE INDEX outbox_execution ON outbox (execution, kind);

-- A row is a batch. Its counts change in the transactions that end its items.
CREATE TABLE batch (
    no                    INTEGER PRIMARY KEY,
    id                    BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account               INTEGER NOT NULL,
    environment           INTEGER NOT NULL,
    workflow              INTEGER NOT NULL,
    revision              INTEGER NOT NULL,
    status                INTEGER NOT NULL,           -- chargehand.BatchStatus
    concurrency           INTEGER NOT NULL,           -- in effect
    requested_concurrency INTEGER NOT NULL,
    total                 INTEGER NOT NULL,           -- items
    finished              INTEGER NOT NULL DEFAULT 0, -- items that completed
    failed                INTEGER NOT NULL DEFAULT 0, -- items that ended in error, cancelled ones included
    cancelled             INTEGER NOT NULL DEFAULT 0, -- items that were cancelled
    cancel_requested      INTEGER NOT NULL DEFAULT 0,
    reason                BLOB,                       -- of the cancellation, as UTF-8
    started_ms            INTEGER NOT NULL DEFAULT 0,
    finished_ms           INTEGER NOT NULL DEFAULT 0,
    started_by            INTEGER NOT NULL DEFAULT 0  -- as in execution
) STRICT;
-- ListBatches.
CREATE INDEX batch_list ON batch (workflow, environment, id);
-- ListBatches of all workflows.
CREATE INDEX batch_all ON batch (account, environment, id);
-- ListBatches of what an actor has started.
CREATE INDEX batch_started ON batch (started_by, workflow, environment, id) WHERE started_by <> 0;
-- ActiveBatches, CancelledBatches.
CREATE INDEX batch_active ON batch (no) WHERE status < 3;
-- DeleteEnded.
CREATE INDEX batch_ended ON batch (environment, finished_ms) WHERE status >= 3;

-- A row is a label of a batch, which its items have.
CREATE TABLE batch_label (
    batch       INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    last_id     BLOB NOT NULL,    -- of its last item
    PRIMARY KEY (batch, name)
) STRICT, WITHOUT ROWID;
-- ListExecutions by label.
CREATE INDEX batch_label_value ON batch_label (account, environment, name, value, last_id);

-- A row is the answer to a request with an Idempotency-Key.
CREATE TABLE idempotency (
    hash        BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32), -- over account, API key or person, environment, method, path and key
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    body_hash   BLOB NOT NULL,                                       -- of the request
    status      INTEGER NOT NULL,                                    -- HTTP status of the answer
    kind        TEXT NOT NULL,                                       -- of the resource
    resource    BLOB NOT NULL,                                       -- its id
    created_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- DeleteIdempotency.
CREATE INDEX idempotency_created ON idempotency (created_ms);

-- Human tasks --------------------------------------------------------------------------------------------------------

-- A row is a task that an execution has opened for a person.
CREATE TABLE human_task (
    no           INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account      INTEGER NOT NULL,
    environment  INTEGER NOT NULL,
    workflow     INTEGER NOT NULL,
    execution    INTEGER NOT NULL,
    batch        INTEGER NOT NULL,           -- of the execution; 0: none
    command      INTEGER NOT NULL,           -- of the execution, that has opened it
    seq          INTEGER NOT NULL,           -- of the timeline entry
    reference    TEXT NOT NULL,              -- of the task in the definition, as a JSON pointer
    iterations   TEXT,                       -- index in each loop around it, a JSON array; NULL: none
    status       INTEGER NOT NULL,           -- store.TaskStatus: 1 open, 2 claimed, 3 answered, 4 withdrawn
    why          INTEGER NOT NULL DEFAULT 0, -- it is withdrawn: machine.Withdrawal
    used         INTEGER NOT NULL DEFAULT 0, -- 1: the execution has used its answer
    step         INTEGER NOT NULL,           -- counts its changes: of two requests that read it, one changes it
    priority     INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,           -- the largest number: never
    created_ms   INTEGER NOT NULL,
    ended_ms     INTEGER NOT NULL DEFAULT 0, -- 0: open or claimed
    claimant     INTEGER NOT NULL DEFAULT 0, -- who has claimed it, as started_by in execution
    answerer     INTEGER NOT NULL DEFAULT 0, -- who has answered it, likewise
    title        BLOB NOT NULL,
    assignees    TEXT,                       -- who may answer, as JSON; NULL: all
    reassigners  TEXT,                       -- ids of the users and API keys that have reassigned it, separated by spaces
    request      BLOB,                       -- as package human reads it; a large one is in a blob
    request_blob BLOB,
    request_size INTEGER,
    answer       BLOB,
    answer_blob  BLOB,
    answer_size  INTEGER,
    owner        INTEGER NOT NULL,           -- for whom it counts in usage_sum: the starter of the execution
    bytes        INTEGER NOT NULL,           -- of request and answer, as they are counted in usage_sum
    UNIQUE (execution, command),
    -- Statements about an execution say status < 3, so that no planner takes an index of all open tasks for them.
    CHECK ((ended_ms = 0) = (status < 3))
) STRICT;
-- HumanTasks: those that have ended, the newest first.
CREATE INDEX human_task_ended ON human_task (account, environment, no) WHERE ended_ms <> 0;
-- HumanTasks and CountHumanTasks: those that have not ended, in each order.
CREATE INDEX human_task_open ON human_task (account, environment, no, workflow) WHERE ended_ms = 0;
CREATE INDEX human_task_due ON human_task (account, environment, due_ms, no, workflow) WHERE ended_ms = 0;
CREATE INDEX human_task_priority ON human_task (account, environment, priority DESC, no, workflow) WHERE ended_ms = 0;
-- HumanTasks of a batch, and those that were answered.
CREATE INDEX human_task_batch ON human_task (batch, no) WHERE batch <> 0;
CREATE INDEX human_task_answerer ON human_task (answerer, account, environment, no) WHERE answerer <> 0;

-- A row says in whose list a task is that has not ended.
CREATE TABLE human_candidate (
    task        INTEGER NOT NULL,
    kind        INTEGER NOT NULL, -- store.CandidateKind
    name        TEXT NOT NULL,    -- of a person or group, in the form that is compared
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    PRIMARY KEY (task, kind, name)
) STRICT, WITHOUT ROWID;
-- HumanTasks and CountHumanTasks of a candidate, in each order.
CREATE INDEX human_candidate_created ON human_candidate (account, environment, kind, name, task, workflow);
CREATE INDEX human_candidate_due ON human_candidate (account, environment, kind, name, due_ms, task, workflow);
CREATE INDEX human_candidate_priority ON human_candidate (account, environment, kind, name, priority DESC, task, workflow);

-- A row is a time at which a fact of an open human task is due. It goes with the fact, or when the task ends.
CREATE TABLE human_time (
    task        INTEGER NOT NULL,
    kind        INTEGER NOT NULL, -- store.TaskTimeKind: 1 reminder, 2 due
    due_ms      INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    PRIMARY KEY (task, kind, due_ms)
) STRICT, WITHOUT ROWID;
-- TaskTimesDue.
CREATE INDEX human_time_due ON human_time (environment, due_ms, task, kind);

-- A row is a comment on a human task.
CREATE TABLE human_comment (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    task       INTEGER NOT NULL,
    author     INTEGER NOT NULL, -- as started_by in execution
    by_id      TEXT NOT NULL,    -- id and name of the author, for display
    by_name    TEXT NOT NULL,
    text       BLOB NOT NULL,
    bytes      INTEGER NOT NULL, -- of the text, as they are counted in usage_sum for its author
    created_ms INTEGER NOT NULL
) STRICT;
-- HumanComments, CountHumanComments.
CREATE INDEX human_comment_task ON human_comment (task, no);

-- A row is an answer to a human task that its author is still writing.
CREATE TABLE human_draft (
    task       INTEGER NOT NULL,
    author     INTEGER NOT NULL, -- as started_by in execution
    data       BLOB NOT NULL,    -- JSON
    bytes      INTEGER NOT NULL, -- as they are counted in usage_sum for its author
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (task, author)
) STRICT;

-- A row is one answer to many human tasks, whose request carries an Idempotency-Key.
CREATE TABLE bulk_answer (
    id         BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
    tasks      BLOB NOT NULL,   -- their ids, 16 bytes each
    result     BLOB,            -- JSON; NULL: it is not known yet
    created_ms INTEGER NOT NULL -- as in idempotency
) STRICT;
-- DeleteBulkAnswers.
CREATE INDEX bulk_answer_created ON bulk_answer (created_ms);

-- A row is a link by which a person answers a human task without signing in.
CREATE TABLE human_link (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    task       INTEGER NOT NULL,
    hash       BLOB NOT NULL UNIQUE,       -- SHA-256 of the secret in its address
    name       TEXT NOT NULL,              -- of the addressee
    email      TEXT NOT NULL,              -- empty: not known
    email_key  TEXT NOT NULL,              -- the same in the form that is compared
    person     INTEGER NOT NULL DEFAULT 0, -- the addressee, if that was a user when the link was made; 0: it was none
    maker      INTEGER NOT NULL DEFAULT 0, -- as started_by in execution; 0: the server, which has mailed it
    maker_id   TEXT NOT NULL DEFAULT '',   -- id and name of the maker
    maker_name TEXT NOT NULL DEFAULT '',
    maker_key  INTEGER NOT NULL DEFAULT 0, -- API key by which it was made; 0: none
    maker_session BLOB,                    -- id of the session by which it was made; NULL: none
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    revoked_ms INTEGER NOT NULL DEFAULT 0, -- 0: it is not
    replaced_ms INTEGER NOT NULL DEFAULT 0, -- when newer ones were mailed in its place; 0: it counts
    uploads    INTEGER NOT NULL DEFAULT 0, -- files that were uploaded by it
    upload_bytes INTEGER NOT NULL DEFAULT 0,
    task_ended INTEGER NOT NULL DEFAULT 0  -- 1: its task has ended; always 0 where maker is not negative
) STRICT;
-- TaskLinks, CountTaskLinks.
CREATE INDEX human_link_task ON human_link (task, no);
-- RevokeLinksOf, RevokeSessions.
CREATE INDEX human_link_maker ON human_link (maker) WHERE maker < 0 AND revoked_ms = 0 AND task_ended = 0;

-- Facts --------------------------------------------------------------------------------------------------------------

-- A row says that something has happened, for readers that report it later. It is written with the change that it tells
-- of, and names rows; readers read what these say.
CREATE TABLE fact (
    no          INTEGER PRIMARY KEY,
    number      INTEGER NOT NULL DEFAULT 0, -- in the order in which facts are read; 0: not published yet
    kind        INTEGER NOT NULL,           -- store.FactKind
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    execution   INTEGER NOT NULL,
    task        INTEGER NOT NULL,           -- human_task
    at_ms       INTEGER NOT NULL
) STRICT;
-- PublishFacts.
CREATE INDEX fact_unpublished ON fact (number, no) WHERE number = 0;
-- Facts.
CREATE UNIQUE INDEX fact_number ON fact (number) WHERE number <> 0;
-- DeleteFacts.
CREATE INDEX fact_at ON fact (at_ms);
-- Deletion of executions.
CREATE INDEX fact_execution ON fact (execution);

-- A row is how far a reader has read the facts: the number of the last one, and how far it is with the next one. The row
-- named 'published' is the last number that was given.
CREATE TABLE fact_cursor (
    name   TEXT PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    part   TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Files --------------------------------------------------------------------------------------------------------------

-- A row is a content in the blob store. Rows of other tables that name its digest are counted in refs.
CREATE TABLE blob (
    digest    BLOB PRIMARY KEY NOT NULL CHECK (length(digest) IN (32, 33)),
    size      INTEGER NOT NULL,
    refs      INTEGER NOT NULL DEFAULT 0 CHECK (refs >= 0),
    unused_ms INTEGER NOT NULL DEFAULT 0, -- when it was seen without references; 0: it was not
    deleting  INTEGER NOT NULL DEFAULT 0  -- 1: its content is being deleted, new references are refused
) STRICT, WITHOUT ROWID;
-- StampUnusedBlobs, StartBlobDeletion, BlobsToDelete.
CREATE INDEX blob_unused ON blob (deleting, unused_ms) WHERE refs = 0;

-- A row is a file: a content with a name.
CREATE TABLE file (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    media_type  TEXT NOT NULL,
    size        INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    execution   INTEGER NOT NULL,           -- that made it; 0: an upload, or a result that is not journaled yet
    uploader    INTEGER NOT NULL DEFAULT 0, -- API key; below 0: person; 0: none
    owner       INTEGER NOT NULL DEFAULT 0, -- for whom it counts in usage_sum: the uploader, or the starter of the execution
    visible     INTEGER NOT NULL            -- 0: a result that is not journaled yet
) STRICT;
-- FilesOf.
CREATE INDEX file_execution ON file (execution) WHERE execution <> 0;
-- DeleteHiddenFiles.
CREATE INDEX file_hidden ON file (id) WHERE visible = 0;
-- DeleteUploads.
CREATE INDEX file_upload ON file (environment, id) WHERE execution = 0 AND visible = 1;

-- A row says that an execution uses a file. The file is kept as long as the row.
CREATE TABLE file_use (
    execution INTEGER NOT NULL,
    file      INTEGER NOT NULL,
    PRIMARY KEY (execution, file)
) STRICT, WITHOUT ROWID;
-- DeleteUploads, DeleteEnded: whether a file is in use.
CREATE INDEX file_use_file ON file_use (file);

-- Events -------------------------------------------------------------------------------------------------------------

-- A row is the end of the stream of an environment's events. Events are numbered from 1 without gaps, in the order of
-- commit. last_ms never decreases, so the order of numbers is the order of times.
CREATE TABLE stream (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    last        INTEGER NOT NULL, -- number of the last event
    last_ms     INTEGER NOT NULL,
    PRIMARY KEY (account, environment)
) STRICT, WITHOUT ROWID;

-- A row is the position of a reader of a stream: event number is done, and part of the next one.
CREATE TABLE stream_cursor (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    name        TEXT NOT NULL,
    number      INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    PRIMARY KEY (account, environment, name)
) STRICT, WITHOUT ROWID;

-- A row is an event. The data is the last column: a search by type does not read it.
CREATE TABLE event (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    dedupe      BLOB NOT NULL CHECK (length(dedupe) = 16), -- equal in two events of a stream: they are the same
    type        TEXT NOT NULL,
    origin      BLOB,                                      -- id of the execution that emitted it
    data_blob   BLOB,
    data_size   INTEGER,
    starter     INTEGER NOT NULL DEFAULT 0,                -- limits of the executions that it starts; 0: none
    data        BLOB,                                      -- the envelope, a CloudEvent in JSON
    PRIMARY KEY (account, environment, number),
    UNIQUE (account, environment, dedupe)
) STRICT;
-- EventsOfTypes, EventTypes.
CREATE INDEX event_type ON event (account, environment, type, number);
-- LastEventBefore, DeleteEvents.
CREATE INDEX event_received ON event (account, environment, received_ms, number);

-- A row is an execution's subscription to events. A number is never used twice, because cursors remember them.
CREATE TABLE subscription (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    execution   INTEGER NOT NULL,
    command     INTEGER NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    since       INTEGER NOT NULL, -- number of the last event that was read for it
    woken       INTEGER NOT NULL, -- 1: the execution must read the events after since
    UNIQUE (execution, command)
) STRICT;
-- WokenSubscriptions.
CREATE INDEX subscription_woken ON subscription (no) WHERE woken = 1;

-- A row is a filter of a subscription, an entry of the index that finds subscriptions for an event. kind says what of
-- an event is in the key, in one text, so that one step in the index leads from one kind to the next.
CREATE TABLE subscription_filter (
    subscription INTEGER NOT NULL,
    position     INTEGER NOT NULL, -- in the list of the subscription's filters
    account      INTEGER NOT NULL,
    environment  INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    key          BLOB NOT NULL,
    PRIMARY KEY (subscription, position)
) STRICT, WITHOUT ROWID;
-- MatchSubscriptions, FilterKinds.
CREATE INDEX subscription_filter_match ON subscription_filter (account, environment, kind, key, subscription);

-- A row is how far the events of a stream were delivered to a sink, which is known by its name in the configuration.
-- The row of account 0 says that the sink is known: a stream without a row begins with its first event after that.
CREATE TABLE sink (
    name        TEXT NOT NULL,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    number      INTEGER NOT NULL,           -- of the last event that was delivered
    failures    INTEGER NOT NULL,           -- since the last success
    failing_ms  INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL,
    used_ms     INTEGER NOT NULL DEFAULT 0, -- in the row of account 0: when a process last said that it has the sink
    PRIMARY KEY (name, account, environment)
) STRICT, WITHOUT ROWID;
-- DeleteSinks: sinks that no process has.
CREATE INDEX sink_used ON sink (used_ms) WHERE account = 0;

-- Schedules ----------------------------------------------------------------------------------------------------------

-- A row is the schedule of the published revision of a workflow. A revision that is published gets a new row, with a
-- number that was never used. A time of 0 must still be computed; the largest number means never.
CREATE TABLE schedule (
    no           INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow     INTEGER NOT NULL UNIQUE,
    account      INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    step         INTEGER NOT NULL, -- counts the changes of the row: of two processes that read it, one changes it
    activated_ms INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL, -- the earliest of the next three
    every_ms     INTEGER NOT NULL,
    cron_ms      INTEGER NOT NULL,
    after_ms     INTEGER NOT NULL,
    tick_ms      INTEGER NOT NULL, -- the last tick that was started
    execution    INTEGER NOT NULL, -- whose end `after` waits for; 0: none
    listens      INTEGER NOT NULL, -- 1: it has `on`
    position     INTEGER NOT NULL  -- number of the last event that was read for `on`
) STRICT;
-- SchedulesDue, Agenda.
CREATE INDEX schedule_due ON schedule (due_ms, no);
-- EndedSchedules, Agenda.
CREATE INDEX schedule_execution ON schedule (execution) WHERE execution <> 0;
-- ListeningSchedules, Agenda.
CREATE INDEX schedule_listens ON schedule (no) WHERE listens = 1;

-- A row is a set of events that a schedule has collected, and that is not complete yet.
CREATE TABLE schedule_match (
    schedule   INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    state      BLOB NOT NULL, -- empty if it is in a blob, because it is large
    state_blob BLOB,
    state_size INTEGER,
    starter    INTEGER NOT NULL DEFAULT 0, -- limits of the execution that it starts; 0: none
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;

-- Usage --------------------------------------------------------------------------------------------------------------

-- A row is a part of the sums of what an environment has stored, an API key or person in it, or an account. A commit
-- adds to rows of its own slot, so that no commit waits for another one. The sum over the slots is the truth.
CREATE TABLE usage_sum (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL, -- 0: the account as a whole
    actor       INTEGER NOT NULL, -- API key; below 0: person; 0: the environment as a whole
    slot        INTEGER NOT NULL, -- of the connection that writes; 0: what was folded (FoldUsage)
    executions  INTEGER NOT NULL,
    bytes       INTEGER NOT NULL, -- of files, and of inputs and outputs of executions
    users       INTEGER NOT NULL, -- members of the account
    task_changes INTEGER NOT NULL, -- how often human tasks have changed (TaskChanges); it never falls
    PRIMARY KEY (account, environment, actor, slot)
) STRICT, WITHOUT ROWID;
-- FoldUsage.
CREATE INDEX usage_sum_slot ON usage_sum (account, environment, actor, slot) WHERE slot <> 0;

-- Rollups ------------------------------------------------------------------------------------------------------------

-- A row counts the executions that were accepted in an hour, or in a day, and those that ended in it. The counts stay
-- when the executions are deleted.
CREATE TABLE rollup (
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL, -- 0: all
    actor       INTEGER NOT NULL, -- as started_by in execution; 0: all
    day         INTEGER NOT NULL, -- 1: of a day in UTC; 0: of an hour
    hour_ms     INTEGER NOT NULL, -- beginning of the hour or day
    started     INTEGER NOT NULL, -- accepted
    finished    INTEGER NOT NULL,
    failed      INTEGER NOT NULL, -- without those that were cancelled
    cancelled   INTEGER NOT NULL,
    durations   BLOB,             -- as package histogram encodes them; NULL: none
    PRIMARY KEY (account, environment, workflow, actor, day, hour_ms)
) STRICT, WITHOUT ROWID;
-- DeleteRollups.
CREATE INDEX rollup_hour ON rollup (hour_ms);
-- WorkflowCounts, which reads nothing but the index.
CREATE INDEX rollup_time ON rollup (account, environment, actor, day, hour_ms, workflow, started, finished, failed, cancelled);

-- The row is how far executions were counted in rollup.
CREATE TABLE rollup_cursor (
    one        INTEGER PRIMARY KEY, -- 1
    counted    INTEGER NOT NULL, -- number of the last execution that was counted
    closing    INTEGER NOT NULL, -- up to it they are being counted: their ends are noted in rollup_ended
    step       INTEGER NOT NULL, -- counts the changes of rollups: of two processes that read them, one changes them
    as_of_ms   INTEGER NOT NULL, -- all that had happened by then is counted
    closing_ms INTEGER NOT NULL  -- when closing was set
) STRICT;

-- A row notes that an execution has ended after it was counted in rollup. It goes when its end was counted.
CREATE TABLE rollup_ended (
    execution INTEGER PRIMARY KEY
) STRICT;

-- Operations ----------------------------------------------------------------------------------------------------------

-- A row is an operation: one action on many executions.
CREATE TABLE operation (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16), -- its time part is the time of the request
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    action      INTEGER NOT NULL,           -- store.OperationAction
    status      INTEGER NOT NULL,           -- store.OperationStatus
    started_by  INTEGER NOT NULL,           -- as in execution
    key         INTEGER NOT NULL,           -- API key whose rights bound it; 0: those of the person alone
    filter      BLOB,                       -- JSON; NULL: the executions were named
    version     TEXT,                       -- that retries run; NULL: the one of each execution
    reason      BLOB,                       -- of cancellations, as UTF-8
    reached     BLOB,                       -- id of the last execution that was looked at for the filter; NULL: none was
    total       INTEGER NOT NULL DEFAULT 0, -- executions that were selected
    succeeded   INTEGER NOT NULL DEFAULT 0,
    skipped     INTEGER NOT NULL DEFAULT 0, -- on which the action has no use any more
    failed      INTEGER NOT NULL DEFAULT 0,
    code        TEXT,                       -- why it was stopped; NULL: it was not
    detail      TEXT,                       -- the same in words
    ended_ms    INTEGER NOT NULL DEFAULT 0
) STRICT;
-- ListOperations, KeptOperations.
CREATE INDEX operation_list ON operation (account, environment, id);
-- ActiveOperations, CountActiveOperations.
CREATE INDEX operation_active ON operation (account, environment, no) WHERE status < 3;
-- DeleteOperations.
CREATE INDEX operation_ended ON operation (ended_ms) WHERE status >= 3;

-- A row is an execution that an operation was to act on. What became of it is written with the change of the execution.
CREATE TABLE operation_item (
    operation INTEGER NOT NULL,
    execution BLOB NOT NULL,              -- its id: there need not be an execution
    outcome   INTEGER NOT NULL DEFAULT 0, -- store.ItemOutcome
    started   BLOB,                       -- id of the execution that a retry has started
    code      TEXT,                       -- of the error
    detail    BLOB,                       -- of the error, as UTF-8
    PRIMARY KEY (operation, execution)
) STRICT, WITHOUT ROWID;
-- PendingItems, ListOperationItems by outcome.
CREATE INDEX operation_item_outcome ON operation_item (operation, outcome, execution);

-- Mail ----------------------------------------------------------------------------------------------------------------

-- A row is a mail, written with the change that it tells of. When it has ended, its content is gone; the row stays until
-- some days after expires_ms.
CREATE TABLE mail (
    no         INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE CHECK (length(id) = 16), -- in its Message-ID
    account    INTEGER NOT NULL,                             -- 0: none
    person     INTEGER NOT NULL,                             -- whom it goes to; 0: found when it is sent
    kind       TEXT NOT NULL,                                -- mail.Kind
    attempts   INTEGER NOT NULL DEFAULT 0,
    due_ms     INTEGER NOT NULL,                             -- of the next attempt, or end of the lease of the process that sends it
    expires_ms INTEGER NOT NULL,                             -- it is of no use afterwards
    created_ms INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL DEFAULT 0,
    result     INTEGER NOT NULL DEFAULT 0,                   -- store.MailResult
    content    BLOB                                          -- sealed, because it may hold a link
) STRICT;
-- LeaseMail, MailDue, OldestMailMs, CountMail.
CREATE INDEX mail_due ON mail (due_ms) WHERE ended_ms = 0;
-- DeleteMail.
CREATE INDEX mail_expires ON mail (expires_ms);

-- A row is a mail about a human task that is still to be handed to the outbox of mails, at the rate of its workflow.
CREATE TABLE task_mail (
    no          INTEGER PRIMARY KEY,
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    task        INTEGER NOT NULL, -- human_task
    fact        INTEGER NOT NULL, -- store.FactKind
    person      INTEGER NOT NULL, -- whom it goes to; 0: to an address that no member has
    address     TEXT              -- whom it goes to; NULL: the address of the person
) STRICT;
-- WaitingTaskMail.
CREATE INDEX task_mail_workflow ON task_mail (workflow, environment, no);

-- A row is how fast a workflow sends such mails: those of the last minute, and those that wait.
CREATE TABLE task_mail_rate (
    account     INTEGER NOT NULL,
    workflow    INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    due_ms      INTEGER NOT NULL, -- when to look at it next
    minute_ms   INTEGER NOT NULL, -- when the minute began
    sent        INTEGER NOT NULL, -- in it
    waiting     INTEGER NOT NULL, -- rows in task_mail
    PRIMARY KEY (workflow, environment)
) STRICT, WITHOUT ROWID;
-- TaskMailDue.
CREATE INDEX task_mail_rate_due ON task_mail_rate (due_ms, workflow, environment);

-- Audit log ----------------------------------------------------------------------------------------------------------

-- A row is an entry of the audit log: a change, who made it and from where.
CREATE TABLE audit (
    no          INTEGER PRIMARY KEY,
    id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16), -- its time part is the time of the change
    account     INTEGER NOT NULL,
    environment INTEGER NOT NULL,           -- 0: the change belongs to none
    actor_kind  TEXT NOT NULL,              -- user, key, link, system
    actor_id    TEXT NOT NULL,
    actor_name  TEXT NOT NULL,
    action      TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_id   TEXT NOT NULL,
    target_name TEXT NOT NULL,
    address     TEXT NOT NULL,              -- empty: no request led to the change
    request_id  TEXT NOT NULL,
    changes     BLOB,                       -- JSON; NULL: none
    occurred    INTEGER NOT NULL DEFAULT 1, -- how often: failed sign-ins are counted in one row
    summed      BLOB UNIQUE                 -- digest of what they have in common; NULL: the row stands for one change
) STRICT;
-- ListAudit without a filter. The condition is always true: it keeps planners from this index where there is a filter.
CREATE INDEX audit_account ON audit (account, id) WHERE occurred > 0;
-- ListAudit by each of the filters.
CREATE INDEX audit_environment ON audit (account, environment, id);
CREATE INDEX audit_actor ON audit (account, actor_id, id);
CREATE INDEX audit_action ON audit (account, action, id);
CREATE INDEX audit_target ON audit (account, target_id, id);
