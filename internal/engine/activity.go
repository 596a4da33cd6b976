package engine

import (
	"log/slog"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
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

// LogDetached logs how a detached process ended (T67); f is nil if it completed. What
// it says stays out of the log: it may be secret.
func LogDetached(log *slog.Logger, execution chargehand.ExecutionID, reference string, f *machine.Fault) {
	if f != nil {
		log.Warn("a detached process has failed", "execution", execution, "task", reference, "type", f.Type, "status", f.Status)
		return
	}
	log.Info("a detached process has ended", "execution", execution, "task", reference)
}
