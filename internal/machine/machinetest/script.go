package machinetest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Script is a workflow, the world around it, and what must come out.
type Script struct {
	Name       string
	Definition string              // what follows the `document` of a definition, as YAML
	Input      string              // JSON; "" is {}
	Answers    map[string][]Answer // by the name of the task; the last one repeats
	Cancel     bool                // is cancelled once an activity hangs
	Before     []string            // events, as JSON, that are stored before the start
	Events     []string            // events that are stored once the execution waits
	Children   map[string]string   // other workflows of the namespace suite, by name: what follows their `document`
	Want       Want
}

// Answer is the outcome of one run of an activity.
type Answer struct {
	Output string // JSON; "" is null
	Files  []machine.File
	Fault  *machine.Fault
	Hang   bool // runs until it is stopped

	Events   []string // events, as JSON, that are stored before the run ends
	Messages []string // values, as JSON, that a stream hands over before its outcome, or before it hangs
}

// Want says how an execution must end.
type Want struct {
	Phase  chargehand.Phase // zero: Completed
	Output string           // JSON, compared by value
	Fault  *machine.Fault   // what is set in it is compared
	Order  []string         // names of tasks in the order of their start; nil: any
	Runs   map[string]int   // runs of activities by the name of the task; nil: any
	Files  []string         // names of the result files
	Events int              // published events
}

// Result is how an execution ended.
type Result struct {
	Phase     chargehand.Phase
	Output    value.Value
	Fault     *machine.Fault
	Files     []machine.File
	Timeline  []machine.Record
	Published []value.Value
}

// Runner runs one execution from start to end.
type Runner interface {
	Run(t *testing.T, p *plan.Plan, input value.Value, w *Fixture) Result
}

// Fixture answers the activities of one execution. It is safe for concurrent use.
type Fixture struct {
	Cancel bool     // the runner must cancel the execution as soon as an activity hangs
	Before []string // events to store before the start
	Events []string // events to store once the execution waits, all at once and in this order
	// Children are the workflows that may be started, by name: what follows their `document`
	// (ChildHeader). Their activities are answered like those of the execution itself.
	Children map[string]string

	mu      sync.Mutex
	events  int // envelopes that were made
	answers map[string][]Answer
	runs    map[string]int
}

// Answer is the outcome of the next run of the activity of a task.
func (w *Fixture) Answer(reference string) Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := reference[strings.LastIndexByte(reference, '/')+1:]
	run := w.runs[name]
	w.runs[name]++
	answers := w.answers[name]
	if len(answers) == 0 {
		return Answer{}
	}
	return answers[min(run, len(answers)-1)]
}

// Value is the answer's output.
func (a Answer) Value() value.Value {
	if a.Output == "" {
		return nil
	}
	v, err := value.Parse([]byte(a.Output), value.Limits{})
	if err != nil {
		panic("machinetest: " + err.Error()) // a mistake in a script
	}
	return v
}

// Header is the `document` of every script.
const Header = "document: {dsl: 1.0.3, namespace: suite, name: script, version: 1.0.0}\n"

// Compile compiles the definition of a script.
func (s *Script) Compile(t testing.TB) *plan.Plan {
	t.Helper()
	doc, problems := dsl.Parse([]byte(Header + s.Definition))
	if problems.HasErrors() {
		t.Fatalf("definition: %v", problems.Err())
	}
	p, problems := plan.Compile(doc, plan.Options{Run: []string{"shell", "script"}})
	if p == nil {
		t.Fatalf("definition: %v", problems.Err())
	}
	return p
}

// RunEvents runs the scripts that need stored events and streams. start makes a runner for
// one of them.
func RunEvents(t *testing.T, start func(t *testing.T) Runner) {
	for _, s := range EventScripts() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, start(t)) })
	}
}

// Run runs all scripts that need no stored events. start makes a runner for one of them.
func Run(t *testing.T, start func(t *testing.T) Runner) {
	for _, s := range Scripts() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, start(t)) })
	}
}

// Run runs one script and checks what comes out.
func (s *Script) Run(t *testing.T, r Runner) {
	p := s.Compile(t)
	input := Answer{Output: s.Input}.Value()
	if s.Input == "" {
		input = map[string]any{}
	}
	w := &Fixture{Cancel: s.Cancel, Before: s.Before, Events: s.Events, Children: s.Children, answers: s.Answers, runs: map[string]int{}}
	s.check(t, r.Run(t, p, input, w), w)
}

