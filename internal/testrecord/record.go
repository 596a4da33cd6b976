package testrecord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// Options say how a recording is written.
type Options struct {
	Name      string // of the test; empty: it names the execution
	Schema    string // address of the JSON Schema, for editors; empty: none
	Workflow  string // path of the definition, relative to the test file
	Source    []byte // of the definition, for the shapes of its secrets
	Anonymise bool   // e-mail addresses become those of person1@example.org and so on
	// Answers writes what persons have answered by the rules of forms, which keeps neither who has answered on which way
	// nor when. Without it, they are as they came.
	Answers bool
	// Files are the paths of the contents of files, relative to the test file, by their ids. What is missing is empty.
	Files map[string]string
	// ElapsedMs is the virtual time that the test takes; below 0: it expects none.
	ElapsedMs int64
}

// maxOrder bounds how many starts of tasks a test expects in their order.
const maxOrder = 50

// Write writes the test file of a recording. p is the plan of its revision; nil: tasks are named by their pointers.
func Write(g *client.Recording, p *plan.Plan, o Options) ([]byte, error) {
	w := &writer{recording: g, options: o, persons: map[string]string{}}
	if p != nil {
		w.addresses = testrun.Addresses(p)
	}
	test, err := w.test()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if o.Schema != "" {
		fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", o.Schema)
	}
	fmt.Fprintf(&b, "# Recorded from the execution %s of %s %s, revision %d.\n", g.ExecutionID, g.WorkflowName, g.WorkflowVersion, g.Revision)
	properties(&b, ordered{{"workflow", o.Workflow}}, 0)
	b.WriteString("tests:\n")
	var body bytes.Buffer
	properties(&body, test, 4)
	b.WriteString("  - " + strings.TrimPrefix(body.String(), "    "))
	return b.Bytes(), nil
}

type writer struct {
	recording *client.Recording
	options   Options
	addresses map[string]string
	persons   map[string]string // what stands for an e-mail address
}

func (w *writer) test() (ordered, error) {
	g := w.recording
	name := w.options.Name
	if name == "" {
		name = "recorded from " + g.ExecutionID
	}
	test := ordered{{"name", name}}
	input, err := w.read(g.Input)
	if err != nil {
		return nil, err
	}
	test = append(test, property{"input", input})
	if g.StartedAt != nil {
		test = append(test, property{"at", g.StartedAt.UTC().Format(time.RFC3339Nano)})
	}
	if secrets := w.secrets(); len(secrets) > 0 {
		test = append(test, property{"secrets", secrets})
	}
	mocks, steps, err := w.received()
	if err != nil {
		return nil, err
	}
	if len(mocks) > 0 {
		test = append(test, property{"mocks", mocks})
	}
	if g.Phase == "cancelled" {
		reason := ""
		if g.Error != nil {
			reason = w.text(g.Error.Detail)
		}
		steps = append(steps, ordered{{"at", testrun.ISO(g.ElapsedMS)}, {"cancel", reason}})
	}
	if len(steps) > 0 {
		test = append(test, property{"script", steps})
	}
	expect, err := w.expect()
	return append(test, property{"expect", expect}), err
}

// read reads a recorded value.
func (w *writer) read(text json.RawMessage) (value.Value, error) {
	if len(text) == 0 {
		return nil, nil
	}
	v, err := value.Parse(text, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, fmt.Errorf("the recording has a value that cannot be read: %w", err)
	}
	return w.shown(v), nil
}

var address = regexp.MustCompile(`[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`)

