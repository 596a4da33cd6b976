package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Class says which bound of a server an activity counts against.
type Class uint8

const (
	// OutgoingCall ends within a minute or so.
	OutgoingCall Class = iota
	// Stream is a subscription. It may stay open for days, and must not keep calls from their places.
	Stream
	// Process runs on the server's own machine.
	Process
	// Script is JavaScript, which every author may run: it must not keep processes from their places.
	Script
)

// ClassOf returns the class of a RunActivity command.
func ClassOf(c *machine.Command) Class {
	switch c.Activity {
	case "shell", "container":
		return Process
	case "script":
		if args, _ := c.Args.(map[string]any); args["language"] == "python" {
			return Process
		}
		return Script
	case "mcp": // a server of tools is a process here, unless it is reached over HTTP
		if with, _ := c.Args.(map[string]any); with["stdio"] != nil {
			return Process
		}
	}
	if c.Stream {
		return Stream
	}
	return OutgoingCall
}

// RunActivity runs an activity by the runner of its kind. Without a runner, and after a panic in it, the outcome is a
// fault of the task.
func RunActivity(
	ctx context.Context, log *slog.Logger, runners map[string]activity.Runner, c activity.Call,
) (result activity.Result) {
	runner := runners[c.Kind]
	if runner == nil {
		return activity.Result{Fault: kindFault(c.Kind)}
	}
	defer func() {
		if v := recover(); v != nil {
			said := fmt.Sprint(v)
			if c.Redact != nil {
				said = c.Redact(said)
			}
			log.Error("an activity panicked", "kind", c.Kind, "execution", c.Execution, "task", c.Reference,
				"panic", said, "stack", string(debug.Stack()))
			const detail = "An internal error ended this task. The log of the server tells more."
			result = activity.Result{Fault: SystemFault(CodeInternal, detail)}
		}
	}()
	return runner.Run(ctx, c)
}

// BoundOutcome makes an outcome a fault whose output takes more than limit bytes as JSON.
func BoundOutcome(r *activity.Result, limit int) {
	if size := value.Size(r.Output); r.Fault == nil && size > limit {
		*r = activity.Result{Fault: outputFault(size, limit), Document: r.Document}
	}
}

// ErrWithdrawn tells a stream that its messages are no longer wanted.
var ErrWithdrawn = errors.New("the activity was withdrawn")

// CheckMessage refuses a message of a stream that takes more than limit bytes as JSON.
func CheckMessage(v value.Value, limit int) error {
	if size := value.Size(v); size > limit {
		return fmt.Errorf("what the activity hands over takes %d bytes, more than the limit of %d", size, limit)
	}
	return nil
}

// LogDetached logs how a detached process ended (T67); f is nil if it completed. What
// it says stays out of the log: it may be secret.
func LogDetached(log *slog.Logger, execution chargehand.ExecutionID, reference string, f *machine.Fault) {
	if f != nil {
		log.Warn("a detached process has failed", "execution", execution, "task", reference,
			"type", f.Type, "status", f.Status)
		return
	}
	log.Info("a detached process has ended", "execution", execution, "task", reference)
}