func (s *Script) check(t *testing.T, got Result, w *Fixture) {
	t.Helper()
	want := s.Want
	if want.Phase == 0 {
		want.Phase = chargehand.Completed
	}
	if got.Phase != want.Phase {
		t.Fatalf("it ended %s (%s, fault %+v), want %s", got.Phase, value.Marshal(got.Output), got.Fault, want.Phase)
	}
	if output := (Answer{Output: want.Output}).Value(); !value.Equal(got.Output, output) {
		t.Errorf("output is %s, want %s", value.Marshal(got.Output), value.Marshal(output))
	}
	checkFault(t, got.Fault, want.Fault)
	if want.Order != nil {
		if order := names(got.Timeline); !slices.Equal(order, want.Order) {
			t.Errorf("tasks started in the order %v, want %v", order, want.Order)
		}
	}
	w.mu.Lock() // what was stopped may still be on its way
	defer w.mu.Unlock()
	for name, runs := range want.Runs {
		if w.runs[name] != runs {
			t.Errorf("%s ran %d times, want %d", name, w.runs[name], runs)
		}
	}
	var files []string
	for _, f := range got.Files {
		files = append(files, f.Name)
	}
	if !slices.Equal(files, want.Files) {
		t.Errorf("result files are %v, want %v", files, want.Files)
	}
	if len(got.Published) != want.Events {
		t.Errorf("%d events were published, want %d", len(got.Published), want.Events)
	}
	checkTimeline(t, got)
}

func checkFault(t *testing.T, got, want *machine.Fault) {
	t.Helper()
	switch {
	case want == nil && got == nil:
	case want == nil || got == nil:
		t.Errorf("fault is %+v, want %+v", got, want)
	case want.Type != "" && got.Type != want.Type, want.Status != 0 && got.Status != want.Status,
		want.Title != "" && got.Title != want.Title, want.Detail != "" && got.Detail != want.Detail,
		want.Instance != "" && got.Instance != want.Instance, want.Code != "" && got.Code != want.Code:
		t.Errorf("fault is %+v, want %+v", *got, *want)
	}
}

// checkTimeline checks what holds for every timeline of an execution that has ended.
func checkTimeline(t *testing.T, got Result) {
	t.Helper()
	whole := len(got.Timeline) > 0 && got.Timeline[len(got.Timeline)-1].Seq == len(got.Timeline) // no old ones are gone
	for i, e := range got.Timeline {
		switch {
		case i > 0 && e.Seq <= got.Timeline[i-1].Seq || whole && e.Seq != i+1:
			t.Errorf("entry %d has number %d", i, e.Seq)
		case !e.Ended() || e.EndedMs < e.StartedMs:
			t.Errorf("entry %s (%s) has not ended properly", e.Name, e.Phase)
		case e.Name == "" || !strings.HasSuffix(e.Reference, "/"+e.Name):
			t.Errorf("entry %q has reference %q", e.Name, e.Reference)
		case (e.Phase == chargehand.Faulted) != (e.Fault != nil):
			t.Errorf("entry %s is %s with fault %+v", e.Name, e.Phase, e.Fault)
		}
	}
	checkNumbers(t, got.Timeline)
}

// checkNumbers checks that the starts and ends of the entries are numbered without gaps.
func checkNumbers(t *testing.T, entries []machine.Record) {
	t.Helper()
	if len(entries) == 0 || entries[len(entries)-1].Seq != len(entries) {
		return // the oldest ones are gone, and their numbers with them
	}
	happened := make([]string, 2*len(entries)+1)
	started := 0
	for _, e := range entries {
		if e.StartedNo <= started || e.EndedNo <= e.StartedNo || e.EndedNo >= len(happened) {
			t.Errorf("entry %s has the numbers %d and %d after the start %d of %d", e.Name, e.StartedNo, e.EndedNo, started, len(happened)-1)
			return
		}
		started = e.StartedNo
		happened[e.StartedNo] += "started " + e.Name
		happened[e.EndedNo] += "ended " + e.Name
	}
	for no, what := range happened[1:] {
		if strings.Count(what, "ed ") != 1 {
			t.Errorf("number %d is that of %q", no+1, what)
		}
	}
}

func names(entries []machine.Record) []string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}
