package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
)

// remoteParent is the traceparent of a client: a trace id, a span id, recorded.
const (
	remoteTrace  = "0af7651916cd43dd8448eb211c80319c"
	remoteSpan   = "b7ad6b7169203331"
	remoteParent = "00-" + remoteTrace + "-" + remoteSpan + "-01"
)

// target is an HTTP server that remembers the traceparents it was sent.
type target struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newTarget(t *testing.T) *target {
	g := &target{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, strings.Join(r.Header["Traceparent"], ","))
		g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"secret": "of the answer"}`))
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *target) parents() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.seen
	g.seen = nil
	return seen
}

// spans are the spans of an exporter by name; of several with one name, the last.
func spans(e *tracetest.InMemoryExporter) map[string]tracetest.SpanStub {
	all := make(map[string]tracetest.SpanStub)
	for _, s := range e.GetSpans() {
		all[s.Name] = s
	}
	return all
}

func attributeOf(s tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// traced is an installation whose spans are kept in memory.
func traced(t *testing.T, change ...func(*Config)) (*fixture, *tracetest.InMemoryExporter) {
	t.Helper()
	e := tracetest.NewInMemoryExporter()
	keep := func(c *Config) {
		c.exporter = kept{e}
		c.AllowEgress = []string{"127.0.0.1"}
	}
	return install(t, t.TempDir(), append(change, keep)...), e
}

// kept keeps its spans at the end.
type kept struct{ *tracetest.InMemoryExporter }

// Shutdown implements sdktrace.SpanExporter.
func (kept) Shutdown(context.Context) error { return nil }

var _ sdktrace.SpanExporter = kept{}

// run starts an execution with a traceparent and waits for its end.
func (i *fixture) run(workflow, parent, body string) string {
	i.T.Helper()
	r, err := http.NewRequestWithContext(i.T.Context(), "POST", i.Base+"/workflows/"+workflow+"/executions?wait=30s", strings.NewReader(body))
	if err != nil {
		i.T.Fatal(err)
	}
	r.Header.Set("x-api-key", i.Key)
	r.Header.Set("Content-Type", "application/json")
	if parent != "" {
		r.Header.Set("traceparent", parent)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		i.T.Fatal(err)
	}
	defer resp.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || v["status"] != "finished" {
		i.T.Fatalf("execution %v, %v", v, err)
	}
	return v["execution_id"].(string)
}

// testTrace follows a request through an installation to what its workflow calls.
func testTrace(t *testing.T, i *fixture, e *tracetest.InMemoryExporter) {
	g := newTarget(t)
	call := "{call: http, with: {method: get, endpoint: '" + g.URL + "/path'}}"
	id := i.Apply(apptest.Definition("traced", call))
	e.Reset()
	execution := i.run(id, remoteParent, `{"input":{"secret":"of the input"}}`)
	const request, run, activity = "http POST /api/v1/workflows/{workflowId}/executions", "execution traced", "activity http /do/0/step"
	apptest.Await(t, func() bool { _, done := spans(e)[run]; _, answered := spans(e)[request]; return done && answered })
	all := spans(e)
	parents := g.parents()
	if len(parents) != 1 || parents[0] != "00-"+remoteTrace+"-"+all[activity].SpanContext.SpanID().String()+"-01" {
		t.Errorf("the target was sent %q; the span of the activity is %s", parents, all[activity].SpanContext.SpanID())
	}
	for child, parent := range map[string]string{
		request: remoteSpan, run: all[request].SpanContext.SpanID().String(), activity: all[run].SpanContext.SpanID().String(),
	} {
		s := all[child]
		if s.SpanContext.TraceID().String() != remoteTrace || s.Parent.SpanID().String() != parent {
			t.Errorf("%q is in trace %s below %s, want below %s", child, s.SpanContext.TraceID(), s.Parent.SpanID(), parent)
		}
	}
	for name, key := range map[string]attribute.Key{run: "chargehand.execution_id", activity: "chargehand.execution_id"} {
		if got := attributeOf(all[name], key); got != execution {
			t.Errorf("%s of %q is %q, want %s", key, name, got, execution)
		}
	}
	for key, want := range map[attribute.Key]string{
		"chargehand.task": "/do/0/step", "chargehand.attempt": "1", "chargehand.environment": "live", "chargehand.activity": "http",
	} {
		if got := attributeOf(all[activity], key); got != want {
			t.Errorf("%s of the activity is %q, want %q", key, got, want)
		}
	}
	if got := attributeOf(all[run], "chargehand.workflow_id"); got != id {
		t.Errorf("the workflow of the execution is %q, want %s", got, id)
	}
	text, err := json.Marshal(e.GetSpans())
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"secret", i.Key, g.URL} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("the spans say %q:\n%s", hidden, text)
		}
	}

	// What the client does not record has no spans anywhere.
	e.Reset()
	i.run(id, strings.TrimSuffix(remoteParent, "01")+"00", "{}")
	if parents := g.parents(); len(parents) != 1 || parents[0] != "" {
		t.Errorf("without a recorded trace the target was sent %q", parents)
	}
	if list := e.GetSpans(); len(list) != 0 {
		t.Errorf("%d spans of a request that is not recorded: %v", len(list), list[0].Name)
	}
	testTraceOfBatch(t, i, e, g, id)
}

// testTraceOfBatch: each item has a trace of its own, linked to the request.
func testTraceOfBatch(t *testing.T, i *fixture, e *tracetest.InMemoryExporter, g *target, workflow string) {
	status, b := i.Ask("POST", "/workflows/"+workflow+"/batch?wait=30s", "application/json", `{"items":[{},{}]}`)
	if status != 202 || b["status"] != "completed" {
		t.Fatalf("batch: %d %v", status, b)
	}
	const request = "http POST /api/v1/workflows/{workflowId}/batch"
	items := func() (list []tracetest.SpanStub) {
		for _, s := range e.GetSpans() {
			if s.Name == "execution traced" {
				list = append(list, s)
			}
		}
		return list
	}
	apptest.Await(t, func() bool { _, answered := spans(e)[request]; return answered && len(items()) == 2 })
	traces := map[string]bool{}
	for _, s := range items() {
		if s.Parent.IsValid() || len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != spans(e)[request].SpanContext.SpanID() {
			t.Errorf("an item has the parent %v and the links %v", s.Parent, s.Links)
		}
		traces[s.SpanContext.TraceID().String()] = true
	}
	for _, parent := range g.parents() {
		m := regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-01$`).FindStringSubmatch(parent)
		if m == nil || !traces[m[1]] {
			t.Errorf("the target was sent %q, want one of %v", parent, traces)
		}
		delete(traces, m[1])
	}
	if len(traces) != 0 {
		t.Errorf("no call in the traces %v", traces)
	}
}

