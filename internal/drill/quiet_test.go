package drill_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
	"github.com/chargehand/chargehand/internal/servertest"
)

// endedByHandTime is the maximum of time in which a row ends whose workflow was ended in Temporal.
const endedByHandTime = 60 * time.Second

// TestQuiet holds an installation to its promises where nothing is killed but what the test is
// about. The tests share PostgreSQL; one Temporal server is for those that leave it alone.
func TestQuiet(t *testing.T) {
	t.Parallel()
	var postgres *peer.Postgres
	var temporal *temporalpeer.Server
	together(t,
		func() { servertest.Binary(t) },
		func() { postgres = peer.StartPostgres(t, peer.PostgresOptions{Careless: true}) },
		func() { temporal = temporalpeer.Start(t) })
	t.Run("worker stopped", func(t *testing.T) {
		t.Parallel()
		testWorkerStopped(t, newSite(t, postgres, temporal))
	})
	t.Run("ended by hand", func(t *testing.T) {
		t.Parallel()
		testEndedByHand(t, newSite(t, postgres, temporal))
	})
	t.Run("Temporal away", func(t *testing.T) {
		t.Parallel()
		testTemporalAway(t, newSite(t, postgres, temporalpeer.Start(t)))
	})
}

// newLoad is a load on one API node, with a workflow.
func (s *site) newLoad(n *node, definition string) *load {
	server := s.server(n)
	return &load{t: s.t, apis: []*servertest.Server{server}, stopping: make(chan struct{}), starting: make(chan int), workflow: server.Apply(s.t, definition)}
}

// A worker that is stopped in good order, in the middle of calls and processes, loses nothing
// and has nothing repeated.
func testWorkerStopped(t *testing.T, s *site) {
	const items = 40
	api, leaving, staying := s.api("api"), s.worker("leaving"), s.worker("staying")
	s.open(api, leaving, staying)
	l := s.newLoad(api, flow())
	l.startBatch(items, items)
	for s.receiver.present(leaving.name) < 3 {
		effects, _ := s.receiver.count()
		select {
		case <-s.receiver.reach(effects + 1):
		case <-time.After(30 * time.Second):
			t.Fatalf("the worker has %d calls", s.receiver.present(leaving.name))
		}
	}
	leaving.remember()
	begun := time.Now()
	t.Logf("the worker, process %d, is stopped at %s", leaving.cmd.Process.Pid, clock(begun.UTC()))
	if code := leaving.stop(); code != 0 {
		t.Errorf("the worker ended with exit code %d", code)
	}
	leaving.verifyGone()
	if n := s.receiver.present(leaving.name); n != 0 {
		t.Errorf("%d calls of the worker were cut off", n)
	}
	stopped := time.Now()
	c := client{load: l}
	got := c.awaitEnd(l.batch, time.Minute)
	t.Logf("the worker stopped in %.1f s; the batch had ended %.1f s later, with a longest pause of %.1f s between effects",
		stopped.Sub(begun).Seconds(), time.Since(stopped).Seconds(), s.receiver.pause(begun, time.Now()).Seconds())
	if got.Status != "completed" || got.Completed != items {
		t.Errorf("the batch ended as %+v", got)
	}
	want := items * effectsPer / len(kinds)
	if effects, calls := s.receiver.count(); effects != want || calls != want {
		t.Errorf("%d effects in %d calls, want %d", effects, calls, want)
	}
	s.receiver.verify(nil)
	verifyNotInterrupted(s, l)
	awaitQuiet(s)
	stopAll(t, api, staying)
}

// verifyNotInterrupted checks that Temporal has taken no attempt for lost: a task that may be
// done only once would have faulted. Work that Temporal gave to the worker while that stopped
// must have been returned unstarted, which the history says.
func verifyNotInterrupted(s *site, l *load) {
	s.t.Helper()
	remote := s.temporal.Client(s.t, s.namespace)
	var now view
	if err := json.Unmarshal(l.apis[0].Do(s.t, http.MethodGet, l.batch.path, "").Body, &now); err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range now.Executions {
		events := remote.GetWorkflowHistory(s.t.Context(), entry.ExecutionID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		activities := map[int64]*historypb.HistoryEvent{}
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				s.t.Fatal(err)
			}
			activities[e.GetEventId()] = e
			if failed := e.GetActivityTaskFailedEventAttributes(); failed != nil {
				s.t.Logf("item %d: a task came back at %s: %s", entry.Index, clock(e.GetEventTime().AsTime()), failed.GetFailure().GetMessage())
				if kind := failed.GetFailure().GetApplicationFailureInfo().GetType(); kind != "chargehand.notBegun" {
					s.t.Errorf("item %d: an attempt failed as %q", entry.Index, kind)
				}
			}
			lost := e.GetActivityTaskTimedOutEventAttributes()
			if lost == nil {
				continue
			}
			scheduled, started := activities[lost.GetScheduledEventId()], activities[lost.GetStartedEventId()]
			s.t.Errorf("item %d: %s, scheduled at %s, started at %s by %s, was lost at %s", entry.Index,
				scheduled.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(), clock(scheduled.GetEventTime().AsTime()),
				clock(started.GetEventTime().AsTime()), started.GetActivityTaskStartedEventAttributes().GetIdentity(), clock(e.GetEventTime().AsTime()))
		}
	}
}