// shown takes e-mail addresses out of a value, and puts a secret in where it is known which one was there.
func (w *writer) shown(v value.Value) value.Value {
	switch v := v.(type) {
	case string:
		if v == "[redacted]" && len(w.recording.Secrets) == 1 {
			if _, text := w.shape(w.recording.Secrets[0]).(string); text {
				return map[string]any{"secret": w.recording.Secrets[0]}
			}
		}
		return w.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = w.shown(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for _, name := range value.SortedKeys(v) {
			object[w.text(name)] = w.shown(v[name])
		}
		return object
	}
	return v
}

// text takes e-mail addresses out of a text.
func (w *writer) text(text string) string {
	if !w.options.Anonymise {
		return text
	}
	return address.ReplaceAllStringFunc(text, func(found string) string {
		key := strings.ToLower(found)
		if w.persons[key] == "" {
			w.persons[key] = fmt.Sprintf("person%d@example.org", len(w.persons)+1)
		}
		return w.persons[key]
	})
}

// secrets are values that stand for those of the execution, in the shapes that the definition uses.
func (w *writer) secrets() ordered {
	var list ordered
	for _, name := range slices.Sorted(slices.Values(w.recording.Secrets)) {
		list = append(list, property{name, w.shape(name)})
	}
	return list
}

func (w *writer) shape(name string) value.Value {
	fields := map[string]any{}
	used := regexp.MustCompile(`\$secrets\.` + regexp.QuoteMeta(name) + `\.([A-Za-z_][A-Za-z0-9_]*)`)
	for _, m := range used.FindAllSubmatch(w.options.Source, -1) {
		fields[string(m[1])] = "secret-" + string(m[1])
	}
	policy := regexp.MustCompile(`\buse["']?:\s*["']?` + regexp.QuoteMeta(name) + `\b`)
	if policy.Match(w.options.Source) {
		for _, field := range []string{"username", "password", "token"} {
			fields[field] = "secret-" + field
		}
	}
	if len(fields) == 0 {
		return "secret-" + name
	}
	return fields
}

// received makes mocks of what came to tasks, and steps of the events.
func (w *writer) received() (mocks ordered, steps []any, err error) {
	outcomes := slices.Clone(w.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	entries := map[string][]ordered{}
	var order []string
	add := func(reference string, e ordered) {
		if _, known := entries[reference]; !known {
			order = append(order, reference)
		}
		entries[reference] = append(entries[reference], e)
	}
	streams := map[int64]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Kind == "event":
			continue
		case streams[o.Seq]: // its messages were written together
		case o.Kind == "message":
			streams[o.Seq] = true
			messages, err := w.messages(outcomes, o.Seq)
			if err != nil {
				return nil, nil, err
			}
			add(o.Reference, ordered{{"messages", messages}})
		default:
			e, err := w.entry(o)
			if err != nil {
				return nil, nil, err
			}
			add(o.Reference, e)
		}
	}
	for _, reference := range order {
		mocks = append(mocks, property{w.address(reference), mock(entries[reference])})
	}
	steps, err = w.events()
	return mocks, steps, err
}

func (w *writer) address(reference string) string {
	if address := w.addresses[reference]; address != "" {
		return address
	}
	return reference
}

func (w *writer) messages(outcomes []client.RecordedOutcome, seq int64) ([]any, error) {
	messages := []any{}
	for i := range outcomes {
		if o := &outcomes[i]; o.Seq == seq && o.Kind == "message" {
			v, err := w.read(o.Output)
			if err != nil {
				return nil, err
			}
			messages = append(messages, v)
		}
	}
	return messages, nil
}

// entry is the answer that an outcome becomes.
func (w *writer) entry(o *client.RecordedOutcome) (ordered, error) {
	if o.Kind == "none" {
		return ordered{{"hangs", true}}, nil
	}
	var e ordered
	if after := o.AtMS - o.AskedMS; after > 0 {
		e = append(e, property{"after", testrun.ISO(after)})
	}
	if o.Error != nil {
		return append(e, property{"raises", w.fault(o.Error)}), nil
	}
	output, err := w.read(o.Output)
	if err != nil {
		return nil, err
	}
	if files := w.files(o.Files); len(files) > 0 && o.Kind != "answer" {
		e = append(e, property{"files", files})
	}
	if o.Kind == "answer" && w.options.Answers {
		return append(e, property{"answers", w.answer(output, o.Files)}), nil
	}
	return append(e, property{"returns", output}), nil
}

func (w *writer) fault(f *client.ExecutionError) ordered {
	fault := ordered{{"type", f.Type}, {"status", f.Status}}
	if f.Title != "" {
		fault = append(fault, property{"title", w.text(f.Title)})
	}
	if f.Detail != "" {
		fault = append(fault, property{"detail", w.shown(f.Detail)})
	}
	return fault
}