func TestTrace(t *testing.T) {
	i, e := traced(t)
	testTrace(t, i, e)
	if len(e.GetSpans()) == 0 {
		t.Error("no spans are left")
	}
}

// TestTraceOverTemporal: an API node and a worker, which know each other from rows and from Temporal only.
func TestTraceOverTemporal(t *testing.T) {
	cluster := distributedConfig(t)
	i, e := traced(t, cluster, func(c *Config) { c.APIOnly = true })
	w := work(t, cluster, e)
	testTrace(t, i, e)
	if _, ok := spans(e)["finish"]; !ok {
		t.Error("the worker's own activities have no spans")
	}
	seen := make(map[string]bool)
	for _, s := range e.GetSpans() {
		if seen[s.SpanContext.SpanID().String()] {
			t.Errorf("two spans %q have the same id", s.Name)
		}
		seen[s.SpanContext.SpanID().String()] = true
	}
	testWorkerMetrics(t, i, w)
	testDoctorOfCluster(t, i, cluster)
}

// distributedConfig is a database and a namespace of their own, for several processes.
func distributedConfig(t *testing.T) func(*Config) {
	t.Helper()
	url := peer.StartPostgres(t, peer.PostgresOptions{Careless: true}).NewDatabase(t)
	server := temporalpeer.Start(t)
	namespace := server.NewNamespace(t)
	master, files := apptest.MasterFile(t), "file://"+t.TempDir()
	configure := func(c *Config) {
		c.DatabaseURL, c.MasterKeyFile, c.FilesURL, c.Engine = url, master, files, installation.EngineTemporal
		c.Temporal = installation.Temporal{Dial: temporal.Dial{Address: server.Address(), Namespace: namespace}, Queue: "test"}
	}
	var cfg Config
	configure(&cfg)
	if _, err := operate.SetUpTemporal(t.Context(), cfg.Settings, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	return configure
}

// work runs a worker and returns its address.
func work(t *testing.T, configure func(*Config), e *tracetest.InMemoryExporter) string {
	t.Helper()
	cfg := Config{Settings: installation.Settings{DataDir: t.TempDir()}, Listen: "127.0.0.1:0", WorkerOnly: true, AllowEgress: []string{"127.0.0.1"}, exporter: kept{e}}
	configure(&cfg)
	a, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	apptest.Serve(t, a, "", "")
	return "http://" + a.Address().String()
}
