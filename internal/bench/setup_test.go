package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/chargehand/chargehand/internal/bench"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/servertest"
)

// limited are the defaults of Temporal's server where the one of the tests has others: it
// fires timers without the second that allows for the clocks of several machines, and limits no rate.
var limited = []string{
	"history.timerProcessorMaxTimeShift=1s", "history.timerProcessorMaxPollRPS=20",
	"history.transferProcessorMaxPollRPS=20", "history.visibilityProcessorMaxPollRPS=20",
	"history.rps=3000", "history.persistenceMaxQPS=9000", "matching.rps=1200", "matching.persistenceMaxQPS=3000",
	"frontend.rps=2400", "frontend.namespaceRPS=2400", "frontend.namespaceRPS.visibility=10", "frontend.persistenceMaxQPS=2000",
	"system.namespaceCacheRefreshInterval=2s", "system.clusterMetadataRefreshInterval=1m",
	"system.forceSearchAttributesCacheRefreshOnRead=false",
}

// BenchmarkSetups runs `chargehand bench` against each set-up of an installation, one after
// the other and all of them again, so that a machine that changes meanwhile is seen, and
// counts what an execution costs in each. `make bench/setups` runs it; -benchtime 1x.
func BenchmarkSetups(b *testing.B) {
	rounds, clients, duration := setting(b, "ROUNDS", 2), setting(b, "CLIENTS", 32), setting(b, "SECONDS", 3)
	began := time.Now()
	fmt.Println(uptime())
	postgres := peer.StartPostgres(b, peer.PostgresOptions{Settings: []string{
		"shared_buffers = 256MB", "max_wal_size = 1GB", "autovacuum_naptime = 1min", // the last line of a name counts
		"shared_preload_libraries = 'pg_stat_statements'", "pg_stat_statements.track = none",
	}})
	test := newSite(b, "Temporal, no limits", postgres).on(b, "unlimited")
	sites := []*site{
		newSite(b, "SQLite", nil),
		newSite(b, "PostgreSQL", postgres),
		newSite(b, "Temporal", postgres).on(b, "limited", limited...),
		test,
	}
	if only := os.Getenv("CHARGEHAND_BENCH_SETUP"); only != "" {
		sites = slices.DeleteFunc(sites, func(s *site) bool { return s.name != only })
		if len(sites) == 0 {
			b.Fatalf("CHARGEHAND_BENCH_SETUP: there is no set-up %q", only)
		}
	}
	figures := map[string]map[*site][]float64{}
	var names []string
	units := map[string]string{}
	for round := range rounds {
		for _, s := range sites {
			s.start(b)
			if round == 0 && s != test {
				s.account(b)
			}
			for _, f := range s.measure(b, clients, time.Duration(duration)*time.Second) {
				if figures[f.Name] == nil {
					figures[f.Name] = map[*site][]float64{}
					names = append(names, f.Name)
				}
				figures[f.Name][s] = append(figures[f.Name][s], f.Value)
				units[f.Name] = f.Unit
			}
			s.addMemory(b)
			s.stop()
		}
	}
	fmt.Printf("%s, %d rounds in %s, %d clients at most; each figure is the median of the rounds,\nwith its ratio to %s and the spread between the rounds\n\n",
		uptime(), rounds, time.Since(began).Round(time.Second), clients, sites[0].name)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	title(w, "", sites)
	for _, name := range names {
		row := fmt.Sprintf("%s, %s", name, units[name])
		for _, s := range sites {
			row += "\t" + summary(figures[name][s], figures[name][sites[0]])
		}
		fmt.Fprintln(w, row)
	}
	fmt.Fprintln(w)
	title(w, "what one execution costs", sites)
	for _, name := range costNames(sites) {
		row := name
		for _, s := range sites {
			cell := "-"
			if value, ok := s.costs[name]; ok {
				cell = short(value)
			}
			row += "\t" + cell
		}
		fmt.Fprintln(w, row)
	}
	w.Flush()
	for _, s := range sites {
		fmt.Print(s.statements)
	}
	fmt.Println(`
PostgreSQL: one server for all, fsync and full_page_writes on, shared_buffers 256 MB; the tables of Temporal are in
it too, in databases of their own. Temporal: one process with 4 history shards; "Temporal" has the server's own defaults, "no
limits" the settings of the tests: no rate limits, timers without the shift of 1 s. Measured from clients on the same machine.`)
}

func setting(b *testing.B, name string, otherwise int) int {
	text := os.Getenv("CHARGEHAND_BENCH_" + name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1000 {
		b.Fatalf("CHARGEHAND_BENCH_%s: %q is not a number from 1 to 1000", name, text)
	}
	return n
}

// uptime says how much others use the machine.
func uptime() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s, load %s", time.Now().UTC().Format(time.RFC3339), strings.Join(strings.Fields(string(text))[:3], " "))
}

func title(w *tabwriter.Writer, first string, sites []*site) {
	for _, s := range sites {
		first += "\t" + s.name
	}
	fmt.Fprintln(w, first)
}

// summary is the median of values, its ratio to the median of base, and the spread.
func summary(values, base []float64) string {
	if len(values) == 0 {
		return "-"
	}
	m := median(values)
	text := short(m)
	if b := median(base); b > 0 && &values[0] != &base[0] {
		text += fmt.Sprintf(" (×%.3g)", m/b)
	}
	if m > 0 {
		text += fmt.Sprintf(" ±%.0f%%", 50*(slices.Max(values)-slices.Min(values))/m)
	}
	return text
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// measure runs `chargehand bench`.
func (s *site) measure(b *testing.B, clients int, d time.Duration) []bench.Figure {
	cmd := servertest.Command(b, "bench", "--only", "finish", "--url", s.server.URL, "--output", "json",
		"--connections", strconv.Itoa(clients), "--duration", d.String())
	cmd.Env = append(servertest.Environment(), "CHARGEHAND_API_KEY="+s.key)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var page struct{ Data []bench.Figure }
	if err == nil {
		err = json.Unmarshal(out, &page)
	}
	if err == nil && len(page.Data) == 0 {
		err = errors.New("no figures")
	}
	if err != nil {
		b.Fatalf("%s: bench: %v\n%s%s", s.name, err, out, stderr.String())
	}
	return page.Data
}

// TestSummary: the figures of a run are printed as they are.
func TestSummary(t *testing.T) {
	for want, got := range map[string]string{
		"100 ±10%":         summary([]float64{110, 90}, nil),
		"20.0 (×0.5) ±50%": summary([]float64{10, 30}, []float64{40, 40}),
		"-":                summary(nil, []float64{1}),
		"2.00 ±50%":        summary([]float64{1, 2, 3}, nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
