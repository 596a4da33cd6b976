package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// awaited collects what is written and tells who waits for it.
type awaited struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newAwaited() *awaited { return &awaited{changed: make(chan struct{})} }

func (a *awaited) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
	return a.text.Write(data)
}

// until waits until the text matches.
func (a *awaited) until(t *testing.T, pattern string) string {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	deadline := time.After(2 * time.Minute)
	for {
		a.mu.Lock()
		text, changed := a.text.String(), a.changed
		a.mu.Unlock()
		if wanted.MatchString(text) {
			return text
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%q is not in\n%s", pattern, text)
		}
	}
}

const followed = `document: {dsl: '1.0.3', namespace: shop, name: followed, version: '1.0.0'}
do:
  - prepare: {set: {n: 1}}
  - outer:
      do:
        - first: {set: {n: 2}}
        - paying:
            try:
              - pay: {raise: {error: {type: https://example.com/down, status: 503, title: Down}}}
            catch: {retry: {delay: {hours: 1}, limit: {attempt: {count: 4}}}}
`

// TestFollowShowsNestedTasksWhileTheyRun: a task within other tasks is shown when it starts, and not
// only when the tasks around it have ended.
func TestFollowShowsNestedTasksWhileTheyRun(t *testing.T) {
	s := servertest.Start(t, servertest.Options{})
	s.Apply(t, followed)
	t.Setenv("CHARGEHAND_URL", s.URL)
	t.Setenv("CHARGEHAND_API_KEY", s.Key)
	var out bytes.Buffer
	stderr, code := newAwaited(), make(chan int, 1)
	go func() { code <- Run([]string{"run", "shop/followed"}, strings.NewReader(""), &out, stderr) }()
	text := stderr.until(t, `faulted   pay: attempt 1 of 5`)
	want := regexp.MustCompile(`(?s)^execution ([0-9a-f-]{36})\n  completed prepare  \d+ ms\n  running   outer\n    completed first  \d+ ms\n    running   paying\n      faulted   pay: attempt 1 of 5  \d+ ms  Down\n$`)
	found := want.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("while the second attempt is waited for:\n%s", text)
	}
	if a := s.Do(t, http.MethodPost, "/workflows/shop.followed/executions/"+found[1]+"/cancel", ""); a.Status != http.StatusAccepted {
		t.Fatalf("cancel: %d %s", a.Status, a.Body)
	}
	if c := <-code; c != ExitFailed {
		t.Errorf("exit code %d", c)
	}
	text = stderr.until(t, "timeline")
	if !regexp.MustCompile(`    cancelled paying  .*\n  cancelled outer  .*\ncancelled after .*\nits tasks: chargehand executions timeline `).MatchString(text) {
		t.Errorf("at the end:\n%s", text)
	}
	if !strings.Contains(out.String(), `"phase": "cancelled"`) {
		t.Errorf("on standard output: %s", out.String())
	}
}

// TestFollowTellsOfSuspension: the command that follows an execution says when it is suspended, and when it continues.
func TestFollowTellsOfSuspension(t *testing.T) {
	s := servertest.Start(t, servertest.Options{})
	s.Apply(t, "document: {dsl: '1.0.3', namespace: shop, name: held, version: '1.0.0'}\ndo:\n  - hold: {wait: {hours: 1}}\n")
	t.Setenv("CHARGEHAND_URL", s.URL)
	t.Setenv("CHARGEHAND_API_KEY", s.Key)
	var out bytes.Buffer
	stderr, code := newAwaited(), make(chan int, 1)
	go func() { code <- Run([]string{"run", "shop/held"}, strings.NewReader(""), &out, stderr) }()
	text := stderr.until(t, `waiting +hold`)
	path := "/workflows/shop.held/executions/" + regexp.MustCompile(`execution ([0-9a-f-]{36})`).FindStringSubmatch(text)[1]
	for _, step := range []struct{ verb, want string }{
		{"suspend", `\nsuspended: chargehand executions resume [0-9a-f-]{36}\n`},
		{"resume", `\nresumed\n`},
		{"cancel", `\ncancelled after .*\n`},
	} {
		if a := s.Do(t, http.MethodPost, path+"/"+step.verb, ""); a.Status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", step.verb, a.Status, a.Body)
		}
		stderr.until(t, step.want)
	}
	if c := <-code; c != ExitFailed {
		t.Errorf("exit code %d", c)
	}
}

// TestFollowTellsOfPeople: the command that follows an execution says what it asks of people, once, and how to answer.
func TestFollowTellsOfPeople(t *testing.T) {
	s := servertest.Start(t, servertest.Options{})
	s.Apply(t, "document: {dsl: '1.0.3', namespace: shop, name: asked, version: '1.0.0'}\ndo:\n  - ask: {call: 'human:1.0.0@default', with: {title: Look at it, assignees: {users: [eve@example.org]}}}\n")
	t.Setenv("CHARGEHAND_URL", s.URL)
	t.Setenv("CHARGEHAND_API_KEY", s.Key)
	var out bytes.Buffer
	stderr, code := newAwaited(), make(chan int, 1)
	go func() { code <- Run([]string{"run", "shop/asked"}, strings.NewReader(""), &out, stderr) }()
	text := stderr.until(t, `\nneeds a person: Look at it\n  chargehand tasks answer [0-9a-f-]{36}\n`)
	task := regexp.MustCompile(`tasks answer ([0-9a-f-]{36})`).FindStringSubmatch(text)[1]
	id := regexp.MustCompile(`execution ([0-9a-f-]{36})`).FindStringSubmatch(text)[1]
	for args, want := range map[string]string{
		"get":      `(?s)waits for: +person: Look at it\n.*human task: +` + task + `  Look at it\n`,
		"timeline": `waits for a person; not known here: eve@example\.org`,
	} {
		var shown, bad bytes.Buffer
		if c := Run([]string{"executions", args, id, "--output", "table"}, strings.NewReader(""), &shown, &bad); c != 0 || !regexp.MustCompile(want).Match(shown.Bytes()) {
			t.Errorf("%s: %d\n%s%s", args, c, shown.Bytes(), bad.Bytes())
		}
	}
	for _, args := range [][]string{{"tasks", "reassign", task, "--all-people"}, {"tasks", "answer", task, "--outcome", "done"}} {
		if c := Run(args, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); c != 0 {
			t.Errorf("%q: %d", args, c)
		}
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
	if text := stderr.until(t, "finished"); strings.Count(text, "needs a person") != 1 {
		t.Errorf("at the end:\n%s", text)
	}
}

func TestPolicyOf(t *testing.T) {
	definition := func(retry string) []byte {
		return fmt.Appendf(nil, `{"use":{"retries":{"slow":{"delay":{"minutes":1},"backoff":{"linear":{}},"limit":{"attempt":{"count":2}}}}},
			"do":[{"a":{"try":[],"catch":{"retry":%s}}}]}`, retry)
	}
	for retry, want := range map[string]int{
		`{"delay":{"seconds":2},"limit":{"attempt":{"count":3}}}`: 4,
		`{"delay":"PT5S"}`: 0,
		`"slow"`:           3,
	} {
		if policy, ok := policyOf(definition(retry), "/do/0/a"); !ok || policy.attempts != want {
			t.Errorf("%s: %+v %v", retry, policy, ok)
		}
	}
	for _, reference := range []string{"/do/1/a", "/do/0/b", "/nothing", ""} {
		if policy, ok := policyOf(definition(`{}`), reference); ok {
			t.Errorf("%q has the policy %+v", reference, policy)
		}
	}
}
