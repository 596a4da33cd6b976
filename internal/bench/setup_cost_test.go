package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"
)

const flowHead = "document: {dsl: '1.0.3', namespace: bench, name: %s, version: '1.0.0'}\ndo:\n"

// account runs known numbers of executions and counts what they cost. No other load is on the
// site meanwhile.
func (s *site) account(b *testing.B) {
	b.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer receiver.Close()
	ten := fmt.Sprintf(flowHead, "cost-ten")
	for i := range 10 {
		ten += fmt.Sprintf("  - step%d: {call: http, with: {method: get, endpoint: %q}}\n", i, receiver.URL)
	}
	times := map[bool]int{true: 8, false: 1}[s.temporal == nil] // Temporal's tables are large, but slow to fill
	for _, flow := range []struct {
		name, definition string
		count            int
	}{
		{"one set", fmt.Sprintf(flowHead, "cost-one") + "  - a: {set: {order: '${ .order }', total: '${ .amount }'}}\n", 400 * times},
		{"ten HTTP steps", ten, 100 * times},
	} {
		workflow := s.server.Apply(b, flow.definition)
		s.runMany(b, workflow, 32) // connections, plans and pages are there
		s.pack(b)
		s.track(b, true)
		before := s.meter(b)
		last := s.runMany(b, workflow, flow.count)
		after := s.meter(b)
		s.statements += s.listStatements(b, flow.name, flow.count)
		s.track(b, false)
		for _, name := range after.names {
			s.costs[fmt.Sprintf("%s: %s", flow.name, name)] = (after.value[name] - before.value[name]) / float64(flow.count)
		}
		s.weigh(b, flow.name, flow.count)
		if s.temporal != nil {
			s.history(b, flow.name, last)
		}
	}
}

// costNames are the names of all costs, those of one flow together.
func costNames(sites []*site) []string {
	var names []string
	for _, s := range sites {
		for name := range s.costs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, c string) int {
		rank := func(n string) int {
			return slices.IndexFunc([]string{"one set", "ten HTTP", "memory"}, func(p string) bool { return strings.HasPrefix(n, p) })
		}
		return cmp.Or(rank(a)-rank(c), strings.Compare(a, c))
	})
	return names
}

// runMany runs executions to their end, 16 at a time, and returns the id of the last.
func (s *site) runMany(b *testing.B, workflow string, count int) (last string) {
	b.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				mu.Lock()
				count--
				more := count >= 0
				mu.Unlock()
				if !more {
					return
				}
				a, err := s.server.Try(http.MethodPost, "/workflows/"+workflow+"/executions?wait=60s",
					`{"input":{"order":"2026-000001","customer":"c-4711","amount":129.9,"n":10}}`)
				if status, _ := a.Object()["status"].(string); err != nil || status != "finished" {
					b.Errorf("%s: %v, status %q: %s", s.name, err, status, a.Body)
					return
				}
				id, _ := a.Object()["execution_id"].(string)
				mu.Lock()
				last = id
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return last
}

// reading is what counters say at one moment.
type reading struct {
	names []string
	value map[string]float64
}

func (r *reading) add(name string, value float64) {
	r.names = append(r.names, name)
	r.value[name] = value
}

// ticksPerSecond is the unit of the times in /proc, the same on all Linux systems.
const ticksPerSecond = 100

