package testrecord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/client"
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

	own map[string]bool // keys of events that the execution has published itself
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
	var rest bytes.Buffer
	properties(&rest, ordered{{"workflow", o.Workflow}}, 0)
	rest.WriteString("tests:\n")
	var body bytes.Buffer
	properties(&body, test, 4)
	rest.WriteString("  - " + strings.TrimPrefix(body.String(), "    "))
	b.WriteString(w.left(bytes.Count(b.Bytes(), []byte("\n")), rest.String()))
	b.Write(rest.Bytes())
	return b.Bytes(), nil
}

// maxLeft bounds the lines that the comment about redacted values names.
const maxLeft = 20

// left is a comment that says where the text of a secret is missing from a file, of which it follows the first lines,
// and what to write there. Empty: nowhere, or it is known which secret it was.
func (w *writer) left(lines int, rest string) string {
	if _, _, known := w.onlySecret(); known || len(w.recording.Secrets) == 0 {
		return ""
	}
	const about = 3 // lines of the comment
	var at []string
	more := ""
	for i, line := range strings.Split(rest, "\n") {
		switch {
		case !strings.Contains(line, redacted):
		case len(at) == maxLeft:
			more = " and below"
		default:
			at = append(at, strconv.Itoa(lines+about+i+1))
		}
	}
	if len(at) == 0 {
		return ""
	}
	names := slices.Sorted(slices.Values(w.recording.Secrets))
	for i, name := range names {
		names[i] = wordText(name)
	}
	if len(names) > maxLeft {
		names = append(names[:maxLeft:maxLeft], "others")
	}
	return "# " + redacted + " stands for the value of a secret (" + strings.Join(names, ", ") + "); the recording does not say of which, or of which field.\n" +
		"# Write there the value that the test has for it under \"secrets\". Until then the test may fail, or pass by chance.\n" +
		"# Lines: " + strings.Join(at, ", ") + more + "\n"
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
		if name, _, known := w.onlySecret(); known && v == redacted {
			return map[string]any{"secret": name}
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

// redacted is what a server shows instead of the text of a secret.
const redacted = "[redacted]"

// onlySecret is the secret that stood wherever a recording is redacted, with the text that stands for it. Where there
// are several, or one with fields, it is not known.
func (w *writer) onlySecret() (name, text string, known bool) {
	if len(w.recording.Secrets) != 1 {
		return "", "", false
	}
	name = w.recording.Secrets[0]
	text, known = w.shape(name).(string)
	return name, text, known
}

// text takes e-mail addresses out of a text, and puts what stands for a secret into it.
func (w *writer) text(text string) string {
	if _, secret, known := w.onlySecret(); known {
		text = strings.ReplaceAll(text, redacted, secret)
	}
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