// awaitEnd reads something until it has ended.
func (c *client) awaitEnd(q *request, most time.Duration) view {
	c.t.Helper()
	query := "?wait=5s"
	if q.in.Tag == batchTag {
		query += "&executions=none"
	}
	for deadline := time.Now().Add(most); ; {
		if now := c.compare(q, query); now.final() || c.t.Failed() {
			return now
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%s at %s has not ended in %v: %+v", q.in.name(), q.path, most, q.last)
			return q.last
		}
	}
}

// Executions are accepted while Temporal is away, also by a node that starts meanwhile, and end
// when it is back.
func testTemporalAway(t *testing.T, s *site) {
	s.temporal.Kill()
	first, second := s.serve("first", "--connect-to", s.receiver.openPort("first")), s.serve("second", "--connect-to", s.receiver.openPort("second"))
	s.open(first, second)
	l := s.newLoad(first, flow())
	l.apis = append(l.apis, s.server(second))
	var made []*request
	for i := range 8 {
		in := newInput(singleTag, i)
		a := l.apis[i%2].Do(t, http.MethodPost, "/workflows/"+l.workflow+"/executions", jsonText(map[string]any{"input": in}))
		if a.Status != http.StatusCreated {
			t.Fatalf("start without Temporal: %d %s", a.Status, a.Body)
		}
		id, _ := a.Object()["execution_id"].(string)
		made = append(made, &request{in: in, path: "/workflows/" + l.workflow + "/executions/" + id})
	}
	c := client{load: l}
	for _, q := range made {
		if now := c.compare(q, ""); now.final() {
			t.Errorf("%s has ended without Temporal: %+v", q.in.name(), now)
		}
	}
	s.temporal.Restart()
	for _, q := range made {
		c.awaitEnd(q, time.Minute)
		c.verifyEnd(q, s.receiver)
	}
	s.receiver.verify(nil)
	awaitQuiet(s)
	stopAll(t, first, second)
}

func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// An operator ends workflows in Temporal itself: their rows end, and the counters of their batches follow.
func testEndedByHand(t *testing.T, s *site) {
	n := s.serve("node", "--connect-to", s.receiver.openPort("node"))
	s.open(n)
	server := s.server(n)
	waiting := server.Apply(t, definition("waiting", "do:\n- wait: {wait: {hours: 1}}\n"))
	working := server.Apply(t, definition("working", "do:\n- work: {run: {shell: {command: 'sleep 100'}}}\n"))
	start := func(workflow, kind, body string) (path, id string) {
		t.Helper()
		a := server.Do(t, http.MethodPost, "/workflows/"+workflow+"/"+kind, body)
		if a.Status/100 != 2 {
			t.Fatalf("start: %d %s", a.Status, a.Body)
		}
		id, _ = a.Object()["execution_id"].(string)
		if kind == "batch" {
			id, _ = a.Object()["batch_id"].(string)
		}
		return "/workflows/" + workflow + "/" + kind + "/" + id, id
	}
	type ended struct{ path, id, want, origin string }
	var all []ended
	for _, workflow := range []string{waiting, working} {
		path, id := start(workflow, "executions", `{}`)
		all = append(all, ended{path, id, "terminated", "system"})
		path, id = start(workflow, "executions", `{}`)
		all = append(all, ended{path, id, "cancelled", "workflow"})
	}
	batch, _ := start(waiting, "batch", `{"items": [{}]}`)
	var listed view
	if err := json.Unmarshal(server.Do(t, http.MethodGet, batch, "").Body, &listed); err != nil || len(listed.Executions) != 1 {
		t.Fatalf("the batch lists %+v (%v)", listed, err)
	}
	item := listed.Executions[0].ExecutionID
	all = append(all, ended{"/workflows/" + waiting + "/executions/" + item, item, "terminated", "system"})

	remote := s.temporal.Client(t, s.namespace)
	begun := time.Now()
	for _, e := range all {
		endByHand(t, remote, e.id, e.want == "terminated")
	}
	for _, e := range all {
		left := max(endedByHandTime-time.Since(begun), 0).Round(time.Second)
		a := server.Do(t, http.MethodGet, e.path+"?wait="+left.String(), "")
		fault, _ := a.Object()["error"].(map[string]any)
		if a.Object()["status"] != "error" || fault["code"] != e.want || fault["origin"] != e.origin {
			t.Errorf("%v after its workflow was %s: %d %s", time.Since(begun).Round(time.Second), e.want, a.Status, a.Body)
		}
	}
	t.Logf("the rows of workflows that were ended by hand had ended after %.1f s", time.Since(begun).Seconds())
	if a := server.Do(t, http.MethodGet, batch+"?wait=5s&executions=none", ""); a.Object()["status"] != "failed" {
		t.Errorf("the batch whose only item was terminated: %s", a.Body)
	}
	awaitQuiet(s)
	stopAll(t, n)
}

// endByHand ends a workflow as a person does, as soon as Temporal knows it.
func endByHand(t *testing.T, remote sdk.Client, id string, terminate bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		if terminate {
			err = remote.TerminateWorkflow(ctx, id, "", "by hand")
		} else {
			err = remote.CancelWorkflow(ctx, id, "")
		}
		var unknown *serviceerror.NotFound
		if err == nil {
			return
		}
		if !errors.As(err, &unknown) {
			t.Fatalf("end %s by hand: %v", id, err)
		}
		<-tick.C
	}
}
