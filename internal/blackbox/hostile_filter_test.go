package blackbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/seed"
	"github.com/chargehand/chargehand/internal/value"
)

// hostileValues are texts that no honest client sends as the value of a filter, a label or a reference.
var hostileValues = []string{
	"", " ", "\x00", "a\x00b", "\xff\xfe", "\xc0\x80", "\r\nX-Evil: 1", "%", "%00", "..", "/", "//", "\\", "'", `"`, "' OR 1=1 --", "'; DROP TABLE execution; --", "*", "?1", "$1", ":", "::", "a:", ":a", "a:b:c",
	"team:", "TEAM:t1", "team t1", "-1", "0", "+1", "1e3", "1.5", "0x10", "NaN", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "null", "true", "[]", "{}", `{"a":1}`,
	"finished,error", "FINISHED", "finished ", "\u202efinished", "ﬁnished", "created", "-created", "input", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00+25:00",
	"/do/0/read", "/do/~2", "/do/~", "/do/99999999999999999999/x", "do/0/read", "/" + strings.Repeat("do/0/", 1000), "#/do/0", "~1", "(a+)+$", "^(a|a)*$", "[[:alpha:]", "(?i)x", "a{1000000}", "%_%_%_%", strings.Repeat("%", 300),
	strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("é", 600), strings.Repeat("9", 400), strings.Repeat("a", 4000), "01a1c143-fe50-75ce-8008-80a5b2ed99f1", "01A1C143FE5075CE800880A5B2ED99F1", "{01a1c143-fe50-75ce-8008-80a5b2ed99f1}",
	"orders/import", "orders/", "/import", "orders/import/1", "Orders/Import", "${ . }", "<script>", "\U0001f600", "\u0000", "timer", "slot", "1.0.0", "team:t1", "region:r2", "communication_error", "row-7",
}

// hostileRoute is a route with the parameters that it reads.
type hostileRoute struct {
	path       string
	parameters []string
}

// hostileRoutes are those that filter. E, W and B stand for the id of an execution, a workflow and a batch.
func hostileRoutes() []hostileRoute {
	filters := []string{
		"status", "phase", "batch_id", "created_after", "created_before", "version", "error_code", "cause", "waiting_for", "label", "root_id", "retry_of", "failure", "min_duration_ms", "q",
	}
	of := []string{"workflow_id", "workflow"}
	page := []string{"limit", "cursor", "sort", "include"}
	timeline := []string{"reference", "under", "phase", "after_seq", "order", "fields", "limit", "cursor"}
	return []hostileRoute{
		{"/executions", slices.Concat(filters, of, page)}, {"/workflows/W/executions", slices.Concat(filters, page)},
		{"/executions/count", slices.Concat(filters, of)}, {"/executions/failures", slices.Concat(filters, of, []string{"limit"})},
		{"/overview", []string{"from", "to", "step", "workflow_id"}}, {"/executions/E/timeline", timeline}, {"/executions/E/log", []string{"after", "seq", "level", "stream", "q", "limit"}},
		{"/workflows", []string{"namespace", "name", "q", "tag", "drafts", "include", "limit", "cursor"}}, {"/batches", []string{"limit", "cursor"}}, {"/workflows/W/batch/B/items", []string{"status", "limit", "cursor"}},
		{"/executions/E/graph", []string{"format"}},
	}
}

// TestHostileFilters sends random filters, references, patterns and labels, good ones and hostile ones: each gets what
// it asks for, or a refusal that names the parameter or the place. None costs the server much.
func TestHostileFilters(t *testing.T) {
	number := uint64(crashNumber(t, "CHARGEHAND_HOSTILE_SEED", int(time.Now().UnixNano()%1_000_000)))
	t.Logf("CHARGEHAND_HOSTILE_SEED=%d", number)
	_, s, _ := startSeeded(t, seed.Options{Executions: startNumber(1_500, 50_000), Seed: 1})
	c := chooseReads(t, s)
	c.Rand = rand.New(rand.NewPCG(number, 2))
	n := startNumber(600, 10_000)
	computed, slowest, slowestOf, refused := computedBy(s.PID()), time.Duration(0), "", 0
	echoed := deploy(t, s, echo)
	for i := range n {
		var what string
		var a answer
		begin := time.Now()
		if i%5 == 0 {
			what = c.start()
			a = s.Do(t, "POST", executions(echoed), what)
		} else {
			what = c.hostileRead()
			a = get(t, s, what)
		}
		if took := time.Since(begin); took > slowest {
			slowest, slowestOf = took, what
		}
		if a.Status < 300 {
			fits(t, what, a)
			continue
		}
		refused++
		wantRefusal(t, what, a)
		for _, e := range list(a.Object()["errors"]) {
			if named, _ := e.(map[string]any); text(named["parameter"])+text(named["pointer"]) == "" || text(named["detail"]) == "" {
				if _, whole := named["pointer"]; !whole { // the pointer of a whole body is empty
					t.Errorf("%.500q: no place is named: %.500s", what, a.Body)
				}
			}
		}
	}
	computed = computedBy(s.PID()) - computed
	t.Logf("%d requests, %d refused; the server computed for %v; the slowest took %v: %.200q", n, refused, computed.Round(time.Millisecond), slowest.Round(time.Millisecond), slowestOf)
	if refused < n/4 || refused > n*99/100 {
		t.Errorf("%d of %d requests are refused: they say little", refused, n)
	}
	if computed/time.Duration(n) > 50*time.Millisecond {
		t.Errorf("a request costs %v of a processor on average", computed/time.Duration(n))
	}
	if bytes := restingBytes(t, s.PID(), time.Second); bytes > 250<<20 {
		t.Errorf("the server holds %d MB afterwards", bytes>>20)
	}
}

