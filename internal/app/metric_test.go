package app

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/telemetry"
)

// The patterns find the names of metrics in the text of a registry's descriptions, in that of /metrics and in Markdown.
var (
	describedName = regexp.MustCompile(`fqName: "([^"]+)"`)
	shownName     = regexp.MustCompile(`(?m)^# TYPE (\S+) `)
	metricName    = regexp.MustCompile("`((?:chargehand|temporal)_[a-z_]+)(?:\\{([a-z_, ]+)\\})?`")
	describedVars = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)
)

// collected is a registry that only remembers what it was given.
type collected map[string]string

// Register implements prometheus.Registerer.
func (c collected) Register(of prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 100)
	of.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		name := describedName.FindStringSubmatch(d.String())[1]
		labels := strings.Split(describedVars.FindStringSubmatch(d.String())[1], ",")
		slices.Sort(labels)
		c[name] = strings.Join(labels, ",")
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (c collected) MustRegister(all ...prometheus.Collector) {
	for _, one := range all {
		_ = c.Register(one)
	}
}

// Unregister implements prometheus.Registerer.
func (c collected) Unregister(prometheus.Collector) bool { return false }

// TestMetricsAreDocumented: docs/reference/metrics.md lists every metric of ours, with its labels, and
// no other.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for row := range strings.Lines(string(text)) {
		if !strings.HasPrefix(row, "| ") {
			continue // a sentence may name a metric without its labels
		}
		for _, m := range metricName.FindAllStringSubmatch(row, -1) {
			labels := strings.Split(strings.ReplaceAll(m[2], " ", ""), ",")
			slices.Sort(labels)
			documented[m[1]] = strings.Join(labels, ",")
		}
	}
	registered := collected{}
	telemetry.NewTemporalMetrics(registered)
	telemetry.Watched(nil, registered, nil)
	registered.MustRegister(telemetry.NewDatabase(), newRows(nil, true), newQuotas(nil), sinkRows{}, &mailRows{}, &reminderRows{})
	registerEmbedded(registered, &embedded.Engine{})
	registerTemporal(registered, &temporal.Engine{})
	registerLogs(registered, &runlog.Writer{})
	api.RegisterMetrics(registered)
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		labels, ok := documented[name]
		if !ok {
			t.Errorf("docs/reference/metrics.md does not know %s{%s}", name, registered[name])
		} else if labels != registered[name] {
			t.Errorf("docs/reference/metrics.md gives %s the labels {%s}; it has {%s}", name, labels, registered[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if _, ok := registered[name]; !ok {
			t.Errorf("docs/reference/metrics.md knows %s, which does not exist", name)
		}
	}
}

// scrape reads /metrics of a server.
func (i *fixture) scrape(base string) string {
	i.T.Helper()
	status, text := i.Fetch("GET", base+"/metrics", "", "")
	if status != 200 {
		i.T.Fatalf("/metrics: %d %s", status, text)
	}
	return string(text)
}

// wantSamples complains about samples that a scrape does not have.
func wantSamples(t *testing.T, text string, samples ...string) {
	t.Helper()
	for _, want := range samples {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(text) {
			t.Errorf("no sample %s in\n%s", want, text)
		}
	}
}

// testWorkerMetrics scrapes an API node and a worker of an installation that has carried out
// four calls and ended four executions.
func testWorkerMetrics(t *testing.T, i *fixture, worker string) {
	completed := regexp.MustCompile(`(?m)^temporal_workflow_completed_total 4$`)
	// A workflow completes after its row.
	apptest.Await(t, func() bool { return completed.MatchString(i.scrape(worker)) })
	text := i.scrape(worker)
	wantSamples(t, text,
		`chargehand_activities_ended_total\{kind="http",result="completed"\} 4`, `chargehand_activities_running\{kind="http"\} 0`,
		`chargehand_activity_duration_seconds_count\{kind="http"\} 4`,
		`chargehand_database_duration_seconds_count\{transaction="update"\} [1-9].*`,
		`temporal_workflow_task_schedule_to_start_latency_seconds_count\{.*\} [1-9].*`,
		`temporal_activity_schedule_to_start_latency_seconds_count\{.*\} [1-9].*`,
		`temporal_activity_execution_latency_seconds_count\{activity_type="chargehand.perform"\} 4`,
		`temporal_sticky_cache_size .*`, `temporal_num_pollers\{.*\} [1-9].*`,
		`temporal_worker_task_slots_available\{.*\} [1-9].*`, `temporal_request_total\{operation="RespondWorkflowTaskCompleted"\} [1-9].*`)
	for _, name := range shownName.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(name[1], "chargehand_outbox") || name[1] == "chargehand_executions" {
			t.Errorf("a worker counts rows: %s", name[1])
		}
	}
	text = i.scrape(strings.TrimSuffix(i.Base, "/api/v1"))
	wantSamples(t, text, `chargehand_executions\{state="active"\} 0`, `chargehand_outbox_messages \d+`, `chargehand_outbox_late_seconds .*`, `chargehand_workers -?\d`,
		`chargehand_messages_delivered_total [1-9].*`, `chargehand_http_requests_total\{route="POST /api/v1/workflows/\{workflowId\}/batch",status="202"\} 1`,
		`temporal_request_total\{operation="StartWorkflowExecution"\} [1-4]`) // the worker may deliver some too
}

// TestMetricsOfOneProcess: what the embedded engine does is counted.
func TestMetricsOfOneProcess(t *testing.T) {
	i := install(t, t.TempDir(), func(c *Config) { c.AllowEgress = []string{"127.0.0.1"} })
	g := newTarget(t)
	id := i.Apply(apptest.Definition("calls", "{call: http, with: {method: get, endpoint: '"+g.URL+"'}}"))
	waits := i.Apply(apptest.Definition("waits", "{wait: {seconds: 60}}"))
	i.run(id, remoteParent, "{}")
	if parents := g.parents(); len(parents) != 1 || parents[0] != "" {
		t.Errorf("though nothing is traced, the target was sent %q", parents)
	}
	if status, v := i.Ask("POST", "/workflows/"+waits+"/executions", "application/json", "{}"); status != 201 {
		t.Fatalf("start: %d %v", status, v)
	}
	apptest.Await(t, func() bool {
		_, page := i.Ask("GET", "/workflows/"+waits+"/executions?status=processing", "", "")
		list, _ := page["data"].([]any)
		return len(list) == 1
	})
	wantSamples(t, i.scrape(strings.TrimSuffix(i.Base, "/api/v1")),
		`chargehand_activities_ended_total\{kind="http",result="completed"\} 1`, `chargehand_owner 1`,
		`chargehand_executions\{state="queued"\} 0`, `chargehand_executions\{state="parked"\} 1`,
		`chargehand_database_duration_seconds_count\{transaction="view"\} [1-9].*`, `go_goroutines \d+`)
}
