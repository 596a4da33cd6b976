package grpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// answers are the codes as google/rpc/code.proto names and maps them to HTTP.
var answers = map[codes.Code]struct {
	name   string
	status int
}{
	codes.Canceled:           {"CANCELLED", 499},
	codes.Unknown:            {"UNKNOWN", http.StatusInternalServerError},
	codes.InvalidArgument:    {"INVALID_ARGUMENT", http.StatusBadRequest},
	codes.DeadlineExceeded:   {"DEADLINE_EXCEEDED", http.StatusGatewayTimeout},
	codes.NotFound:           {"NOT_FOUND", http.StatusNotFound},
	codes.AlreadyExists:      {"ALREADY_EXISTS", http.StatusConflict},
	codes.PermissionDenied:   {"PERMISSION_DENIED", http.StatusForbidden},
	codes.ResourceExhausted:  {"RESOURCE_EXHAUSTED", http.StatusTooManyRequests},
	codes.FailedPrecondition: {"FAILED_PRECONDITION", http.StatusBadRequest},
	codes.Aborted:            {"ABORTED", http.StatusConflict},
	codes.OutOfRange:         {"OUT_OF_RANGE", http.StatusBadRequest},
	codes.Unimplemented:      {"UNIMPLEMENTED", http.StatusNotImplemented},
	codes.Internal:           {"INTERNAL", http.StatusInternalServerError},
	codes.Unavailable:        {"UNAVAILABLE", http.StatusServiceUnavailable},
	codes.DataLoss:           {"DATA_LOSS", http.StatusInternalServerError},
	codes.Unauthenticated:    {"UNAUTHENTICATED", http.StatusUnauthorized},
}

// limitError is a limit of ours that an answer ran into.
type limitError string

func (e limitError) Error() string { return string(e) }

// tooLarge is how the library's own message about a message over the limit begins.
const tooLarge = "grpc: received message"

// fault tells why a call failed.
func (i *invocation) fault(ctx context.Context, conn *conn, err error) *machine.Fault {
	where := i.where()
	var limit limitError
	if errors.As(err, &limit) {
		f := communication(http.StatusInternalServerError, where+": "+limit.Error())
		f.Retryable = false
		return f
	}
	if refused := conn.refused(); refused != nil && status.Code(err) == codes.Unavailable {
		f := communication(http.StatusInternalServerError,
			where+": the address is private and refused by the egress rules; an operator can allow it with --allow-egress")
		f.Code, f.Retryable = "egress_refused", false
		return f
	}
	if outOfTime(ctx, err) {
		f := communication(http.StatusGatewayTimeout, fmt.Sprintf("%s: DEADLINE_EXCEEDED: no complete answer within %s", where, i.cfg.Timeout))
		f.Retryable = true
		return f
	}
	answer := status.Convert(err)
	if answer.Code() == codes.ResourceExhausted && strings.HasPrefix(answer.Message(), tooLarge) {
		f := communication(http.StatusInternalServerError,
			fmt.Sprintf("%s answered a message of more than %d bytes, the limit of a response", where, i.cfg.MessageBytes))
		f.Retryable = false
		return f
	}
	known, ok := answers[answer.Code()]
	if !ok {
		known.name, known.status = fmt.Sprintf("code %d", answer.Code()), http.StatusInternalServerError
	}
	f := communication(known.status, fmt.Sprintf("%s: %s: %s", where, known.name, excerpt.Clip(answer.Message(), clipBytes)))
	f.Retryable = retryable[answer.Code()]
	return f
}

// retryable are the codes after which the same call may succeed.
var retryable = map[codes.Code]bool{
	codes.Unavailable: true, codes.ResourceExhausted: true, codes.Aborted: true, codes.DeadlineExceeded: true,
	codes.Internal: true, codes.Unknown: true,
}

func isRefused(err error) bool { return errors.Is(err, egress.ErrRefused) }

func communication(code int, detail string) *machine.Fault {
	title := http.StatusText(code)
	if title == "" {
		title = "Call failed"
	}
	return &machine.Fault{Type: machine.ErrCommunication, Status: code, Title: title, Detail: detail}
}

func configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Call cannot be made", Detail: detail}
}

func validation(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrValidation, Status: 400, Title: "Arguments do not fit the method", Detail: detail}
}

const clipBytes = 2 << 10

// outOfTime reports whether the time of the call is up. The other side knows the deadline too, and its
// clock may be a moment ahead: then its answer is here before the context ends.
func outOfTime(ctx context.Context, err error) bool {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return true
	}
	deadline, bounded := ctx.Deadline()
	return bounded && status.Code(err) == codes.DeadlineExceeded && time.Until(deadline) < 20*time.Millisecond
}
