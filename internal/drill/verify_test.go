package drill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
)

// quietTime is the maximum of time for the rest of the work after the last end was seen: messages
// to workflows that have ended, and the delay of Temporal's own list of workflows.
const quietTime = 30 * time.Second

// verify checks the end of everything that was accepted.
func (d *drill) verify() {
	d.t.Helper()
	l := d.load
	if len(l.singles) != d.singles {
		d.t.Errorf("%d single executions were accepted, want %d", len(l.singles), d.singles)
	}
	if got := l.batch.last; got.Status != "completed" || got.Total != d.items || got.Completed != d.items || got.Failed != 0 {
		d.t.Errorf("the batch ended as %+v", got)
	}
	all := slices.Clone(l.singles)
	for i, id := range d.itemIDs() {
		all = append(all, &request{in: newInput(batchTag, i), path: "/workflows/" + l.workflow + "/executions/" + id})
	}
	known := map[string]bool{}
	for _, q := range all {
		if known[q.path] {
			d.t.Errorf("%s is also another execution", q.path)
		}
		known[q.path] = true
	}
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() {
			c := client{load: l, turn: n}
			for i := n; i < len(all); i += 8 {
				c.verifyEnd(all[i], d.receiver)
			}
		})
	}
	readers.Wait()
}

func (c *client) verifyEnd(q *request, r *receiver) {
	got := c.compare(q, "")
	if got.Status != "finished" || got.Output.Item != q.in.Item || got.Output.N != q.in.n() || len(got.Results) != 1 {
		c.t.Errorf("%s (%s) at %s ended as %+v, want the output %d", q.in.name(), q.in.Kind, q.path, got, q.in.n())
		return
	}
	c.verifyFile(q, got.Results[0].Filename, got.Results[0].URL)
	c.verifyTimeline(q)
	c.verifyCalls(q, got.FinishedAt, r)
}

// verifyCalls checks that every step was called, and none after something that can only follow
// from its outcome: the next step, or the end of the execution.
func (c *client) verifyCalls(q *request, finishedAt string, r *receiver) {
	limit, err := time.Parse(time.RFC3339, finishedAt)
	if err != nil {
		c.t.Errorf("%s finished at %q", q.in.name(), finishedAt)
	}
	limit = limit.Add(time.Millisecond) // that is its resolution
	for _, step := range slices.Backward(q.in.steps()) {
		owner := callBody{Tag: q.in.Tag, Item: q.in.Item}.item() + "/" + step
		first, last, end, err := r.span(owner)
		if err != nil {
			c.t.Error(err)
			return
		}
		if last.After(limit) || end.After(limit) {
			c.t.Errorf("%s was called at %s and answered at %s; what follows from it was at %s", owner, clock(last), clock(end), clock(limit))
		}
		if q.in.Kind != "fork" {
			limit = first
		}
	}
}

func (c *client) verifyFile(q *request, name, address string) {
	resp, err := http.Get(address)
	if err != nil {
		c.t.Errorf("the result of %s: %v", q.in.name(), err)
		return
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	want, wantName := q.in.file(), "made.txt"
	if want == "" {
		want, wantName = fmt.Sprintf(`{"item":%d,"n":%d}`, q.in.Item, q.in.n()), "output.json"
	}
	if err != nil || resp.StatusCode != http.StatusOK || string(content) != want || name != wantName {
		c.t.Errorf("the result %s of %s: %s %.200q %v, want %s with %q", name, q.in.name(), resp.Status, content, err, wantName, want)
	}
}

// verifyTimeline checks that the timeline tells of every task, once, to its end.
func (c *client) verifyTimeline(q *request) {
	var timeline struct {
		Data []struct {
			Seq        int
			Name       string
			Phase      string
			FinishedAt string `json:"finished_at"`
		}
	}
	a := c.ask(http.MethodGet, q.path+"/timeline?limit=100", "")
	if err := json.Unmarshal(a.Body, &timeline); err != nil || a.Status != http.StatusOK {
		c.t.Errorf("timeline of %s: %d %.300s", q.in.name(), a.Status, a.Body)
		return
	}
	var names []string
	for i, entry := range timeline.Data {
		names = append(names, entry.Name)
		if entry.Seq != i+1 || entry.FinishedAt == "" || entry.Phase != "completed" {
			c.t.Errorf("timeline of %s: entry %d is %+v", q.in.name(), i, entry)
		}
	}
	slices.Sort(names)
	if want := q.in.timeline(); !slices.Equal(names, want) {
		c.t.Errorf("timeline of %s (%s) has %q, want %q", q.in.name(), q.in.Kind, names, want)
	}
}

// verifyQuiet checks that nothing is left of the work: no row that is not final, no message, no
// open workflow; and that every execution ended once, and nothing changed after it.
func (d *drill) verifyQuiet() {
	d.t.Helper()
	awaitQuiet(d.site)
	var rows, finished, ends, ended, changes, outcomes int
	queryInts(d.t, d.database, `SELECT (SELECT count(*) FROM execution), (SELECT count(*) FROM execution WHERE state = 0),
 (SELECT count(*) FROM drill_end), (SELECT count(DISTINCT no) FROM drill_end), (SELECT count(*) FROM drill_change),
 (SELECT count(*) FROM outcome WHERE fault IS NULL)`, &rows, &finished, &ends, &ended, &changes, &outcomes)
	want := d.items + d.singles
	if rows != want || finished != want || ends != want || ended != want || changes != 0 || outcomes != want {
		d.t.Errorf("%d executions were accepted; there are %d rows, %d final, %d without a fault; %d ends of %d executions; %d changes after an end",
			want, rows, finished, outcomes, ends, ended, changes)
	}
}

// awaitQuiet waits until no row, no message and no workflow is open.
func awaitQuiet(s *site) {
	s.t.Helper()
	remote := s.temporal.Client(s.t, s.namespace)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(quietTime); ; <-tick.C {
		var unfinished, outbox int
		queryInts(s.t, s.database, `SELECT (SELECT count(*) FROM execution WHERE state <> 0), (SELECT count(*) FROM outbox)`, &unfinished, &outbox)
		open, err := openWorkflows(remote, s.namespace)
		if err == nil && unfinished == 0 && outbox == 0 && open == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%v after the end: %d rows that are not final, %d messages, %d open workflows (%v)", quietTime, unfinished, outbox, open, err)
			return
		}
	}
}

