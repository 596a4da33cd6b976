package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
