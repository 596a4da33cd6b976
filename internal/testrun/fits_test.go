package testrun_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chargehand/chargehand/internal/testrun"
)

// What an answer says and would come to nothing is an error, and not left out in silence.
func TestUselessParts(t *testing.T) {
	const definition = `
use: {secrets: [token]}
do:
  - ask: {call: 'human:1.0.0@default', with: {title: May I}}
  - tell: {run: {workflow: {namespace: test, name: child, version: '1.0.0'}}}
  - news: {call: asyncapi, with: {document: {endpoint: 'https://example.org/asyncapi.json'}, operation: receiveNews, subscription: {consume: {amount: 1}}}}
  - run: {run: {shell: {command: ls}}}
`
	check(t, run(t, definition, `
tests:
  - name: a
    secrets: {a/b: x}
    mocks:
      ask: {hangs: true, interrupted: 2}
      tell:
        - returns: 1
          interrupted: 1
          files: [{name: a}]
      news: {messages: [1], files: [{name: a}]}
      run: {process: {code: 0}, interrupted: 1, files: [{name: a}]}
`), `
flow.test.yaml:4:15 The workflow declares no secret "a/b". Declare it in use.secrets, or leave it out.
flow.test.yaml:6:26 The task "ask" is a human task, which a crash does not cut off. Only calls and processes can be "interrupted".
flow.test.yaml:9:11 The task "tell" is a start of the workflow test/child, which a crash does not cut off. Only calls and processes can be "interrupted".
flow.test.yaml:10:11 The task "tell" is a start of the workflow test/child, which makes no files. Leave out "files".
flow.test.yaml:11:29 The task "news" is an asyncapi call, which makes no files. Leave out "files".
`)
}

// Checks see the order in which tasks have started.
func TestOrderInChecks(t *testing.T) {
	check(t, run(t, "do: [{a: {set: {n: 1}}}, {b: {do: [{c: {set: {n: 2}}}]}}, {d: {set: {n: 3}}}]",
		"tests: [{name: a, expect: {check: ['.order == [\"a\", \"b\", \"b/c\", \"d\"]', '.order[0] == \"b\"']}}]"), `
a failed
  expect.check[1] line 1 - true + false (.order[0] == "b")
`)
}

// The timeout of a workflow is a way that can be taken, but the workflow is no task.
func TestCoverageOfTimeout(t *testing.T) {
	r := run(t, "timeout: {after: PT1H}\ndo: [{a: {call: http, with: {method: get, endpoint: 'https://example.org/'}}}]",
		"tests: [{name: a, mocks: {a: {hangs: true}}, expect: {error: {type: timeout}}}, {name: b, mocks: {a: {returns: 1}}}]")
	check(t, r, "a passed\nb passed")
	tasks, tasksRun, branches, branchesRun := testrun.Totals(r.Coverage)
	if tasks != 1 || tasksRun != 1 || branches != 1 || branchesRun != 1 {
		t.Errorf("tasks %d/%d, branches %d/%d", tasksRun, tasks, branchesRun, branches)
	}
}

// The tests of a folder are found through a symbolic link to it, too, and those of a folder in it are not.
func TestFindInLinkedFolder(t *testing.T) {
	folder := t.TempDir()
	real, link := filepath.Join(folder, "real"), filepath.Join(folder, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "a.test.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string][]string{
		link: {filepath.Join(link, "a.test.yaml")}, link + "/": {filepath.Join(link, "a.test.yaml")}, folder: {filepath.Join(real, "a.test.yaml")},
	} {
		if found, err := testrun.Find([]string{path}); err != nil || !slices.Equal(found, want) {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
}
