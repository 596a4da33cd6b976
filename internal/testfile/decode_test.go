package testfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

var update = flag.Bool("update", false, "rewrite testdata/problems.txt")

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The file with everything is valid for the decoder and for the schema, and what it says arrives.
func TestEverything(t *testing.T) {
	data := read(t, "everything.test.yaml")
	f, problems := Read(data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	doc, _ := dsl.ReadText(data)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.Marshal(doc.Value())))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiledSchema(t).Validate(v); err != nil {
		t.Errorf("by the schema: %v", err)
	}
	c := f.Tests[0]
	if f.Workflow != "./quarterly-report.yaml" || len(f.Tests) != 2 || c.Name != "sent back once, then approved" || c.At.Line != 10 {
		t.Errorf("the file: %q, %d tests, %q in line %d", f.Workflow, len(f.Tests), c.Name, c.At.Line)
	}
	if f.Defaults.StartMs != DefaultAt || !f.Defaults.HasStart || f.Defaults.People["bo@example.org"].Groups[0] != "controllers" {
		t.Errorf("defaults: %+v", f.Defaults)
	}
	mocks := map[string]*Mock{}
	for _, m := range c.Mocks {
		mocks[m.Address] = m
	}
	ask := mocks["approve/ask"]
	if !ask.List || len(ask.Entries) != 2 || ask.Entries[0].Kind != Answers || ask.Entries[0].After.Milliseconds != 3_600_000 || ask.Entries[0].Times != 1 ||
		ask.Entries[0].Answers.By != "bo@example.org" {
		t.Errorf("a list of answers: %+v", ask.Entries[0])
	}
	if m := mocks["render"]; m.List || m.Entries[0].Times != Always || m.Entries[0].Process.Stdout != "ok" || m.Entries[0].Files[0].From != "fixtures/report.pdf" {
		t.Errorf("an answer for all: %+v", m.Entries[0])
	}
	if m := mocks["pay"].Entries; m[0].Raises.Type != machine.ErrCommunication || m[0].Raises.Status != 500 || m[1].When == nil || m[1].Times != Always {
		t.Errorf("errors: %+v, %+v", m[0].Raises, m[1])
	}
	e := c.Expect
	if e.Phase != "completed" || e.Elapsed.Span.Milliseconds != 3_600_000 || e.Tasks[0].Times.Number != 0 || len(e.Check) != 1 || e.Calls[0].Task.Text != "render" ||
		e.Human[0].Request.Value.(map[string]any)["title"] != "Approve" || !e.Snapshot || e.Output.At.Line == 0 {
		t.Errorf("expected: %+v", e)
	}
}

// Whatever is wrong has its line, its column and what to do.
func TestProblems(t *testing.T) {
	chunks := strings.Split(string(read(t, "problems.txt")), "\n---\n")
	if len(chunks) < 60 {
		t.Fatalf("only %d files", len(chunks))
	}
	var rewritten []string
	for _, chunk := range chunks {
		source, want, ok := strings.Cut(chunk, "\n>>>\n")
		if !ok {
			t.Fatalf("no problems are given for:\n%s", chunk)
		}
		_, problems := Read([]byte(source))
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		text := strings.Join(got, "\n")
		if (text != strings.TrimSpace(want) || text == "") && !*update {
			t.Errorf("%s\n>>>\n%s", source, text)
		}
		rewritten = append(rewritten, source+"\n>>>\n"+text)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "problems.txt"), []byte(strings.Join(rewritten, "\n---\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzRead: no text makes Read panic, problems have positions in the text, and what is valid fits the schema and stays
// valid as JSON.
func FuzzRead(f *testing.F) {
	f.Add(read(f, "everything.test.yaml"))
	for _, chunk := range strings.Split(string(read(f, "problems.txt")), "\n---\n") {
		source, _, _ := strings.Cut(chunk, "\n>>>\n")
		f.Add([]byte(source))
	}
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems := Read(data)
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines+bytes.Count(data, []byte("\r")) || p.Column < 1 || p.Detail == "" {
				t.Fatalf("%+v in %d lines", p, lines)
			}
		}
		if file == nil || problems.HasErrors() {
			return
		}
		doc, _ := dsl.ReadText(data)
		text, err := json.Marshal(doc.Value())
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Fatalf("valid, but not by the schema: %v\n%s", err, text)
		}
		if _, problems := Read(text); len(text) <= dsl.MaxBytes && problems.HasErrors() {
			t.Fatalf("valid as YAML, but not as JSON: %v\n%s", problems, text)
		}
	})
}