func (w *writer) answer(output value.Value, files []client.RecordedFile) ordered {
	a := human.AnswerOf(output)
	answer := ordered{{"outcome", a.Outcome}}
	if a.By.ID != "" {
		answer = append(answer, property{"by", a.By.ID})
	}
	if a.Data != nil {
		answer = append(answer, property{"data", a.Data})
	}
	if a.Comment != "" {
		answer = append(answer, property{"comment", a.Comment})
	}
	if list := w.files(files); len(list) > 0 {
		answer = append(answer, property{"files", list})
	}
	return answer
}

func (w *writer) files(files []client.RecordedFile) []any {
	var list []any
	for _, f := range files {
		one := ordered{{"name", w.text(f.Filename)}}
		if path := w.options.Files[f.ID]; path != "" {
			one = append(one, property{"from", path})
		} else {
			one = append(one, property{"text", ""})
		}
		list = append(list, append(one, property{"media_type", f.ContentType}))
	}
	return list
}

// mock is one answer, or a list in which answers that are the same and follow each other are one.
func mock(entries []ordered) any {
	if len(entries) == 1 {
		return entries[0]
	}
	var list []any
	var last string
	times := 0
	for _, e := range entries {
		var b bytes.Buffer
		flow(&b, e)
		if text := b.String(); text == last {
			times++
			list[len(list)-1] = append(slices.Clip(e), property{"times", times})
		} else {
			list, last, times = append(list, e), text, 1
		}
	}
	return list
}

// events are the steps that publish what was taken in, each event once.
func (w *writer) events() (steps []any, err error) {
	outcomes := slices.Clone(w.recording.Outcomes)
	slices.SortStableFunc(outcomes, func(a, b client.RecordedOutcome) int { return cmp.Compare(a.AtMS, b.AtMS) })
	seen := map[string]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Kind != "event" {
			continue
		}
		v, err := w.read(o.Output)
		if err != nil {
			return nil, err
		}
		envelope, _ := v.(map[string]any)
		key := fmt.Sprint(envelope["source"], " ", envelope["id"])
		if seen[key] {
			continue
		}
		seen[key] = true
		steps = append(steps, ordered{{"at", testrun.ISO(o.AtMS)}, {"event", envelope}})
	}
	return steps, nil
}

func (w *writer) expect() (ordered, error) {
	g := w.recording
	expect := ordered{{"phase", g.Phase}}
	if g.Phase == "completed" {
		output, err := w.read(g.Output)
		if err != nil {
			return nil, err
		}
		expect = append(expect, property{"output", withoutAddresses(output)})
	}
	if g.Phase == "faulted" && g.Error != nil {
		fault := ordered{{"type", g.Error.Type}, {"status", g.Error.Status}}
		if g.Error.Instance != "" {
			fault = append(fault, property{"instance", g.Error.Instance})
		}
		expect = append(expect, property{"error", fault})
	}
	if w.options.ElapsedMs >= 0 {
		expect = append(expect, property{"elapsed", testrun.ISO(w.options.ElapsedMs)})
	}
	if n := len(g.Tasks); n > 0 && n <= maxOrder {
		order := make([]any, n)
		for i := range g.Tasks {
			order[i] = w.address(g.Tasks[i].Reference)
		}
		expect = append(expect, property{"order", order})
	}
	return expect, nil
}

// withoutAddresses leaves out of references to files what another run has otherwise: where they are, and what is in
// those whose content was not recorded.
func withoutAddresses(v value.Value) value.Value {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withoutAddresses(item)
		}
		return list
	case map[string]any:
		uri, _ := v["uri"].(string)
		isFile := strings.Contains(uri, "/api/v1/files/") && v["digest"] != nil
		object := make(map[string]any, len(v))
		for name, item := range v {
			if isFile && (name == "uri" || name == "digest" || name == "size") {
				continue
			}
			object[name] = withoutAddresses(item)
		}
		return object
	}
	return v
}
