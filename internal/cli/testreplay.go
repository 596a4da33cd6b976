package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrecord"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// testReplay is `chargehand test --replay`.
type testReplay struct {
	connection
	execution  string // an id, or a file with a recording
	definition string // path of the new revision
	recorded   string // path of the recorded one
}

// replayFlags are the flags that go with --replay.
var replayFlags = []string{"replay", "definition", "recorded-definition", "url", "context", "environment"}

func (r *testReplay) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.execution, "replay", "", "an execution that has ended, or a file with its recording, whose answers --definition gets")
	f.StringVar(&r.definition, "definition", "", "with --replay: the new revision of its workflow")
	f.StringVar(&r.recorded, "recorded-definition", "", "with --replay: the definition that was recorded (default: asked from the server)")
	r.registerServer(cmd)
}

// asked reports whether this is a replay.
func (r *testReplay) asked(cmd *cobra.Command) bool {
	return slices.ContainsFunc(replayFlags, func(name string) bool { return cmd.Flags().Changed(name) })
}

func (r *testReplay) run(cmd *cobra.Command, args []string, output string) error {
	if err := r.check(cmd, args); err != nil {
		return err
	}
	changed, err := testrun.ReadFile(r.definition)
	if err != nil {
		return usage("--definition: %w", unreadable(err))
	}
	recording, recorded, err := r.read(cmd.Context())
	if err != nil {
		return explain(err)
	}
	result, err := testrecord.Replay(cmd.Context(), recording, recorded, testrecord.Definition{Name: r.definition, Text: changed})
	var wrong *testrecord.DefinitionError
	if errors.As(err, &wrong) {
		for _, p := range wrong.Problems {
			fmt.Fprintf(r.err, "%s: %s\n", problemAt(p), printable(p.Detail))
		}
		return &exitError{code: ExitUsage}
	}
	if err != nil {
		return err
	}
	if output == formatJSON {
		err = printJSON(r.out, replayView(recording, result))
	} else {
		r.print(recording, recorded.Name, result)
	}
	if err == nil && result.Divergence != nil {
		err = &exitError{code: ExitFailed}
	}
	return err
}

// check reads the flags.
func (r *testReplay) check(cmd *cobra.Command, args []string) error {
	switch {
	case r.execution == "":
		return usage("--replay is missing: name the execution whose answers the definition gets")
	case r.definition == "":
		return usage("--definition is missing: name the file of the new revision")
	case len(args) > 0:
		return usage("--replay runs no tests: leave out %s", strings.Join(args, " "))
	}
	other := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "output" && !slices.Contains(replayFlags, f.Name) {
			other = f.Name
		}
	})
	if other != "" {
		return usage("--replay runs no tests: leave out --%s", other)
	}
	return nil
}