func openWorkflows(c sdk.Client, namespace string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	a, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: `ExecutionStatus = "Running"`})
	return a.GetCount(), err
}

// showOpen tells what the rows that are not final are, for a drill that failed.
func (d *drill) showOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, d.database)
	if err != nil {
		d.t.Logf("look at what is open: %v", err)
		return
	}
	defer c.Close(ctx)
	for _, text := range []string{
		`SELECT format('execution %s %s item %s state %s status %s phase %s', no, encode(id, 'hex'), item, state, status, phase) FROM execution WHERE state <> 0 LIMIT 20`,
		`SELECT format('outbox %s', row_to_json(outbox)) FROM outbox LIMIT 20`,
	} {
		rows, err := c.Query(ctx, text)
		if err != nil {
			d.t.Log(err)
			continue
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		d.t.Log(strings.Join(lines, "\n"), err)
	}
}

func databaseName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.TrimPrefix(u.Path, "/")
}

// report tells what the drill did.
func (d *drill) report(took time.Duration, w *watcher) {
	d.t.Helper()
	repeated, latest := d.receiver.verify(d.outages)
	effects, calls := d.receiver.count()
	if want := (d.items + d.singles) * effectsPer / len(kinds); effects < want-effectsPer || effects > want+effectsPer {
		d.t.Errorf("%d effects, want about %d", effects, want)
	}
	d.receiver.mu.Lock()
	most := d.receiver.most
	d.receiver.mu.Unlock()
	if most > concurrency {
		d.t.Errorf("%d items of the batch were in a call at once, at most %d may", most, concurrency)
	}
	l := d.load
	var text strings.Builder
	fmt.Fprintf(&text, "batch of %d with concurrency %d, %d single executions; servers and nodes started in %.1f s\n", d.items, concurrency, d.singles, d.opened.Seconds())
	fmt.Fprintf(&text, "all ended in %.1f s: %.1f executions per second\n", took.Seconds(), float64(d.items+d.singles)/took.Seconds())
	fmt.Fprintf(&text, "%d effects in %d calls; %d repeated, each in flight when its worker was killed (at most %v after its answer)\n", effects, calls, repeated, latest.Round(time.Millisecond))
	fmt.Fprintf(&text, "at once: %d items of the batch (%d in a call) of %d, %d executions of %d, in %d samples\n", w.mostBatch, most, concurrency, w.mostAll, maxRunning, w.samples)
	fmt.Fprintf(&text, "clients: %d reads, %d requests without answer, %d answered with 503, %d starts repeated\n", l.reads.Load(), l.lost.Load(), l.refused.Load(), l.replayed.Load())
	for i, o := range d.outages {
		until := o.to.Add(20 * time.Second)
		if i+1 < len(d.outages) && d.outages[i+1].from.Before(until) {
			until = d.outages[i+1].from
		}
		if end := d.begun.Add(took); until.After(end) {
			until = end
		}
		fmt.Fprintf(&text, "%-22s at %5.1f s, back after %4.1f s; longest pause between effects %4.1f s\n",
			o.name, o.from.Sub(d.begun).Seconds(), o.to.Sub(o.from).Seconds(), d.receiver.pause(o.from, until).Seconds())
	}
	d.t.Log("\n" + text.String())
}