func (s *site) meter(b *testing.B) *reading {
	b.Helper()
	r := &reading{value: map[string]float64{}}
	kinds := s.processes(b)
	for _, kind := range []string{"server", "worker", "PostgreSQL, for Chargehand", "Temporal", "PostgreSQL, for Temporal", "PostgreSQL, its own work"} {
		pids, ok := kinds[kind]
		if !ok {
			continue
		}
		ticks := 0.0
		for _, pid := range pids {
			ticks += cpuTicks(pid)
		}
		r.add("CPU of "+kind+", ms", ticks*1000/ticksPerSecond)
	}
	if s.postgres == nil {
		return r
	}
	s.query(b, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8`, func(v []any) { r.add("write-ahead log, bytes", v[0].(float64)) })
	// Each of our own transactions that writes leaves a mark in table writer.
	const count = `SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(calls) FILTER (WHERE query LIKE 'UPDATE writer%' OR query ILIKE 'commit%' AND d.datname <> current_database()), 0)::float8
 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname `
	s.query(b, count+`= current_database()`, func(v []any) {
		r.add("statements of Chargehand", v[0].(float64))
		r.add("commits of Chargehand", v[1].(float64))
	})
	if s.temporal != nil {
		s.query(b, count+`IN ('`+s.tables+`', '`+s.tables+`_visibility')`, func(v []any) {
			r.add("statements of Temporal", v[0].(float64))
			r.add("commits of Temporal", v[1].(float64))
		})
	}
	return r
}

// cpuTicks is the time that a process has used; 0 if it has gone.
func cpuTicks(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return user + system
}

// addMemory keeps the most that the processes have had at the end of a round: what they share is
// counted once.
func (s *site) addMemory(b *testing.B) {
	for kind, pids := range s.processes(b) {
		sum := 0.0
		for _, pid := range pids {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
			for line := range strings.SplitSeq(string(text), "\n") {
				if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
					kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
					sum += kib / 1024
				}
			}
		}
		name := "memory after the load, MiB: " + kind
		s.costs[name] = max(s.costs[name], sum)
	}
}

// query asks the database of the site, as an administrator does.
func (s *site) query(b *testing.B, text string, row func([]any)) { ask(b, s.database, text, row) }

func ask(b *testing.B, database, text string, row func([]any)) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, text)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			b.Fatal(err)
		}
		if row != nil {
			row(values)
		}
	}
	if rows.Err() != nil {
		b.Fatalf("%s: %v", text, rows.Err())
	}
}

// track begins or ends the counting of statements.
func (s *site) track(b *testing.B, on bool) {
	if s.postgres == nil {
		return
	}
	s.query(b, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements", nil)
	s.query(b, "ALTER SYSTEM SET pg_stat_statements.track = "+map[bool]string{true: "'top'", false: "'none'"}[on], nil)
	s.query(b, "SELECT pg_reload_conf()", nil)
	// a new session has read it, then so have the others
	for now := ""; now != map[bool]string{true: "top", false: "none"}[on]; {
		s.query(b, "SELECT current_setting('pg_stat_statements.track')", func(v []any) { now = v[0].(string) })
	}
	if on {
		s.query(b, "SELECT pg_stat_statements_reset()", nil)
	}
}

// listStatements tells which statements an execution causes, the most frequent first.
func (s *site) listStatements(b *testing.B, flow string, count int) string {
	if s.postgres == nil {
		return ""
	}
	text := fmt.Sprintf("\n%s, %s: statements for one execution in the database of Chargehand\n", s.name, flow)
	s.query(b, `SELECT calls, (rows / calls)::float8, mean_exec_time, regexp_replace(query, '\s+', ' ', 'g') FROM pg_stat_statements s
 JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database() AND calls > 0 AND query NOT LIKE '%pg\_%'
 ORDER BY calls DESC LIMIT 24`, func(v []any) {
		each := float64(v[0].(int64)) / float64(count)
		if query := v[3].(string); each >= 0.02 {
			text += fmt.Sprintf("  %6.2f  %6.2f rows  %.3f ms  %s\n", each, v[1].(float64), v[2].(float64), query[:min(len(query), 110)])
		}
	})
	return text
}

// weighed are the databases of the site.
func (s *site) weighed() map[string]string {
	switch {
	case s.postgres == nil:
		return nil
	case s.temporal == nil:
		return map[string]string{"Chargehand": s.database}
	}
	return map[string]string{
		"Chargehand": s.database, "Temporal": s.postgres.URL(s.tables), "Temporal's visibility": s.postgres.URL(s.tables + "_visibility"),
	}
}

// pack writes all tables anew, without gaps, and remembers what they hold.
func (s *site) pack(b *testing.B) {
	for kind, database := range s.weighed() {
		ask(b, database, "VACUUM FULL", nil)
		s.weights[kind+" rows"], s.weights[kind+" bytes"] = weigh(b, database)
	}
}

// weigh counts the rows and the bytes of a database, indexes included.
func weigh(b *testing.B, database string) (rows, size float64) {
	ask(b, database, `SELECT sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I.%I', schemaname, relname), false, true, '')))[1]::text::float8),
 sum(pg_total_relation_size(relid))::float8 FROM pg_stat_user_tables`, func(v []any) { rows, size = v[0].(float64), v[1].(float64) })
	return rows, size
}

// weigh tells how many rows and bytes executions have left since pack: as they lie there after
// a VACUUM, and without the gaps that rows which changed or went have left.
func (s *site) weigh(b *testing.B, flow string, count int) {
	before := maps.Clone(s.weights)
	for kind, database := range s.weighed() {
		ask(b, database, "VACUUM", nil)
		rows, size := weigh(b, database)
		s.costs[fmt.Sprintf("%s: rows in the database of %s", flow, kind)] = (rows - before[kind+" rows"]) / float64(count)
		s.costs[fmt.Sprintf("%s: bytes in the database of %s", flow, kind)] = (size - before[kind+" bytes"]) / float64(count)
	}
	s.pack(b)
	for kind := range s.weighed() {
		s.costs[fmt.Sprintf("%s: bytes in the database of %s, packed", flow, kind)] = (s.weights[kind+" bytes"] - before[kind+" bytes"]) / float64(count)
	}
}

// history tells what an execution costs in Temporal. Actions are what Temporal's cloud bills.
func (s *site) history(b *testing.B, flow, id string) {
	c := s.temporal.Client(b, s.namespace)
	events, size, actions := 0.0, 0.0, 0.0
	for all := c.GetWorkflowHistory(b.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		event, err := all.Next()
		if err != nil {
			b.Fatal(err)
		}
		events++
		size += float64(proto.Size(event))
		switch event.EventType {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			actions++
		}
	}
	s.costs[flow+": Temporal actions"] = actions
	s.costs[flow+": history events"] = events
	s.costs[flow+": history bytes"] = size
}
