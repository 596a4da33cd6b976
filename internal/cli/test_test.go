package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/testrun"
)

// A symbolic link in the folder of a test, where files of snapshots go, does not lead what is written elsewhere.
func TestSnapshotsFollowNoLink(t *testing.T) {
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(elsewhere, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "flow.snap.yaml")
	for _, link := range []string{path, filepath.Join(folder, ".flow.snap.yaml.new")} {
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
	}
	report := &testrun.Report{Files: []*testrun.File{{Snapshots: &testrun.Snapshots{Path: path, Content: []byte("new")}}}}
	if err := writeSnapshots(report); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(elsewhere); err != nil || string(got) != "mine" {
		t.Errorf("the file elsewhere is %q, %v", got, err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		t.Errorf("the snapshots are %v, %v", info, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("the snapshots are %q, %v", got, err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".*")); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// What a test file names reaches the terminal without control characters.
func TestFailuresArePrintable(t *testing.T) {
	var out bytes.Buffer
	c := &testCommand{console: console{out: &out}}
	failed := &testrun.Test{Name: "a", Status: testrun.Failed, Failures: []testrun.Failure{{Expectation: "expect.output.\x1b[2J"}}}
	if err := c.print(&testrun.Report{Files: []*testrun.File{{Path: "a.test.yaml", Tests: []*testrun.Test{failed}}}}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "expect.output.") || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

// Snapshots of no test are named: as those that can be removed, or that have been.
func TestObsoleteSnapshotsAreNamed(t *testing.T) {
	for want, update := range map[string]bool{
		"  no test has the snapshot \"old\"; --update removes it\n": false,
		"  the snapshot \"old\", which no test has, is removed\n":   true,
	} {
		var out bytes.Buffer
		c := &testCommand{console: console{out: &out}, config: testrun.Config{Update: update}}
		if err := c.print(&testrun.Report{Files: []*testrun.File{{Path: "a.test.yaml", Obsolete: []string{"old"}}}}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// watched runs tests of a folder with --watch. scan lets it read the files once more, and returns what it wrote.
func watched(t *testing.T, folder string) (scan func() (out, err string)) {
	t.Helper()
	var out, problems sharedBuffer // the watcher may write while the test reads
	c := &testCommand{console: console{out: &out, err: &problems}, watch: true, output: formatTable, paths: []string{folder}}
	ctx, cancel := context.WithCancel(t.Context())
	next, ended := make(chan time.Time), make(chan error, 1)
	go func() { ended <- c.watchFiles(ctx, next) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() (string, string) {
		next <- time.Time{} // taken when the scan before has ended
		next <- time.Time{}
		return out.String(), problems.String()
	}
}

// sharedBuffer keeps what one goroutine writes, for another that reads meanwhile.
type sharedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestWatchOfNothing: a path that is not there is said at once, as without --watch, and is not waited for. One
// that disappears later may come back.
func TestWatchOfNothing(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{"nope.yaml", "nope.test.yaml", "nope/"} {
		cmd := newTest(console{out: io.Discard, err: io.Discard})
		cmd.SetArgs([]string{"--watch", filepath.Join(folder, path)})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := cmd.ExecuteContext(ctx)
		cancel()
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != ExitUsage || !strings.Contains(err.Error(), "nope") {
			t.Errorf("%s: %v", path, err)
		}
	}
	inner := filepath.Join(folder, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	scan := watched(t, inner)
	scan()
	if err := os.Remove(inner); err != nil {
		t.Fatal(err)
	}
	if _, err := scan(); !strings.Contains(err, "inner") || !strings.Contains(err, "waiting for a change") {
		t.Errorf("it says %q", err)
	}
}

// --watch runs what depends on a file that has changed, and makes a complaint that lasts once.
func TestWatch(t *testing.T) {
	folder := t.TempDir()
	save := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scan := watched(t, folder)
	for range 3 {
		scan()
	}
	if _, err := scan(); strings.Count(err, "there are no tests") != 1 || strings.Count(err, "waiting for a change") != 1 {
		t.Errorf("without tests it says %q", err)
	}
	save("a.yaml", "document: {dsl: '1.0.3', namespace: test, name: a, version: '1.0.0'}\ndo: [{greet: {set: {x: 1}}}]\n")
	save("a.test.yaml", "tests: [{name: greets, expect: {output: {x: 1}}}]\n")
	save("b.test.yaml", "workflow: ./a.yaml\ntests: [{name: other, expext: {}}]\n")
	first, _ := scan()
	if strings.Count(first, "✓ greets") != 1 || strings.Count(first, `Did you mean "expect"?`) != 1 {
		t.Errorf("first it says %q", first)
	}
	if again, _ := scan(); again != first {
		t.Errorf("without a change it runs again: %q", again[len(first):])
	}
	save("b.test.yaml", "workflow: ./a.yaml\ntests: [{name: other, expect: {output: {x: 2}}}]\n")
	changed, _ := scan()
	if rest := changed[len(first):]; strings.Contains(rest, "greets") || !strings.Contains(rest, "✗ other") {
		t.Errorf("after a change of one file it says %q", rest)
	}
	save("a.yaml", "document: {dsl: '1.0.3', namespace: test, name: a, version: '1.0.0'}\ndo: [{greet: {set: {x: 22}}}]\n")
	both, _ := scan()
	if rest := both[len(changed):]; strings.Count(rest, "✗ greets") != 1 || strings.Count(rest, "✗ other") != 1 {
		t.Errorf("after a change of the definition it says %q", rest)
	}
}

// Reports are of one run of all tests.
func TestWatchRefusesReports(t *testing.T) {
	for _, flag := range []string{"--junit=x.xml", "--coverage-out=x.info", "--github", "--coverage=80"} {
		cmd := newTest(console{strings.NewReader(""), io.Discard, io.Discard})
		cmd.SetArgs([]string{"--watch", flag})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		name, _, _ := strings.Cut(flag, "=")
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--watch") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
