package script_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
)

// TestFunctionLogReachesTheServersLog runs what the function log of the default catalog compiles to.
func TestFunctionLogReachesTheServersLog(t *testing.T) {
	var lines bytes.Buffer
	confiner, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := script.New(script.Config{Confiner: confiner, Files: noFiles{}, Log: slog.New(slog.NewTextHandler(&lines, nil))})
	t.Cleanup(r.Close)
	call := func(level, code string, more object) {
		args := object{"language": "js", "code": code, "return": "stdout", "serverLog": "shop/order", "arguments": object{"entry": object{"level": level}}}
		for name, value := range more {
			args[name] = value
		}
		result := r.Run(t.Context(), activity.Call{Args: args, Reference: "/do/0/tell",
			Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted]") }})
		if result.Fault != nil {
			t.Fatal(result.Fault)
		}
	}
	call("WARNING", `console.log("token s3cret\nlevel=ERROR")`, nil)
	call("DEBUG", `console.log("not shown")`, nil)
	call("CRITICAL", `console.log("x".repeat(100000))`, nil)
	call("ERROR", `console.log("no function log")`, object{"serverLog": nil})
	text := lines.String()
	for _, want := range []string{`level=WARN msg="a workflow logs" level_of_workflow=warning text="token [redacted]\nlevel=ERROR"`, "workflow=shop/order task=/do/0/tell", "level=ERROR"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s:\n%.500s", want, text)
		}
	}
	if strings.Count(text, "\n") != 2 || strings.Contains(text, "not shown") || strings.Contains(text, "no function log") || len(text) > 6000 {
		t.Errorf("the log is %.500s", text)
	}
}
