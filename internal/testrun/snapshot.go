package testrun

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// snapshots are those of one test file: NAME.snap.yaml, an object with what came of each test by its name.
type snapshots struct {
	path    string
	kept    map[string]any // as they are in the file
	written map[string]any // those that are new or replaced
	used    map[string]bool
}

// snapshotSuffix is what the names of files of snapshots end with.
const snapshotSuffix = ".snap.yaml"

// snapshotPath is the file of the snapshots of a test file.
func snapshotPath(path string) string {
	for _, suffix := range suffixes {
		path = strings.TrimSuffix(path, suffix)
	}
	return path + snapshotSuffix
}

// readSnapshots reads those of a suite. A file that cannot be understood is a problem.
func (s *suite) readSnapshots() {
	s.snapshots = &snapshots{path: snapshotPath(s.path), kept: map[string]any{}, written: map[string]any{}, used: map[string]bool{}}
	data, err := s.runner.ReadFile(s.snapshots.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // there is none yet
	case err != nil: // a new file would replace what is there
		s.wrong(s.snapshots.path, 1, 1, "file_unreadable", "The snapshots cannot be read: "+reason(err)+".")
		return
	}
	doc, problems := dsl.ReadText(data)
	s.report(s.snapshots.path, problems)
	if doc == nil {
		return
	}
	kept, ok := doc.Value().(map[string]any)
	if !ok && doc.Value() != nil {
		s.wrong(s.snapshots.path, 1, 1, "wrong_snapshots", "The file is no object of snapshots by the names of tests. Remove it, and write it again with --update.")
	}
	if ok {
		s.snapshots.kept = kept
	}
}

// summary is what a snapshot holds: all that came out but for the arguments of calls.
func (o *outcome) summary() value.Value {
	calls := []any{}
	for _, c := range o.calls {
		calls = append(calls, map[string]any{"task": c.Task, "args": c.Args})
	}
	order := []any{}
	for _, reference := range o.observe.order {
		order = append(order, o.addressOf(reference))
	}
	all := map[string]any{
		"phase": o.phase, "elapsed": ISO(o.EndMs - o.startMs), "output": o.Output, "order": order, "calls": calls,
	}
	if o.Fault != nil {
		all["error"] = o.Fault.Value()
	}
	if len(o.Files) > 0 {
		files := []any{}
		for _, f := range o.Files {
			files = append(files, fileValue(f))
		}
		all["files"] = files
	}
	if len(o.Published) > 0 {
		all["events"] = append([]any{}, o.Published...)
	}
	return all
}

// compareSnapshot compares a result with its snapshot, or writes it.
func (o *outcome) compareSnapshot(e *testfile.Expect) []Failure {
	s, runner := o.suite, o.suite.runner
	s.mu.Lock()
	defer s.mu.Unlock()
	name, got := o.file.Name, o.summary()
	s.snapshots.used[name] = true
	want, has := s.snapshots.kept[name]
	if has && value.Equal(want, got) {
		return nil
	}
	if runner.Update || !has && !runner.CI {
		s.snapshots.written[name] = got
		o.result.NewSnap = true
		return nil
	}
	if !has {
		return []Failure{{Expectation: "expect.snapshot", At: e.SnapshotAt, Want: true, HasWant: true,
			Note: "there is no snapshot of this test in " + s.snapshots.path + "; run it outside of continuous integration, and keep the file"}}
	}
	failures := o.failures("expect.snapshot", testfile.Position{}, exact(want, got))
	for i := range failures {
		failures[i].At, failures[i].Note = e.SnapshotAt, "--update takes what came out"
	}
	return failures
}

// finish tells of snapshots that are to be written, and of those that no test has.
func (s *suite) finish() {
	if s.snapshots == nil || len(s.result.Problems) > 0 {
		return
	}
	names := map[string]bool{}
	for _, c := range s.file.Tests {
		names[c.Name] = c.Expect != nil && c.Expect.Snapshot
	}
	all := map[string]any{}
	for _, name := range value.SortedKeys(s.snapshots.kept) {
		if names[name] {
			all[name] = s.snapshots.kept[name]
			continue
		}
		s.result.Obsolete = append(s.result.Obsolete, name)
		if !s.runner.Update {
			all[name] = s.snapshots.kept[name]
		}
	}
	for name, v := range s.snapshots.written {
		all[name] = v
	}
	if len(s.snapshots.written) == 0 && len(all) == len(s.snapshots.kept) {
		return
	}
	s.result.Snapshots = &Snapshots{Path: s.snapshots.path}
	if len(all) > 0 {
		s.result.Snapshots.Content = writeYAML("# Written by chargehand test --update.\n", all)
	}
}

// writeYAML writes a value as YAML with its keys in order.
func writeYAML(head string, v value.Value) []byte {
	var out bytes.Buffer
	out.WriteString(head)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(yamlNode(v)); err != nil {
		panic("testrun: " + err.Error()) // values only
	}
	return out.Bytes()
}

func yamlNode(v value.Value) *yaml.Node {
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case bool:
		return scalar("!!bool", fmt.Sprint(v))
	case string:
		n := scalar("!!str", v)
		if v == "<<" || strings.HasPrefix(v, "0") { // never a merge key or a number
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case *big.Int:
		return scalar("!!int", v.String())
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, yamlNode(item))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range value.SortedKeys(v) {
			n.Content = append(n.Content, yamlNode(key), yamlNode(v[key]))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	return scalar("", string(value.Marshal(v)))
}
