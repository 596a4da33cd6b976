package resource

import (
	"fmt"
	"net/http"

	"github.com/chargehand/chargehand/internal/machine"
)

// Error says why a resource cannot be had.
type Error struct {
	URI    string // without user, query and fragment
	Reason string
	// Transient says that the same again may succeed: the server does not answer or is busy.
	Transient bool

	kind   string // of the fault
	status int
	code   string
}

// Error is text for the author of the definition; it holds no secret.
func (e *Error) Error() string {
	return fmt.Sprintf("the resource %s cannot be read: %s", e.URI, e.Reason)
}

// Fault is the error for a task that needs the resource: a configuration error 400 where the
// address makes no sense or is not allowed, an authentication error 401 where no token could
// be had (T81), and else a communication error with the status of the answer, or 500.
func (e *Error) Fault() *machine.Fault {
	return &machine.Fault{
		Type: e.kind, Status: e.status, Title: "Resource cannot be read", Detail: e.Error(),
		Code: e.code, Retryable: e.Transient,
	}
}

func misconfigured(uri, reason string) *Error {
	return &Error{URI: uri, Reason: reason, kind: machine.ErrConfiguration, status: http.StatusBadRequest}
}

func unreachable(uri, reason string, transient bool) *Error {
	return &Error{URI: uri, Reason: reason, Transient: transient, kind: machine.ErrCommunication, status: http.StatusInternalServerError}
}

// unauthenticated keeps type, status and code of a fault of package credential.
func unauthenticated(uri string, f *machine.Fault) *Error {
	return &Error{URI: uri, Reason: f.Detail, Transient: f.Retryable, kind: f.Type, status: f.Status, code: f.Code}
}

const maxShownBytes = 300
