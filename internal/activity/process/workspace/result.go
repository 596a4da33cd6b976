package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// The values of `return` (docs/language/run-shell.md).
const (
	ReturnStdout = "stdout"
	ReturnStderr = "stderr"
	ReturnCode   = "code"
	ReturnAll    = "all"
	ReturnNone   = "none"
)

// Outcome is the result of a process that has ended, from which the output of its task is made.
type Outcome struct {
	Code   int
	Signal string
	Stdout []byte
	Stderr []byte
	Files  []machine.File
	// Value is what a script returned; it replaces stdout if HasValue (T47).
	Value    value.Value
	HasValue bool
}

// Result shapes the outcome as `return` says (T49, T50, T79).
func (o Outcome) Result(mode string) activity.Result {
	if o.Code != 0 && (mode == ReturnStdout || mode == ReturnNone || mode == "") {
		return activity.Result{Fault: o.failed()}
	}
	result := activity.Result{Files: o.Files}
	switch mode {
	case ReturnStdout, "":
		result.Output = o.stdout()
	case ReturnStderr:
		result.Output = Text(o.Stderr)
	case ReturnCode:
		result.Output = o.Code
	case ReturnAll:
		references := make([]any, len(o.Files))
		for i, file := range o.Files {
			references[i] = file.Reference()
		}
		result.Output = map[string]any{"code": o.Code, "stdout": o.stdout(), "stderr": Text(o.Stderr), "files": references}
	case ReturnNone:
	default:
		result.Fault = configurationFault(fmt.Sprintf("return: %q is not one of stdout, stderr, code, all and none", mode))
	}
	return result
}

func (o Outcome) stdout() value.Value {
	if o.HasValue {
		return o.Value
	}
	return Text(o.Stdout)
}

// Text is output as text: trailing line breaks removed (T50), never parsed. What is not UTF-8
// is replaced, because data is Unicode.
func Text(output []byte) string {
	return strings.ToValidUTF8(strings.TrimRight(string(output), "\r\n"), string(utf8.RuneError))
}

// tailBytes is how much of stderr a fault shows.
const tailBytes = 2 << 10

func (o Outcome) failed() *machine.Fault {
	detail := fmt.Sprintf("the process ended with exit code %d", o.Code)
	if o.Signal != "" {
		detail = fmt.Sprintf("the process was ended by %s (exit code %d)%s", o.Signal, o.Code, signalHints[o.Signal])
	}
	if tail := Tail(o.Stderr); tail != "" {
		detail += "; stderr: " + tail
	}
	return runtimeFault("Process failed", detail)
}

// signalHints tell which limit a signal stands for.
var signalHints = map[string]string{
	"SIGXFSZ": " because a file became larger than is allowed",
	"SIGXCPU": " because it used more CPU time than is allowed",
	"SIGKILL": ", perhaps for lack of memory",
}

// Tail is the end of a stream for a message.
func Tail(stream []byte) string {
	text := Text(stream)
	if len(text) <= tailBytes {
		return text
	}
	return "… " + strings.ToValidUTF8(text[len(text)-tailBytes:], "")
}

// RunFault is the fault of a process that did not run to its end, from the error of
// process.Confiner.Run.
func RunFault(log *slog.Logger, err error, stderr []byte) *machine.Fault {
	var limit *process.LimitError
	var start *process.StartError
	switch {
	case errors.As(err, &limit):
		detail := limit.Error()
		if tail := Tail(stderr); tail != "" && limit.Limit != process.LimitOutput {
			detail += "; stderr: " + tail
		}
		if limit.Limit == process.LimitTime {
			return &machine.Fault{Type: machine.ErrTimeout, Status: 408, Title: "Process took too long", Detail: detail}
		}
		return runtimeFault("Process exceeded a limit", detail)
	case errors.As(err, &start):
		return configurationFault("the process cannot be started: " + start.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return runtimeFault("Process was stopped", "the process was stopped before it ended")
	}
	return internalFault(log, err)
}

func runtimeFault(title, detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: title, Detail: detail}
}

func validationFault(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrValidation, Status: 400, Title: "Process cannot be given its values", Detail: detail}
}

func configurationFault(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Process cannot be run", Detail: detail}
}

// internalFault is for what the installation must mend; the same may work later. The author
// learns nothing of the server's folders.
func internalFault(log *slog.Logger, err error) *machine.Fault {
	detail := "the server could not run the process; its log tells why"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		detail = "the server could not run the process: its disk is full"
	}
	log.Error("run process", "error", err)
	return &machine.Fault{
		Type: machine.ErrRuntime, Status: 500, Title: "Process could not be run", Detail: detail,
		System: true, Retryable: true,
	}
}
