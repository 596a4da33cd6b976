package sqlite_test

import (
	"context"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// recorder collects the statements of package store that pass through a database.
type recorder struct {
	store.DB
	seen *sync.Map // text → []any, the arguments of one use
}

type recordingConn struct {
	store.Conn
	seen *sync.Map
}

func (d recorder) Update(ctx context.Context, fn func(store.Conn) error) error {
	return d.DB.Update(ctx, func(c store.Conn) error { return fn(recordingConn{c, d.seen}) })
}

func (d recorder) View(ctx context.Context, fn func(store.Conn) error) error {
	return d.DB.View(ctx, func(c store.Conn) error { return fn(recordingConn{c, d.seen}) })
}

func (c recordingConn) Exec(query string, args ...any) (int64, error) {
	c.record(query, args)
	return c.Conn.Exec(query, args...)
}

func (c recordingConn) Query(query string, row func(store.Row) error, args ...any) error {
	c.record(query, args)
	return c.Conn.Query(query, row, args...)
}

func (c recordingConn) Insert(query string, args ...any) (int64, error) {
	c.record(query, args)
	return c.Conn.Insert(query, args...)
}

func (c recordingConn) InsertAll(query string, args [][]any) ([]int64, error) {
	c.record(query, args[0])
	return c.Conn.InsertAll(query, args)
}

func (c recordingConn) Each(query string, args [][]any) (int64, error) {
	c.record(query, args[0])
	return c.Conn.Each(query, args)
}

func (c recordingConn) Send(what, query string, args ...any) error {
	c.record(query, args)
	return c.Conn.Send(what, query, args...)
}

func (c recordingConn) record(query string, args []any) {
	caller, _, _, _ := runtime.Caller(2)
	if strings.HasPrefix(runtime.FuncForPC(caller).Name(), "github.com/chargehand/chargehand/internal/store.") {
		c.seen.Store(query, args)
	}
}

// whole are the statements that read a table or index as a whole, and why they may.
var whole = map[string]string{
	"FROM account ORDER BY no":              "accounts are few",
	" wrapped_key ":                         "an installation has a few keys",
	" node ":                                "an installation has a few servers",
	"GROUP BY account, environment":         "at recovery only: everything that is queued",
	"SELECT DISTINCT account, environment":  "at recovery only: everything that is queued",
	"WHERE state <> 0 GROUP BY state":       "at recovery and for metrics: everything that has not ended",
	"WHERE state = 5 ORDER BY start_ms":     "the first entry of an index",
	"FROM batch WHERE status < 3":           "the batches that are not final, from their own index",
	"AND batch = ?1 GROUP BY state":         "groups of at most four",
	"WITH RECURSIVE":                        "steps from one account, or batch, to the next (TestPlansOfHotQueries)",
	"FROM (SELECT no FROM outbox":           "a bounded number of index entries, for metrics",
	"FROM (SELECT no FROM subscription":     "a bounded number of index entries, for metrics",
	"FROM stream ORDER BY account":          "streams are as few as accounts",
	"LEFT JOIN stream_cursor":               "streams are as few as accounts",
	"FROM stream s LEFT JOIN sink":          "streams are as few as accounts",
	"FROM (SELECT id FROM execution":        "a bounded number of index entries, for metrics",
	"FROM (SELECT due_ms FROM timer":        "a bounded number of index entries, for metrics",
	"FROM (SELECT 1 FROM operation":         "a bounded number of index entries",
	"FROM operation WHERE status < 3 ORDER": "the operations that have not ended, from their own index",
	"FROM (SELECT no FROM execution":        "a bounded number of index entries, for metrics",
	"FROM (SELECT expires_ms FROM ticket":   "a bounded number of index entries",
	"FROM usage_sum WHERE slot <> 0":        "the rows that are to be folded, from their own index",
	"FROM (SELECT due_ms FROM mail":         "a bounded number of index entries",
	"FROM (SELECT 1 FROM audit":             "a bounded number of index entries",
	"FROM sign_in_delay ORDER BY updated":   "a bounded number of index entries",
	"FROM (SELECT workflow FROM execution":  "a bounded number of index entries",
	"FROM (SELECT 1 FROM execution":         "a bounded number of index entries (TestPlansOfHotQueries)",
	"FROM (SELECT state FROM execution":     "a bounded number of index entries, groups of at most three",
	"FROM (SELECT 1 FROM human_candidate":   "a bounded number of index entries",
	" AND h.execution = ":                   "the human tasks of one execution, sorted",
	"FROM (SELECT 1 FROM human_task":        "a bounded number of index entries",
	"FROM (SELECT 1 FROM human_comment":     "a bounded number of index entries",
	"(SUM(waiting) AS BIGINT":               "a row for each workflow that sends mail",
	"FROM (SELECT person FROM group_member": "a bounded number of index entries",
	"AS turn FROM task_mail_rate":           "rows of workflows whose mails are due, from an index",
	"FROM (SELECT 1 FROM human_link":        "a bounded number of index entries",
	"FROM (SELECT workflow, started":        "a bounded number of index entries (TestPlansOfHotQueries)",
}

var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

func TestStoreSealed(t *testing.T) {
	storetest.RunSealed(t, func(t *testing.T) store.DB { return template.New(t) }, secret.NewSealer(secret.NewKeys()))
}

// TestStore runs the suite, and then asks SQLite for its plan of every statement that
// package store has used: each must go through an index, so that none gets slower with the
// number of stored rows.
func TestStore(t *testing.T) {
	var seen sync.Map
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.DB {
			return recorder{template.New(t), &seen}
		})
	})
	if t.Failed() {
		return
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "plan.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statements, used := 0, map[string]bool{}
	seen.Range(func(query, args any) bool {
		statements++
		for text := range whole {
			if strings.Contains(query.(string), text) {
				used[text] = true
				return true
			}
		}
		checkPlan(t, db, query.(string), args.([]any))
		return true
	})
	for text := range whole {
		if !used[text] {
			t.Errorf("no statement contains %q any more", text)
		}
	}
	if statements < 90 {
		t.Errorf("only %d statements were seen", statements)
	}
}

