package testrecord

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
)

// File is a test file and what came of it.
type File struct {
	Text []byte
	// Problems say what keeps the test from being run, such as an external resource of the definition.
	Problems []testrun.Problem
	Test     *testrun.Test // nil: it was not run
	// Coverage is of the definition; nil: the test was not run.
	Coverage []*testrun.Coverage
}

// Passed reports whether the execution that was run again came to the same.
func (f *File) Passed() bool { return f.Test != nil && f.Test.Status == testrun.Passed }

// Compile compiles the definition of a recording, whatever it may run. It is nil where an external resource is needed.
func Compile(source []byte) *plan.Plan {
	doc, problems := dsl.Parse(source)
	if problems.HasErrors() {
		return nil
	}
	return plan.Check(doc, nil, plan.Options{Run: plan.AnyRun()}).Plan
}

// NoFiles reads no file: it is for recordings without contents of files.
func NoFiles(path string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// Record writes the test file of a recording and runs it. read reads the files in o.Files by their paths, each when the
// test needs it. What persons have answered is written by the rules of forms if the test passes so, else as it came.
func Record(ctx context.Context, g *client.Recording, o Options, read func(path string) ([]byte, error)) (*File, error) {
	p := Compile(o.Source)
	o.ElapsedMs, o.Answers, o.own = -1, true, ownEvents(ctx, g, o.Source)
	f, err := write(ctx, g, p, o, read)
	if err == nil && f.Test != nil && !f.Passed() {
		o.Answers = false
		if f, err = write(ctx, g, p, o, read); err == nil && !f.Passed() {
			return f, nil
		}
	}
	if err != nil || f.Test == nil {
		return f, err
	}
	o.ElapsedMs = f.Test.ElapsedMs
	return write(ctx, g, p, o, read)
}

// ownEvents are the keys of the events that an execution has published itself. Their ids follow from that of the
// execution, so another run of its definition under this id publishes them again. nil: the definition cannot be run.
func ownEvents(ctx context.Context, g *client.Recording, source []byte) map[string]bool {
	of, err := revise(Definition{Text: source})
	if err != nil {
		return nil
	}
	r, err := play(ctx, g, of, source)
	if err != nil {
		return nil // Record says whatever is wrong with ctx or the recording
	}
	own := map[string]bool{}
	for _, envelope := range r.published {
		own[eventKey(envelope)] = true
	}
	return own
}

func write(ctx context.Context, g *client.Recording, p *plan.Plan, o Options, read func(path string) ([]byte, error)) (*File, error) {
	text, err := Write(g, p, o)
	if err != nil {
		return nil, err
	}
	return Run(ctx, text, o.Workflow, o.Source, read)
}

// Run runs a test file over a definition. Every other file, but for that of snapshots, comes from read.
func Run(ctx context.Context, text []byte, workflow string, source []byte, read func(path string) ([]byte, error)) (*File, error) {
	const name = "recorded" + testrun.Suffix
	report, err := testrun.New(testrun.Config{Jobs: 1, ReadFile: func(path string) ([]byte, error) {
		switch clean := filepath.Clean(path); clean {
		case name:
			return text, nil
		case filepath.Clean(workflow):
			return source, nil
		case "recorded.snap.yaml":
			return NoFiles(path)
		default:
			return read(clean)
		}
	}}).Run(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	f := &File{Text: text, Problems: report.Files[0].Problems, Coverage: report.Coverage}
	if len(report.Files[0].Tests) > 0 {
		f.Test = report.Files[0].Tests[0]
	}
	return f, nil
}
