package audit

import "slices"

// Action is what was done: a kind of target, a dot and a past participle.
type Action string

// The actions.
const (
	WorkflowPublished  Action = "workflow.published"
	WorkflowDeleted    Action = "workflow.deleted"
	KeyCreated         Action = "key.created"
	KeyChanged         Action = "key.changed"
	KeyRotated         Action = "key.rotated"
	KeyRevoked         Action = "key.revoked"
	SecretSet          Action = "secret.set"
	SecretRolledBack   Action = "secret.rolled_back"
	SecretDeleted      Action = "secret.deleted"
	ExecutionCancelled Action = "execution.cancelled"
	ExecutionDeleted   Action = "execution.deleted"
	ExecutionResumed   Action = "execution.resumed"
	ExecutionRetried   Action = "execution.retried"
	ExecutionSuspended Action = "execution.suspended"
	BatchCancelled     Action = "batch.cancelled"
	BatchDeleted       Action = "batch.deleted"
	OperationStarted   Action = "operation.started"
	OperationCancelled Action = "operation.cancelled"
	FileDeleted        Action = "file.deleted"
	TaskAnswered       Action = "task.answered"
	TaskClaimed        Action = "task.claimed"
	TaskReleased       Action = "task.released"
	TaskReassigned     Action = "task.reassigned"
	TaskLinkCreated    Action = "task_link.created"
	TaskLinkRevoked    Action = "task_link.revoked"
	UserInvited        Action = "user.invited"
	UserChanged        Action = "user.changed"
	UserRemoved        Action = "user.removed"
	UserReset          Action = "user.reset"
	GroupCreated       Action = "group.created"
	GroupChanged       Action = "group.changed"
	GroupDeleted       Action = "group.deleted"
	GroupJoined        Action = "group.joined"
	GroupLeft          Action = "group.left"
	GrantGiven         Action = "grant.given"
	GrantTaken         Action = "grant.taken"
	AccountCreated     Action = "account.created"
	AccountRenamed     Action = "account.renamed"
	UserSetUp          Action = "user.set_up"
	UserJoined         Action = "user.joined"
	PasswordChanged    Action = "password.changed"
	PasswordReset      Action = "password.reset"
	SessionCreated     Action = "session.created"
	SessionSwitched    Action = "session.switched"
	SessionEnded       Action = "session.ended"
	UserProvisioned    Action = "user.provisioned"
	IdentityLinked     Action = "identity.linked"
	IdentityRemoved    Action = "identity.removed"
	PasskeyAdded       Action = "passkey.added"
	PasskeyRemoved     Action = "passkey.removed"
	PasskeyRenamed     Action = "passkey.renamed"
	SessionFailed      Action = "session.failed" // CountFailedSignIn
	MasterKeyExchanged Action = "master_key.exchanged"
)

// Description says what an action is.
type Description struct {
	Action  Action
	About   string
	Target  string // kind of the target
	Changes string // the names of the changes, or empty
}

