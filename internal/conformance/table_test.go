package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// tablePage is the page of the documentation that carries the tables. It is written anew with
// CHARGEHAND_WRITE_TABLES=1 (make conformance), and compared otherwise.
var tablePage = filepath.Join(servertest.Root(), "docs", "language", "conformance.md")

// tally counts the scenarios that have passed, by feature file. It is safe for concurrent use.
type tally map[string]int

var tallying sync.Mutex

func (p tally) add(file string) {
	tallying.Lock()
	defer tallying.Unlock()
	p[file]++
}

// verify prints the table of a run, and holds the documentation to it.
func (p tally) verify(t *testing.T, title string, features []*feature) {
	t.Helper()
	table := p.table(features)
	t.Logf("%s\n\n%s", title, table)
	page, err := os.ReadFile(tablePage)
	if err != nil {
		t.Fatal(err)
	}
	head := "## " + title + "\n\n"
	before, rest, found := strings.Cut(string(page), head)
	if !found {
		t.Fatalf("%s has no section %q", tablePage, title)
	}
	end := strings.Index(rest, "\n\n")
	if end < 0 {
		end = len(rest) - 1
	}
	switch was := rest[:end+1]; {
	case was == table || t.Failed():
	case os.Getenv("CHARGEHAND_WRITE_TABLES") != "":
		if err := os.WriteFile(tablePage, []byte(before+head+table+rest[end+1:]), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s says otherwise: run make conformance and commit", tablePage)
	}
}

// table is Markdown.
func (p tally) table(features []*feature) string {
	var files []string
	scenarios := map[string]int{}
	for _, f := range features {
		if scenarios[f.file]++; scenarios[f.file] == 1 {
			files = append(files, f.file)
		}
	}
	slices.Sort(files)
	text := "| Feature | Scenarios | Passed |\n|---|---|---|\n"
	all, passed := 0, 0
	for _, file := range files {
		all, passed = all+scenarios[file], passed+p[file]
		text += fmt.Sprintf("| %s | %d | %d |\n", strings.TrimSuffix(file, ".feature"), scenarios[file], p[file])
	}
	return text + fmt.Sprintf("| **all** | %d | %d |\n", all, passed)
}
