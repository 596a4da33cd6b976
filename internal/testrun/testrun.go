package testrun

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/plan"
)

// Config says what is run, and how.
type Config struct {
	// ReadFile reads test files, definitions, fixtures and snapshots; nil: ReadFile.
	ReadFile func(path string) ([]byte, error)
	// Resource reads an external resource of a definition; nil: there are none.
	Resource func(ctx context.Context, w plan.Wanted) ([]byte, error)
	// CheckProto is plan.Options.CheckProto.
	CheckProto func(proto []byte, service, method string) error
	// Real runs activities for mocks that say `real`. An error says why it must not.
	Real func(c activity.Call) (activity.Runner, error)

	// StreamTime bounds a stream that runs for real; 0: DefaultStreamTime.
	StreamTime time.Duration

	Version string         // $runtime.version
	Filter  *regexp.Regexp // only tests whose "file: name" matches; nil: all
	Jobs    int            // tests at a time; 0: as many as there are processors
	Last    bool           // what happens at the same time, happens in the reverse order
	Crash   bool           // each test runs again, restored before every event: the result must be the same
	Strict  bool           // unused mocks and steps are errors in all tests
	// Examples answers tasks without a mock by an example of what they declare: the answers of OpenAPI documents, the
	// forms of human tasks, the schemas of outputs. A warning of the test says so.
	Examples bool
	Update   bool // snapshots are written as they are
	CI       bool // `only` and missing snapshots are failures
	Partial  bool // tests that have not ended with the context are Broken, and the others are reported
}

// Runner runs tests. It keeps compiled definitions, so it is for one state of the files. Its methods are not for
// concurrent use.
type Runner struct {
	Config

	mu       sync.Mutex // guards compiled
	compiled map[string]compiled
}

// New returns a runner.
func New(c Config) *Runner {
	if c.ReadFile == nil {
		c.ReadFile = ReadFile
	}
	if c.StreamTime <= 0 {
		c.StreamTime = DefaultStreamTime
	}
	if c.Jobs <= 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	return &Runner{Config: c, compiled: map[string]compiled{}}
}

// Run runs the tests of files. An error is that of ctx.
func (r *Runner) Run(ctx context.Context, paths []string) (*Report, error) {
	began := time.Now()
	report := &Report{}
	suites := make([]*suite, len(paths))
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		suites[i] = r.load(ctx, path)
		report.Files = append(report.Files, suites[i].result)
	}
	report.Only = r.choose(suites)
	covered := &coverage{}
	r.runAll(ctx, suites, covered)
	if err := ctx.Err(); err != nil && !r.Partial {
		return nil, err
	}
	for _, s := range suites {
		s.finish()
		s.result.count(&report.Counts)
	}
	report.Coverage = covered.report(suites)
	report.Took = time.Since(began)
	return report, nil
}

// choose marks the tests that are not run. It reports whether one says `only`.
func (r *Runner) choose(suites []*suite) (only bool) {
	for _, s := range suites {
		for _, t := range s.cases {
			only = only || t.file.Only
		}
	}
	for _, s := range suites {
		if len(s.result.Problems) > 0 {
			s.cases = nil
			continue
		}
		s.cases = slices.DeleteFunc(s.cases, func(t *testCase) bool {
			return r.Filter != nil && !r.Filter.MatchString(s.path+": "+t.file.Name)
		})
		for _, t := range s.cases {
			result := &Test{Name: t.file.Name, At: t.file.At}
			switch {
			case t.file.Skip != nil:
				result.Status, result.Reason = Skipped, t.file.Skip.Reason
			case only && !t.file.Only:
				result.Status, result.Reason = Skipped, "another test says only"
			}
			t.result = result
			s.result.Tests = append(s.result.Tests, result)
		}
	}
	return only
}

// runAll runs the chosen tests, some at a time.
func (r *Runner) runAll(ctx context.Context, suites []*suite, covered *coverage) {
	var open []*testCase
	for _, s := range suites {
		for _, t := range s.cases {
			if t.result.Status == "" {
				open = append(open, t)
			}
		}
	}
	queue := make(chan *testCase)
	var workers sync.WaitGroup
	for range min(r.Jobs, len(open)) {
		workers.Go(func() {
			for t := range queue {
				t.run(ctx, covered)
			}
		})
	}
	for _, t := range open {
		queue <- t
	}
	close(queue)
	workers.Wait()
}

func (f *File) count(c *Counts) {
	if len(f.Problems) > 0 {
		c.WrongFiles++
	}
	for _, t := range f.Tests {
		c.Tests++
		switch t.Status {
		case Passed:
			c.Passed++
		case Failed:
			c.Failed++
		case Broken:
			c.Broken++
		case Skipped:
			c.Skipped++
		}
		f.Took += t.Took
	}
}

// idOf derives an id from the names of a test, so that it is the same in every run.
func idOf[K any](ms int64, names ...string) (id chargehand.ID[K]) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", names))
	copy(id[:], sum[:])
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