// read reads the recording, and the definition that was recorded.
func (r *testReplay) read(ctx context.Context) (*client.Recording, testrecord.Definition, error) {
	recorded := testrecord.Definition{Name: r.recorded}
	if r.recorded != "" {
		text, err := testrun.ReadFile(r.recorded)
		if err != nil {
			return nil, recorded, usage("--recorded-definition: %w", unreadable(err))
		}
		recorded.Text = text
	}
	recording := &client.Recording{}
	text, err := testrun.ReadFile(r.execution)
	switch {
	case err == nil:
		if err := json.Unmarshal(text, recording); err != nil || recording.ExecutionID == "" || recording.StartedAt == nil {
			return nil, recorded, usage("%s is no recording, as GET /executions/ID/recording answers it", r.execution)
		}
		if recorded.Text == nil {
			return nil, recorded, usage("--recorded-definition is missing: a file holds the recording, and not the definition that was recorded")
		}
		return recording, recorded, nil
	case !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(r.execution, `./\`):
		return nil, recorded, usage("--replay: %w", unreadable(err))
	}
	api, err := r.client()
	if err != nil {
		return nil, recorded, err
	}
	e, err := findExecution(ctx, api, r.execution)
	if err != nil {
		return nil, recorded, err
	}
	if recording, err = api.Recording(ctx, e.WorkflowID, e.ID); err != nil || recorded.Text != nil {
		return recording, recorded, err
	}
	version, err := api.GetVersion(ctx, e.WorkflowID, recording.WorkflowVersion, int(recording.Revision))
	if err != nil {
		return nil, recorded, err
	}
	recorded.Name, recorded.Text = "recorded", []byte(version.Source)
	return recording, recorded, nil
}

func (r *testReplay) print(g *client.Recording, recorded string, result *testrecord.Replayed) {
	for _, line := range result.Unfaithful {
		fmt.Fprintf(r.err, "The recorded definition itself comes to something else now: %s\n", printable(line))
	}
	for _, one := range result.Renamed {
		fmt.Fprintf(r.out, "renamed: %s is %s now\n", shownLocation(recorded, &one.Was), shownLocation(r.definition, &one.Now))
	}
	about := fmt.Sprintf("execution %s of %s %s, revision %d", g.ExecutionID, g.WorkflowName, g.WorkflowVersion, g.Revision)
	d := result.Divergence
	if d == nil {
		fmt.Fprintf(r.out, "%s decides as the %s did: %s compared\n", printable(r.definition), printable(about), counted(result.Decisions, "decision"))
		return
	}
	fmt.Fprintf(r.out, "%s decides otherwise than the %s did, after %s and %s that are the same\n", printable(r.definition), printable(about),
		testrun.Span(d.AtMs), counted(result.Decisions, "decision"))
	fmt.Fprintf(r.out, "  %s\n  recorded: %s\n  now:      %s\n", printable(d.Detail), shownLocation(recorded, d.Was), shownLocation(r.definition, d.Now))
	if c := d.Decision; c != nil {
		fmt.Fprintf(r.out, "  because of\n  recorded: %s: %s\n  now:      %s: %s\n", shownLocation(recorded, c.Was), shownWay(c.WasWay), shownLocation(r.definition, c.Now), shownWay(c.NowWay))
	}
	if d.HasExpected || d.HasGot {
		if d.Where != "" {
			fmt.Fprintf(r.out, "  at %s\n", printable(d.Where))
		}
		fmt.Fprintf(r.out, "    - %s\n    + %s\n", recordedValue(d.Expected, d.HasExpected), recordedValue(d.Got, d.HasGot))
	}
}

func shownWay(way string) string {
	if way == "" {
		return "nothing to choose"
	}
	return printable(way)
}

// shownLocation is FILE:LINE:COLUMN and the task.
func shownLocation(file string, p *testrecord.Location) string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s:%d:%d %s (%s)", printable(file), p.Line, p.Column, printable(p.Task), printable(p.Reference))
}

// replayView is a replay as -o json prints it.
func replayView(g *client.Recording, result *testrecord.Replayed) any {
	renamed := []any{}
	for _, one := range result.Renamed {
		renamed = append(renamed, map[string]any{"recorded": locationView(&one.Was), "now": locationView(&one.Now)})
	}
	view := map[string]any{
		"execution_id": g.ExecutionID, "workflow": g.WorkflowName, "same": result.Divergence == nil, "decisions": result.Decisions,
		"renamed": renamed, "unfaithful": append([]string{}, result.Unfaithful...),
	}
	d := result.Divergence
	if d == nil {
		return view
	}
	one := map[string]any{"kind": d.Kind, "at_ms": d.AtMs, "detail": d.Detail, "recorded": locationView(d.Was), "now": locationView(d.Now)}
	if d.HasExpected || d.HasGot {
		one["pointer"] = d.Where
	}
	if d.HasExpected {
		one["expected"] = json.RawMessage(value.Marshal(d.Expected))
	}
	if d.HasGot {
		one["got"] = json.RawMessage(value.Marshal(d.Got))
	}
	if c := d.Decision; c != nil {
		one["decision"] = map[string]any{"recorded": locationView(c.Was), "recorded_way": c.WasWay, "now": locationView(c.Now), "now_way": c.NowWay}
	}
	view["divergence"] = one
	return view
}

func locationView(p *testrecord.Location) any {
	if p == nil {
		return nil
	}
	return map[string]any{"task": p.Task, "reference": p.Reference, "line": p.Line, "column": p.Column}
}
