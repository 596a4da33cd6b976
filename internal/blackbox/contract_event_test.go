package blackbox_test

import (
	"testing"
)

// TestContractEventsBeforeTheFirstSlot: an event that is published after an execution was accepted is for it, although
// it begins later, when a slot is free (T60).
func TestContractEventsBeforeTheFirstSlot(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-egress", "127.0.0.1")
	calls := newBarrier(t)
	flow := deploy(t, s, `do:
- hold: {if: .hold, call: http, with: {method: post, endpoint: '`+calls.url+`', body: '${ . }'}, then: end}
- hear: {listen: {to: {one: {with: {type: '${ "slot-" + $workflow.input.of }'}}}}}
`)
	mark := unique("of")
	a := s.Do(t, "POST", batches(flow), `{"items":[{"hold":true},{"of":"`+mark+`"}],"concurrency":1}`)
	wantStatus(t, a, 202)
	calls.await(1)
	path := executions(flow) + "/" + text(fields(list(a.Object()["executions"])[1])["execution_id"])
	waits := s.Do(t, "GET", path, "").Object()
	if waits["status"] != "initial" || waits["started_at"] != nil {
		t.Fatalf("it does not wait for a slot: %v", waits)
	}
	wantStatus(t, s.Do(t, "POST", "/events", `{"specversion":"1.0","id":"`+mark+`","source":"/contract","type":"slot-`+mark+`","data":{"n":7}}`,
		"Content-Type", "application/cloudevents+json"), 202)
	calls.release()
	if e := finish(t, s, path); e["status"] != "finished" || !equal(e["output"], parse(t, `[{"n":7}]`)) {
		t.Errorf("%v", e)
	}
}
