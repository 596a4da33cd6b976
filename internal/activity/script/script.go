package script

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

// Config wires a Runner. Confiner and Resources are required; Files is where Python is allowed.
type Config struct {
	Confiner *process.Confiner
	Files    activity.Files
	// Resources reads the sources that are not part of a definition.
	Resources *resource.Cache
	// Python allows scripts in Python. JavaScript is always allowed.
	Python bool
	Limits Limits
	// Log takes the lines of the function log of the default catalog; nil: nothing does.
	Log *slog.Logger
}

// Runner runs scripts. It is safe for concurrent use. Close it when no run is left.
type Runner struct {
	cfg    Config
	js     *pool
	python *python
}

// New returns a Runner. It starts no process: workers come with the first script.
func New(cfg Config) *Runner {
	cfg.Limits = cfg.Limits.orDefault()
	return &Runner{cfg: cfg, js: newPool(cfg.Confiner, cfg.Limits), python: newPython(cfg.Confiner)}
}

// Close ends the workers that wait for work.
func (r *Runner) Close() { r.js.close() }

// Run implements activity.Runner for the kind "script".
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	args, _ := call.Args.(map[string]any)
	language, _ := args["language"].(string)
	switch language {
	case "js", "javascript":
	case "python":
		if !r.cfg.Python {
			return fault("run.script in python is not allowed on this server; its operator can allow it (--allow-run python)")
		}
	default:
		return fault(fmt.Sprintf("the script language %q is not supported: use js or python", language))
	}
	code, f := r.code(ctx, call, args)
	if f != nil {
		return activity.Result{Fault: f}
	}
	if language == "python" {
		return r.runPython(ctx, call, args, code)
	}
	workflow, logs := args["serverLog"].(string)
	output := outputLog{call.Log}
	if logs { // what it writes is the line that the log gets
		output.log = nil
	}
	result := r.runJavaScript(ctx, args, code, output)
	if logs && result.Fault == nil {
		r.log(ctx, call, workflow, args, result.Output)
	}
	return result
}

// maxLogBytes bounds a line that a workflow writes to the log of the server.
const maxLogBytes = 4 << 10

// log writes what the function log gives to the log of the execution, and to that of the server. There, its text is
// data: it goes into one attribute, without secrets and shortened.
func (r *Runner) log(ctx context.Context, call activity.Call, workflow string, args map[string]any, line value.Value) {
	arguments, _ := args["arguments"].(map[string]any)
	entry, _ := arguments["entry"].(map[string]any)
	level, _ := entry["level"].(string)
	text, _ := line.(string)
	if call.Log != nil {
		call.Log.Line(executionLevels[level], text)
	}
	if r.cfg.Log == nil {
		return
	}
	if call.Redact != nil {
		text = call.Redact(text)
	}
	if len(text) > maxLogBytes {
		text = strings.ToValidUTF8(text[:maxLogBytes], "") + "…"
	}
	r.cfg.Log.Log(ctx, logLevels[level], "a workflow logs", "level_of_workflow", strings.ToLower(level), "text", text,
		"execution", call.Execution, "workflow", workflow, "task", call.Reference)
}

// logLevels are the levels of the function log in those of the server's log.
var logLevels = map[string]slog.Level{
	"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFORMATION": slog.LevelInfo,
	"WARNING": slog.LevelWarn, "ERROR": slog.LevelError, "CRITICAL": slog.LevelError,
}

// executionLevels are the same in the log of the execution.
var executionLevels = map[string]chargehand.LogLevel{
	"TRACE": chargehand.LogTrace, "DEBUG": chargehand.LogDebug, "INFORMATION": chargehand.LogInfo,
	"WARNING": chargehand.LogWarning, "ERROR": chargehand.LogError, "CRITICAL": chargehand.LogCritical,
}

func fault(detail string) activity.Result {
	return activity.Result{Fault: &machine.Fault{
		Type: machine.ErrConfiguration, Status: 400, Title: "Script cannot be run", Detail: detail,
	}}
}
