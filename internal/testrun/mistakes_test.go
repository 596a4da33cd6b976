package testrun_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/testrun"
)

var update = flag.Bool("update", false, "rewrite testdata/mistakes.txt")

// folderOfMistakes has what the test files of testdata/mistakes.txt are about.
var folderOfMistakes = files{
	"flow.yaml": header + `
use: {secrets: [token]}
do:
  - fetch: {call: http, with: {method: get, endpoint: 'https://example.org/', headers: {a: '${ $secrets.token }'}}}
  - run: {run: {shell: {command: ls}}}
  - program: {run: {script: {language: js, code: 'return 1'}}}
  - approve: {call: 'human:1.0.0@default', with: {title: Approve, outcomes: [approve, reject]}}
  - tell: {run: {workflow: {namespace: shop, name: notify, version: '1.0.0'}}}
  - payment: {listen: {to: {one: {with: {type: com.example.paid}}}}}
  - pause: {wait: PT1M}
  - left: {do: [{same: {call: http, with: {method: get, endpoint: 'https://example.org/'}}}]}
  - right: {do: [{same: {call: http, with: {method: get, endpoint: 'https://example.org/'}}}]}
  - greet: {set: {x: 1}}
`,
	"notify.yaml":  "document: {dsl: '1.0.3', namespace: shop, name: notify, version: '1.0.0'}\ndo: [{send: {call: http, with: {method: post, endpoint: 'https://example.org/'}}}]\n",
	"broken.yaml":  "document: {dsl: '1.0.3', namespace: shop, name: notify, version: '1.0.0'}\ndo: [{send: {cal: http}}]\n",
	"unknown.yaml": "document: {dsl: '1.0.3', namespace: shop, name: notify, version: '1.0.0'}\ndo: [{send: {set: {x: '${ .a | nosuch }'}}}]\n",
}

// What a test file says of the workflow and is wrong is said with its place, and with what to write instead.
func TestMistakes(t *testing.T) {
	path := filepath.Join("testdata", "mistakes.txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rewritten []string
	chunks := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n---\n")
	for _, chunk := range chunks {
		source, want, ok := strings.Cut(chunk, "\n>>>\n")
		if !ok {
			t.Fatalf("no problems are given for:\n%s", chunk)
		}
		folder := files{"flow.test.yaml": source}
		for name, content := range folderOfMistakes {
			folder[name] = content
		}
		report, err := testrun.New(testrun.Config{ReadFile: folder.read, Version: "1", Jobs: 1}).Run(t.Context(), []string{"flow.test.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range report.Files[0].Problems {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Detail))
		}
		if text := strings.Join(got, "\n"); !*update && (text != strings.TrimSpace(want) || text == "") {
			t.Errorf("%s\n>>>\n%s", source, text)
		}
		rewritten = append(rewritten, source+"\n>>>\n"+strings.Join(got, "\n"))
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(rewritten, "\n---\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
