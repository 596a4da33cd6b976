package chargehand

import (
	"encoding/hex"
	"errors"
	"time"
)

// ID is a UUID (version 7 for everything the service makes) with a phantom kind, so that
// the id of one resource cannot be passed where another's is wanted.
type ID[K any] [16]byte

type (
	accountKind   struct{}
	workflowKind  struct{}
	executionKind struct{}
	batchKind     struct{}
	humanTaskKind struct{}
	taskLinkKind  struct{}
	fileKind      struct{}
	keyKind       struct{}
	userKind      struct{}
	groupKind     struct{}
	grantKind     struct{}
	sessionKind   struct{}
	passkeyKind   struct{}
	auditKind     struct{}
	operationKind struct{}
)

type (
	// AccountID names a tenant.
	AccountID = ID[accountKind]
	// WorkflowID names a workflow (namespace/name of an account).
	WorkflowID = ID[workflowKind]
	// ExecutionID names one execution; its time part is the execution's creation time.
	ExecutionID = ID[executionKind]
	// BatchID names a batch of executions.
	BatchID = ID[batchKind]
	// HumanTaskID names a task that a person is to answer.
	HumanTaskID = ID[humanTaskKind]
	// TaskLinkID names a link to a human task (not the secret in its address).
	TaskLinkID = ID[taskLinkKind]
	// FileID names a stored file.
	FileID = ID[fileKind]
	// KeyID names an API key (not the key itself).
	KeyID = ID[keyKind]
	// UserID names a person: the same one in every account that the person is a member of.
	UserID = ID[userKind]
	// GroupID names a group of users.
	GroupID = ID[groupKind]
	// GrantID names a grant of a role.
	GrantID = ID[grantKind]
	// SessionID names a session (not its token).
	SessionID = ID[sessionKind]
	// PasskeyID names a passkey (not the id that its authenticator gave it).
	PasskeyID = ID[passkeyKind]
	// AuditID names an entry of the audit log.
	AuditID = ID[auditKind]
	// OperationID names one action on many executions; its time part is the time of its request.
	OperationID = ID[operationKind]
)

// ErrBadID is returned by ParseID for anything but the 36-character form of a UUID.
var ErrBadID = errors.New("not a UUID")

// ParseID reads the canonical 36-character form, in either case.
func ParseID[K any](s string) (ID[K], error) {
	var id ID[K]
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, ErrBadID
	}
	for i, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		if _, err := hex.Decode(id[i:i+1], []byte(s[at:at+2])); err != nil {
			return ID[K]{}, ErrBadID
		}
	}
	return id, nil
}

// Append appends the canonical form to dst.
func (id ID[K]) Append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, id[0:4])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, id[4:6])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, id[6:8])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, id[8:10])
	dst = append(dst, '-')
	return hex.AppendEncode(dst, id[10:16])
}

func (id ID[K]) String() string { return string(id.Append(make([]byte, 0, 36))) }

// IsZero reports whether id is unset.
func (id ID[K]) IsZero() bool { return id == ID[K]{} }

// MarshalText and UnmarshalText make ids JSON strings.
func (id ID[K]) MarshalText() ([]byte, error) { return id.Append(nil), nil }

// UnmarshalText is the inverse of MarshalText.
func (id *ID[K]) UnmarshalText(b []byte) error {
	parsed, err := ParseID[K](string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Time is the time part of a version 7 UUID, in UTC at millisecond precision.
func (id ID[K]) Time() time.Time { return time.UnixMilli(id.Milli()).UTC() }

// Milli is the time part in milliseconds since 1970.
func (id ID[K]) Milli() int64 {
	return int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 |
		int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5])
}

// Environment separates what is run for real from what is tried out.
type Environment uint8

// The two environments of every account.
const (
	Live Environment = 1
	Test Environment = 2
)

func (e Environment) String() string {
	if e == Test {
		return "test"
	}
	return "live"
}

// Status is the execution status of the HTTP contract: a closed list.
type Status uint8

// The statuses. Finished and Errored are final and never change.
const (
	Initial Status = 1 + iota
	Processing
	HumanInTheLoop
	Finished
	Errored
)

var statusNames = [...]string{"", "initial", "processing", "human_in_the_loop", "finished", "error"}

func (s Status) String() string { return statusNames[s] }

// Final reports whether s never changes again.
func (s Status) Final() bool { return s == Finished || s == Errored }

// ParseStatus is the inverse of String.
func ParseStatus(name string) (Status, bool) {
	for s := Initial; s <= Errored; s++ {
		if statusNames[s] == name {
			return s, true
		}
	}
	return 0, false
}

// Phase is the specification's status phase of a workflow or task (docs/language/flow.md).
type Phase uint8

// The phases.
const (
	Pending Phase = 1 + iota
	Running
	Waiting
	Suspended
	Cancelled
	Faulted
	Completed
)

var phaseNames = [...]string{"", "pending", "running", "waiting", "suspended", "cancelled", "faulted", "completed"}

func (p Phase) String() string { return phaseNames[p] }

// ParsePhase is the inverse of String.
func ParsePhase(name string) (Phase, bool) {
	for p := Pending; p <= Completed; p++ {
		if phaseNames[p] == name {
			return p, true
		}
	}
	return 0, false
}

// BatchStatus is the batch status of the HTTP contract: a closed list.
type BatchStatus uint8

// The batch statuses.
const (
	BatchPending BatchStatus = 1 + iota
	BatchRunning
	BatchCompleted
	BatchFailed
)

var batchStatusNames = [...]string{"", "pending", "running", "completed", "failed"}

func (s BatchStatus) String() string { return batchStatusNames[s] }

// ParseBatchStatus is the inverse of String.
func ParseBatchStatus(name string) (BatchStatus, bool) {
	for s := BatchPending; s <= BatchFailed; s++ {
		if batchStatusNames[s] == name {
			return s, true
		}
	}
	return 0, false
}

// Final reports whether s never changes again.
func (s BatchStatus) Final() bool { return s == BatchCompleted || s == BatchFailed }

// APIPath is the path prefix of version 1 of the interface.
const APIPath = "/api/v1"