var actions = []Description{
	{WorkflowPublished, "The published pointer of a workflow has moved to a revision.", "workflow", "version, revision"},
	{WorkflowDeleted, "A workflow was deleted.", "workflow", "version, revision"},
	{KeyCreated, "An API key was made.", "key", "name, scopes, workflows, namespaces, expires_at, rate_limit, allowed_addresses, personal"},
	{KeyChanged, "An API key was changed.", "key", "those of key.created that differ"},
	{KeyRotated, "An API key has got another secret.", "key", "previous_key_until"},
	{KeyRevoked, "An API key was revoked.", "key", ""},
	{SecretSet, "A secret was created, or has got a new version.", "secret", "version, workflows, namespaces"},
	{SecretRolledBack, "A secret has got the value of an earlier version again.", "secret", "version, restores"},
	{SecretDeleted, "A secret was deleted.", "secret", "version"},
	{ExecutionCancelled, "An execution was cancelled.", "execution", "reason"},
	{ExecutionDeleted, "An execution that had ended was deleted, with everything that belonged to it.", "execution", "status, phase, workflow_version"},
	{ExecutionResumed, "A suspended execution was resumed.", "execution", ""},
	{ExecutionSuspended, "An execution was suspended.", "execution", ""},
	{ExecutionRetried, "An execution was started again, with the input of this one or with another.", "execution", "execution, version, revision, input"},
	{BatchCancelled, "A batch was cancelled.", "batch", "reason"},
	{BatchDeleted, "A batch that had ended was deleted, with its items and everything that belonged to them.", "batch", "status, items"},
	{OperationStarted, "An action on many executions was asked for. What it does to each of them has no entry of its own; the operation lists them.", "operation", "action, filter, ids, version, reason"},
	{OperationCancelled, "An operation was ended before it had acted on all of its executions.", "operation", ""},
	{FileDeleted, "A file was deleted.", "file", "size"},
	{TaskAnswered, "A human task was answered. The actor is a `link` if it was answered by one.", "human_task", "outcome, on_behalf_of, made_by, behind"},
	{TaskClaimed, "A human task was claimed.", "human_task", ""},
	{TaskReleased, "The claim of a human task was taken back.", "human_task", ""},
	{TaskReassigned, "A human task was assigned to others.", "human_task", "users, groups"},
	{TaskLinkCreated, "A link was made by which a person answers a human task without signing in. Links in mails that the server sends by itself have no entry.", "human_task", "link, name, email, expires_at"},
	{TaskLinkRevoked, "A link to a human task was revoked.", "human_task", "link"},
	{UserInvited, "A person was invited; again, if there was an invitation.", "user", ""},
	{UserChanged, "A user was disabled, or made active again, or has changed its own name or language.", "user", "status, name, locale"},
	{UserRemoved, "A user was removed from the account, with grants and places in groups.", "user", "status"},
	{UserReset, "A link was made with which a user sets a password anew.", "user", ""},
	{GroupCreated, "A group was made.", "group", "name"},
	{GroupChanged, "A group was renamed.", "group", "name"},
	{GroupDeleted, "A group was deleted, with its grants.", "group", "name"},
	{GroupJoined, "A user was put into a group.", "group", "user_id"},
	{GroupLeft, "A user was taken out of a group.", "group", "user_id"},
	{GrantGiven, "A user or group has got a role.", "grant", "role, user_id, group_id, namespace, workflow_id, environments"},
	{GrantTaken, "A role was taken away from a user or group.", "grant", "those of grant.given"},
	{AccountCreated, "The account was made. It is the first entry of its log.", "account", "name"},
	{AccountRenamed, "The account has got another name.", "account", "name"},
	{UserSetUp, "The first admin was made with the set-up token.", "user", ""},
	{UserJoined, "A person has accepted an invitation. The actor is a `link` if the person could not sign in before.", "user", ""},
	{PasswordChanged, "A user has changed the own password, which ends the user's other sessions.", "user", ""},
	{PasswordReset, "A user has set a password anew with a link, which ends all sessions, passkeys and personal keys of the user, which the changes count, and the identities that the user had linked, whose providers they name.", "user", "passkeys, personal_keys, identities"},
	{SessionCreated, "A user has signed in.", "user", "method"},
	{SessionSwitched, "A user who has signed in already works in this account now.", "user", ""},
	{SessionEnded, "A user has signed out.", "user", ""},
	{UserProvisioned, "A person without an invitation has become a user, by the rules for an identity provider.", "user", "provider"},
	{IdentityLinked, "A user can sign in by an identity provider from now on.", "user", "provider"},
	{IdentityRemoved, "A user can sign in by an identity provider no more, and has left its groups.", "user", "provider"},
	{PasskeyAdded, "A user has added a passkey to the ways to sign in.", "passkey", ""},
	{PasskeyRemoved, "A user has removed a passkey.", "passkey", ""},
	{PasskeyRenamed, "A user has given a passkey another name.", "passkey", "name"},
	{SessionFailed, "A sign-in has failed, `count` times within one minute. There is no target if no person is known.", "user", ""},
	{MasterKeyExchanged, "The keys of the installation were wrapped by another master key, or older master keys were removed.", "master_key", "current, data_key, removed"},
}

// Actions lists all actions.
func Actions() []Description { return slices.Clone(actions) }

// Known reports whether there is such an action.
func Known(a Action) bool {
	return slices.ContainsFunc(actions, func(d Description) bool { return d.Action == a })
}