func plan(t *testing.T, db store.DB, query string, args []any) (lines []string) {
	t.Helper()
	err := db.View(t.Context(), func(c store.Conn) error {
		return c.Query("EXPLAIN QUERY PLAN "+query, func(r store.Row) error {
			lines = append(lines, r.Text(3))
			return nil
		}, args...)
	})
	if err != nil {
		t.Fatalf("plan of %s: %v", query, err)
	}
	return lines
}

func checkPlan(t *testing.T, db store.DB, query string, args []any) {
	t.Helper()
	lines := plan(t, db, query, args)
	for _, line := range lines {
		if line == "SCAN counted" { // of a subquery that goes through an index, with a LIMIT
			continue
		}
		scan := strings.HasPrefix(line, "SCAN") && line != "SCAN CONSTANT ROW"
		if scan || strings.Contains(line, "TEMP B-TREE") || strings.Contains(line, "AUTOMATIC") {
			t.Errorf("%s\nis planned as:\n  %s", query, strings.Join(lines, "\n  "))
			return
		}
	}
}

// TestPlansOfHotQueries says which index serves a query. Any other choice of SQLite's
// would be correct and slow.
func TestPlansOfHotQueries(t *testing.T) {
	var seen sync.Map
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "plan.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	st := store.New(recorder{db, &seen})
	list := func(f store.ExecutionFilter) func(*store.Reader) error {
		f.Account, f.Environment, f.Limit = 1, 1, 10
		return func(r *store.Reader) error { _, err := r.ListExecutions(f); return err }
	}
	type query struct {
		read func(*store.Reader) error
		want []string // in the plan
	}
	audit := func(f store.AuditFilter, index string) query {
		f.Account, f.Limit = 1, 10
		return query{func(r *store.Reader) error { _, err := r.ListAudit(f); return err }, []string{"SEARCH audit USING INDEX " + index}}
	}
	tasks := func(f store.TaskFilter, want ...string) query {
		f.Account, f.Environment, f.Limit = 1, 1, 10
		return query{func(r *store.Reader) error { _, err := r.HumanTasks(f); return err }, want}
	}
	user := []store.TaskCandidate{{Kind: store.CandidateUser, Name: "a@example.com"}}
	cases := map[string]query{
		"tasks by due time": tasks(store.TaskFilter{}, "SEARCH h USING INDEX human_task_due (account=? AND environment=?)"),
		"tasks by due time, next page": tasks(store.TaskFilter{After: store.TaskKey{Value: 5, No: 5}},
			"SEARCH h USING INDEX human_task_due (account=? AND environment=? AND due_ms>?)"),
		"overdue tasks": tasks(store.TaskFilter{DueBeforeMs: 5}, "SEARCH h USING INDEX human_task_due (account=? AND environment=? AND due_ms<?)"),
		"tasks by priority, next page": tasks(store.TaskFilter{Sort: store.SortPriority, After: store.TaskKey{Value: 5, No: 5}},
			"SEARCH h USING INDEX human_task_priority (account=? AND environment=? AND priority<?)"),
		"newest tasks": tasks(store.TaskFilter{Sort: store.SortCreated, After: store.TaskKey{No: 5}},
			"SEARCH h USING INDEX human_task_open (account=? AND environment=? AND no<?)"),
		"tasks that have ended": tasks(store.TaskFilter{Sort: store.SortCreated, Statuses: []store.TaskStatus{store.TaskAnswered}},
			"SEARCH h USING INDEX human_task_ended (account=? AND environment=?)"),
		"tasks of an execution": tasks(store.TaskFilter{Execution: 5}, "SEARCH h USING INDEX sqlite_autoindex_human_task_2 (execution=?)"),
		"tasks of an execution that have ended": tasks(store.TaskFilter{Execution: 5, Sort: store.SortCreated, Statuses: []store.TaskStatus{store.TaskWithdrawn}},
			"SEARCH h USING INDEX sqlite_autoindex_human_task_2 (execution=?)"),
		"tasks of an execution of a user": tasks(store.TaskFilter{Execution: 5, Candidates: user},
			"SEARCH h USING INDEX sqlite_autoindex_human_task_2 (execution=?)", "SEARCH c USING PRIMARY KEY (task=? AND kind=? AND name=?)"),
		"tasks of a user": tasks(store.TaskFilter{Candidates: user, After: store.TaskKey{Value: 5, No: 5}},
			"SEARCH c USING COVERING INDEX human_candidate_due (account=? AND environment=? AND kind=? AND name=? AND (due_ms,task)>(?,?))"),
		"tasks of a user without those of another": tasks(store.TaskFilter{Candidates: user, Without: user},
			"SEARCH c USING COVERING INDEX human_candidate_due (account=? AND environment=? AND kind=? AND name=?)",
			"SEARCH o USING PRIMARY KEY (task=? AND kind=? AND name=?)"),
		"tasks of a user by priority": tasks(store.TaskFilter{Candidates: user, Sort: store.SortPriority, After: store.TaskKey{Value: 5, No: 5}},
			"SEARCH c USING COVERING INDEX human_candidate_priority (account=? AND environment=? AND kind=? AND name=? AND priority<?)"),
		"newest tasks of a user": tasks(store.TaskFilter{Candidates: user, Sort: store.SortCreated},
			"SEARCH c USING COVERING INDEX human_candidate_created (account=? AND environment=? AND kind=? AND name=?)"),
		"tasks that a user has answered": tasks(store.TaskFilter{Answerer: -4, Sort: store.SortCreated, Statuses: []store.TaskStatus{store.TaskAnswered}},
			"SEARCH h USING INDEX human_task_answerer (answerer=? AND account=? AND environment=?)"),
		"list by environment": {list(store.ExecutionFilter{}), []string{
			"MERGE (UNION ALL)", "SEARCH e USING INDEX execution_environment (account=? AND environment=? AND status=? AND id>? AND id<?)"}},
		"list by workflow": {list(store.ExecutionFilter{Workflow: 3}), []string{
			"MERGE (UNION ALL)", "SEARCH e USING INDEX execution_workflow (workflow=? AND environment=? AND status=? AND id>? AND id<?)"}},
		"list by status": {list(store.ExecutionFilter{Statuses: []chargehand.Status{chargehand.Errored}}), []string{
			"SEARCH e USING INDEX execution_environment (account=? AND environment=? AND status=? AND id>? AND id<?)"}},
		"retries": {list(store.ExecutionFilter{Workflow: 3, StartedBy: -7, Conditions: store.Conditions{RetryOf: chargehand.ExecutionID{1}}}), []string{
			"SEARCH e USING INDEX execution_retry (retry_of=? AND id>? AND id<?)"}},
		"list by batch": {list(store.ExecutionFilter{Batch: 3}), []string{
			"MERGE (UNION ALL)", "SEARCH e USING INDEX execution_batch (batch=? AND status=? AND item<?)"}},
		"keys by environment": {func(r *store.Reader) error {
			_, err := r.ExecutionKeys(store.ExecutionFilter{Account: 1, Environment: 1, Limit: 10})
			return err
		}, []string{"MERGE (UNION ALL)", "SEARCH e USING COVERING INDEX execution_environment (account=? AND environment=? AND status=? AND id>? AND id<?)"}},
		"count of a workflow": {func(r *store.Reader) error {
			_, err := r.CountListed(store.ExecutionFilter{Account: 1, Environment: 1, Workflow: 3, Limit: 10})
			return err
		}, []string{"SEARCH e USING COVERING INDEX execution_workflow (workflow=? AND environment=? AND status=? AND id>? AND id<?)"}},
		"count by label": {func(r *store.Reader) error {
			_, err := r.CountListed(store.ExecutionFilter{Account: 1, Environment: 1, Limit: 10, Conditions: store.Conditions{Label: &store.Label{Name: "a", Value: "b"}}})
			return err
		}, []string{"SEARCH l USING COVERING INDEX label_value (account=? AND environment=? AND name=? AND value=? AND id>? AND id<?)"}},
		"count by label and workflow": {func(r *store.Reader) error {
			_, err := r.CountListed(store.ExecutionFilter{Account: 1, Environment: 1, Workflow: 3, Limit: 10, Conditions: store.Conditions{Label: &store.Label{Name: "a", Value: "b"}}})
			return err
		}, []string{"SEARCH l USING COVERING INDEX label_value (account=? AND environment=? AND name=? AND value=? AND id>? AND id<?)"}},
		"batches with a label": {func(r *store.Reader) error {
			_, _, err := r.BatchesWithLabel(store.BatchFilter{Account: 1, Environment: 1}, store.Label{Name: "a", Value: "b"}, 10)
			return err
		}, []string{"SEARCH batch_label USING COVERING INDEX batch_label_value (account=? AND environment=? AND name=? AND value=?)"}},
		"failures": {func(r *store.Reader) error {
			_, err := r.Failures(store.ExecutionFilter{Account: 1, Environment: 1, Failed: true, Workflow: 2, StartedBy: -7, Limit: 10})
			return err
		}, []string{"SEARCH e USING COVERING INDEX execution_failed (account=? AND environment=? AND id>? AND id<?)"}},
		"failures to look at": {func(r *store.Reader) error {
			_, _, err := r.Examined(store.ExecutionFilter{Account: 1, Environment: 1, Failed: true, Workflow: 2, StartedBy: -7}, 10)
			return err
		}, []string{"SEARCH e USING COVERING INDEX execution_failed (account=? AND environment=? AND id>? AND id<?)"}},
		"now": {func(r *store.Reader) error {
			_, err := r.CountNow(store.NowFilter{Account: 1, Environment: 1}, 10)
			return err
		}, []string{"SEARCH e USING COVERING INDEX execution_now (account=? AND environment=? AND state=?)"}},
		"queued items": {func(r *store.Reader) error { _, err := r.QueuedItems(1, 5); return err }, []string{
			"SEARCH e USING INDEX execution_unfinished (state=? AND account=? AND batch=?)"}},
		"queued singles": {func(r *store.Reader) error { _, err := r.QueuedSingles(1, 1, 1, 5); return err }, []string{
			"SEARCH e USING INDEX execution_queued (account=? AND environment=? AND workflow=?)"}},
		"queued singles of an actor": {func(r *store.Reader) error { _, err := r.QueuedSinglesOf(1, 1, 1, 1, 5); return err }, []string{
			"SEARCH e USING INDEX execution_queued_actor (account=? AND environment=? AND workflow=? AND <expr>=?)"}},
		"by run": {func(r *store.Reader) error { _, err := r.ExecutionsByState(3, &store.Execution{}, 5); return err }, []string{
			"SEARCH e USING INDEX execution_unfinished (state=? AND account=? AND batch=? AND item=? AND rowid>?)",
			"SEARCH e USING INDEX execution_unfinished (state=? AND (account,batch,item)>(?,?,?))"}},
		"accounts that wait": {func(r *store.Reader) error { _, err := r.WaitingAccounts(); return err }, []string{
			"SEARCH execution USING COVERING INDEX execution_unfinished (state=?)", "SEARCH e USING COVERING INDEX execution_unfinished (state=? AND account>?)"}},
		"sources": {func(r *store.Reader) error {
			_, err := r.Queues(1, store.StateQueued, chargehand.Test, store.QueuePosition{}, 5)
			return err
		}, []string{
			"SEARCH e USING COVERING INDEX execution_queued (account=? AND environment=? AND workflow>?)",
			"SEARCH execution USING COVERING INDEX execution_unfinished (state=? AND account=? AND batch>?)",
			"SEARCH e USING COVERING INDEX execution_unfinished (state=? AND account=? AND batch>?)"}},
		"sources of woken": {func(r *store.Reader) error {
			_, err := r.Queues(1, store.StateReady, chargehand.Test, store.QueuePosition{}, 5)
			return err
		}, []string{
			"SEARCH e USING COVERING INDEX execution_ready (account=? AND batch=? AND environment=? AND workflow>?)"}},
		"woken before": {func(r *store.Reader) error { _, err := r.ReadyBefore(1, store.Queue{}); return err }, []string{
			"SEARCH execution USING COVERING INDEX execution_ready (account=? AND batch=? AND environment=? AND workflow=?)"}},
		"active executions of test": {func(r *store.Reader) error { _, err := r.CountActiveOfTest(1, 9); return err }, []string{
			"SEARCH execution USING COVERING INDEX execution_test (account=? AND environment=? AND state=?)"}},
		"does an account wait": {func(r *store.Reader) error { _, err := r.Waiting(1); return err }, []string{
			"SEARCH execution USING COVERING INDEX execution_unfinished (state=? AND account=?)"}},
		"active executions": {func(r *store.Reader) error { _, err := r.CountActive(1, 9); return err }, []string{
			"SEARCH execution USING COVERING INDEX execution_unfinished (state=? AND account=?)"}},
		"full queue": {func(r *store.Reader) error {
			_, err := r.QueuedAtLeast(store.QueuedWorkflow{Account: 1, Environment: chargehand.Live, Workflow: 1}, 10)
			return err
		}, []string{
			"SEARCH execution USING COVERING INDEX execution_queued (account=? AND environment=? AND workflow=?)"}},
		"due messages": {func(r *store.Reader) error { _, err := r.OutboxDue(1); return err }, []string{
			"SEARCH outbox USING COVERING INDEX outbox_due (due_ms<?)"}},
		"statuses": {func(r *store.Reader) error { return r.Statuses([][16]byte{{1}, {2}}, func([16]byte, int64) {}) }, []string{
			"SEARCH execution USING INDEX sqlite_autoindex_execution_1 (id=?)", "SEARCH batch USING INDEX sqlite_autoindex_batch_1 (id=?)"}},
		"walk": {func(r *store.Reader) error { _, err := r.ScanUnfinished(4, &store.Execution{}, 5); return err }, []string{
			"SEARCH e USING INDEX execution_unfinished (state=? AND (account,batch,item)>(?,?,?))"}},
		"items of a batch": {func(r *store.Reader) error { return r.BatchItems(1, 0, 5, nil, nil) }, []string{
			"SEARCH e USING INDEX execution_batch (batch=? AND status=? AND item>?)"}},
		"next timers": {func(r *store.Reader) error { _, err := r.TimersAfter(store.Timer{}, 5); return err }, []string{
			"SEARCH timer USING COVERING INDEX timer_due (environment=? AND (due_ms,execution,command)>(?,?,?))"}},
		"published workflows": {func(r *store.Reader) error {
			_, err := r.ListWorkflows(store.WorkflowFilter{Account: 1, Limit: 5})
			return err
		}, []string{
			"SEARCH workflow USING INDEX workflow_published (account=? AND created_ms<?)"}},
		"counts by workflow": {func(r *store.Reader) error {
			_, _, err := r.WorkflowCounts(store.RollupKey{Account: 1, Environment: 1}, 0, 5*store.DayMs, 10)
			return err
		}, []string{"SEARCH rollup USING COVERING INDEX rollup_time (account=? AND environment=? AND actor=? AND (day,hour_ms)>(?,?) AND (day,hour_ms)<(?,?))"}},
		"durations by workflow": {func(r *store.Reader) error {
			return r.WorkflowDurations(store.RollupKey{Account: 1, Environment: 1}, 0, 5*store.DayMs, map[int64]*store.Rollup{1: {}, 2: {}})
		}, []string{"SEARCH rollup USING PRIMARY KEY (account=? AND environment=? AND workflow=? AND actor=? AND day=? AND hour_ms>? AND hour_ms<?)"}},
		"audit log": audit(store.AuditFilter{}, "audit_account (account=? AND id>? AND id<?)"),
		"audit log of an environment": audit(store.AuditFilter{Environment: chargehand.Test},
			"audit_environment (account=? AND environment=? AND id>? AND id<?)"),
		"audit log by actor":  audit(store.AuditFilter{Actor: "a"}, "audit_actor (account=? AND actor_id=? AND id>? AND id<?)"),
		"audit log by action": audit(store.AuditFilter{Action: "a"}, "audit_action (account=? AND action=? AND id>? AND id<?)"),
		"audit log by target": audit(store.AuditFilter{Target: "a"}, "audit_target (account=? AND target_id=? AND id>? AND id<?)"),
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seen.Clear()
			if err := st.View(t.Context(), c.read); err != nil {
				t.Fatal(err)
			}
			var lines []string
			seen.Range(func(query, args any) bool {
				lines = append(lines, plan(t, db, query.(string), args.([]any))...)
				return true
			})
			sort.Strings(lines)
			got := strings.Join(lines, "\n")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("plan:\n%s\nwant %s", got, want)
				}
			}
			if strings.HasPrefix(name, "tasks of an execution") { // they are few, and sorted
				got = strings.ReplaceAll(got, "USE TEMP B-TREE FOR ORDER BY", "")
			}
			if name == "counts by workflow" { // they are bounded, and added up
				got = strings.ReplaceAll(got, "USE TEMP B-TREE FOR GROUP BY", "")
			}
			if strings.Contains(got, "TEMP B-TREE") || strings.Contains(strings.NewReplacer("SCAN step", "", "SCAN counted", "", "SCAN CONSTANT ROW", "").Replace(got), "SCAN") {
				t.Errorf("plan:\n%s\nsorts or scans", got)
			}
		})
	}
}