// get is Do for answers that need not be JSON: logs are lines of it.
func get(t *testing.T, s *server, path string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", s.Key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{Status: response.StatusCode, Header: response.Header, Body: body}
	if strings.HasSuffix(a.Header.Get("Content-Type"), "json") {
		if a.JSON, err = value.Parse(body, value.Limits{}); err != nil {
			t.Fatalf("%.500q: %v", path, err)
		}
	}
	return a
}

// value is a value of a parameter: often one that fits, else a hostile one.
func (c *choices) value(parameter string) string {
	if c.IntN(3) == 0 {
		v := hostileValues[c.IntN(len(hostileValues))]
		if c.IntN(4) == 0 {
			v += hostileValues[c.IntN(len(hostileValues))]
		}
		return v
	}
	switch parameter {
	case "status":
		return c.of("initial", "processing", "finished", "error")
	case "phase":
		return c.of("running", "waiting", "faulted", "completed", "cancelled")
	case "batch_id":
		return c.of(c.batches...)
	case "root_id", "retry_of":
		return c.of(c.executions...)
	case "failure":
		return c.of("AAAAAAAAAAcvZG8vMC9yZWFk", "AAAAAAAAAAc")
	case "workflow_id":
		return c.of(c.workflows...)
	case "workflow":
		return c.of(seedNames...)
	case "created_after", "created_before", "from", "to":
		at, _ := url.QueryUnescape(c.day(0, 30))
		return at
	case "version":
		return c.of(seedText...)
	case "error_code":
		return c.of(seedCodes...)
	case "cause":
		return c.of(seedCauses...)
	case "waiting_for":
		return c.of("timer", "slot", "event")
	case "label":
		return c.of("team:t1", "region:r2", "customer:c-7")
	case "sort":
		return c.of("created", "-created")
	case "reference", "under":
		return c.of("/do/0/read", "/do/1/note")
	case "limit", "min_duration_ms", "after_seq", "after", "seq":
		return fmt.Sprint(1 + c.IntN(100))
	}
	return c.of("x", "input", "true", "7", "1h", "asc", "summary", "json", "activity")
}

// hostileRead is the path of a request with some parameters.
func (c *choices) hostileRead() string {
	routes := hostileRoutes()
	r := routes[c.IntN(len(routes))]
	if c.IntN(2) == 0 {
		r = routes[c.IntN(4)] // lists, counts and failures
	}
	path := strings.NewReplacer("/E/", "/"+c.of(c.executions...)+"/", "/W/", "/"+c.of(c.workflows...)+"/", "/B/", "/"+c.of(c.batches...)+"/").Replace(r.path)
	query := url.Values{}
	for range 1 + c.IntN(4) {
		parameter := r.parameters[c.IntN(len(r.parameters))]
		for range 1 + c.IntN(2)*c.IntN(2)*c.IntN(2)*c.IntN(2)*c.IntN(25) {
			query.Add(parameter, c.value(parameter))
		}
	}
	return path + "?" + query.Encode()
}

// start is the body of a start with labels and delays.
func (c *choices) start() string {
	text := func() string { return hostileValues[c.IntN(len(hostileValues))] }
	labels := map[string]any{}
	for range c.IntN(4) + c.IntN(2)*c.IntN(2)*c.IntN(25) {
		name := c.of("team", "a/b", "x.y-z", fmt.Sprint("n", c.IntN(100)), text())
		labels[name] = []any{"v", text(), c.IntN(9), nil, []any{"v"}}[min(c.IntN(9), c.IntN(5))]
	}
	body := map[string]any{"input": map[string]any{}, "labels": labels}
	switch c.IntN(6) {
	case 0:
		body["delay"] = text()
	case 1:
		body["delay_until"] = text()
	case 2:
		body["labels"] = text()
	}
	encoded, _ := json.Marshal(body)
	return string(encoded)
}

// fits: what a list shows is what was asked for.
func fits(t *testing.T, path string, a answer) {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil || u.Path != "/executions" && !strings.HasSuffix(u.Path, "/executions") || a.Status != http.StatusOK {
		return
	}
	query := u.Query()
	for _, item := range list(a.Object()["data"]) {
		e, _ := item.(map[string]any)
		fault, _ := e["error"].(map[string]any)
		cause, _ := e["cause"].(map[string]any)
		waits, _ := e["waiting_for"].(map[string]any)
		for parameter, value := range map[string]any{
			"status": e["status"], "phase": e["phase"], "batch_id": e["batch_id"], "root_id": e["root_id"], "retry_of": e["retry_of"],
			"version": e["workflow_version"], "error_code": fault["code"], "cause": cause["kind"], "waiting_for": waits["kind"],
		} {
			if wanted := query[parameter]; len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, text(value)) }) {
				t.Errorf("%.500q shows an execution with the %s %v", path, parameter, value)
			}
		}
		// Both parameters name workflows: those of either are listed.
		if wanted := slices.Concat(query["workflow"], query["workflow_id"]); len(wanted) > 0 && !slices.ContainsFunc(wanted, func(w string) bool {
			return w == text(e["workflow"]) || strings.EqualFold(w, text(e["workflow_id"]))
		}) {
			t.Errorf("%.500q shows an execution of %v", path, e["workflow"])
		}
		labels, _ := e["labels"].(map[string]any)
		for _, label := range query["label"] {
			if name, value, _ := strings.Cut(label, ":"); labels[name] != value {
				t.Errorf("%.500q shows an execution with the labels %v", path, labels)
			}
		}
	}
}
