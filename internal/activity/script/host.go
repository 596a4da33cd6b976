package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/quickjs"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// The four functions that the prelude is given, and the modules. They are called on the
// goroutine of the VM.

// errStopped is thrown into a script that is being interrupted anyway.
var errStopped = errors.New("stopped")

// write takes a descriptor, 1 or 2, and a text.
func (e *engine) write(args []any) (any, error) {
	if len(args) != 2 || e.stopped {
		return nil, errStopped
	}
	chunk, _ := args[1].(string)
	e.written += int64(len(chunk))
	if e.written > e.request.OutputBytes {
		e.hit(process.LimitOutput)
		e.vm.Interrupt()
		return nil, errStopped
	}
	e.live.write(milliseconds(args[0]) == 2, chunk)
	if milliseconds(args[0]) == 2 {
		e.answer.Stderr = append(e.answer.Stderr, chunk...)
	} else {
		e.answer.Stdout = append(e.answer.Stdout, chunk...)
	}
	return nil, nil
}

// exit takes an exit code. The prelude turns in a circle afterwards, and is interrupted.
func (e *engine) exit(args []any) (any, error) {
	if !e.stopped {
		e.answer.Code = exitCode(args)
		e.stopped = true
	}
	e.vm.Interrupt()
	return nil, nil
}

// resolve gets how the script ended: 0, the returned value as JSON or undefined, and the
// exit code; or 1 and a message.
func (e *engine) resolve(args []any) (any, error) {
	if e.stopped || len(args) < 2 {
		return nil, nil
	}
	text, isText := args[1].(string)
	if exitCode(args) != 0 {
		e.uncaught(text)
		return nil, nil
	}
	e.resolved = true
	e.answer.Value, e.answer.HasValue = text, isText
	e.answer.Code = exitCode(args[2:])
	return nil, nil
}

// uncaught ends the script with an error that it did not catch, unless a limit is behind it.
func (e *engine) uncaught(message string) {
	switch {
	case !time.Now().Before(e.deadline):
		e.hit(process.LimitTime)
	case strings.HasPrefix(message, "InternalError: out of memory"),
		// Without the memory for an error, the engine throws null.
		message == "Uncaught null" && e.starved():
		e.hit(process.LimitMemory)
	default:
		e.answer.Threw = true
		e.fail(1, message)
	}
}

// now is the time since the run began in milliseconds.
func (e *engine) now([]any) (any, error) {
	return float64(time.Since(e.begin)) / float64(time.Millisecond), nil
}

// exitCode is the first argument as the low byte of an exit code.
func exitCode(args []any) int {
	if len(args) == 0 {
		return 0
	}
	if code := milliseconds(args[0]); code == float64(int(code)) {
		return int(code) & 0xff
	}
	return 1
}

// moduleSources are the modules that scripts can import, besides the script itself.
var moduleSources = map[string]string{
	"fs": `const m = globalThis[Symbol.for("chargehand.modules")].fs;
export default m; export const { readFileSync, writeFileSync, writeSync } = m;`,
	"process": `const m = globalThis[Symbol.for("chargehand.modules")].process;
export default m; export const { argv, env, exit, stdin, stdout, stderr } = m;`,
}

// loadModule gives the source of a module. The script itself is one if it imports or exports.
func (e *engine) loadModule(_ *quickjs.VM, name string) (string, error) {
	if name == "script.js" {
		return e.request.Code, nil
	}
	if source, ok := moduleSources[strings.TrimPrefix(name, "node:")]; ok {
		return source, nil
	}
	return "", fmt.Errorf("there is no module %q: scripts have fs (stdin only) and process", name)
}
