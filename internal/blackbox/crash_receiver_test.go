package blackbox_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// crashReceiver is the outside world of the crash test. It remembers when every call began and
// ended, and how many calls of one batch were there at once.
type crashReceiver struct {
	URL string

	mu      sync.Mutex
	calls   map[string][]crashCallTime // by Idempotency-Key
	owner   map[string]string          // key → tag/item/step
	keys    map[string][]string        // tag/item/step → keys in order of appearance
	current map[string]int             // calls that are there now, by tag
	most    map[string]int
	present int
	faults  []string
}

type crashCallTime struct{ begin, end time.Time }

func newCrashReceiver(t *testing.T) *crashReceiver {
	r := &crashReceiver{
		calls: map[string][]crashCallTime{}, owner: map[string]string{}, keys: map[string][]string{},
		current: map[string]int{}, most: map[string]int{},
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// ServeHTTP answers {"echo": 3n} after 5 to 60 ms. A step on /flaky gets 503 with its first
// key, however often that key comes.
func (r *crashReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	begin := time.Now()
	var body struct {
		Tag  string
		Item int
		N    int
		Step string
	}
	err := json.NewDecoder(req.Body).Decode(&body)
	key := req.Header.Get("Idempotency-Key")
	name := fmt.Sprintf("%s/%d/%s", body.Tag, body.Item, body.Step)
	r.mu.Lock()
	if err != nil || key == "" {
		r.faults = append(r.faults, fmt.Sprintf("a call without key or body: %q %v", key, err))
	}
	if known, found := r.owner[key]; !found {
		r.owner[key] = name
		r.keys[name] = append(r.keys[name], key)
	} else if known != name {
		r.faults = append(r.faults, fmt.Sprintf("the key %s came from %s and from %s", key, known, name))
	}
	refused := req.URL.Path == "/flaky" && r.keys[name][0] == key
	turn := len(r.calls[key])
	r.calls[key] = append(r.calls[key], crashCallTime{begin: begin})
	r.present++
	r.current[body.Tag]++
	r.most[body.Tag] = max(r.most[body.Tag], r.current[body.Tag])
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls[key][turn].end = time.Now()
		r.present--
		r.current[body.Tag]--
	}()
	hash := fnv.New32()
	hash.Write([]byte(key))
	select {
	case <-req.Context().Done(): // the server died
		return
	case <-time.After(time.Duration(5+hash.Sum32()%56) * time.Millisecond):
	}
	w.Header().Set("Content-Type", "application/json")
	if refused {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintf(w, `{"echo":%d}`, 3*body.N)
}

// quiet reports whether no call is there.
func (r *crashReceiver) quiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present == 0
}

// crashKill is a moment at which the server was killed, between two readings of the clock.
type crashKill struct{ from, to time.Time }

// recordTime is how long after its answer a call may still count as being in flight: the time
// in which the server reads the answer and makes the outcome durable.
const recordTime = 5 * time.Second

// verify checks that a call came again only if it was in flight at a kill in between.
func (r *crashReceiver) verify(t *testing.T, kills []crashKill) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Error(fault)
	}
	repeated, latest := 0, time.Duration(0)
	for key, times := range r.calls {
		for i := 1; i < len(times); i++ {
			before, again := times[i-1], times[i]
			explained := false
			for _, kill := range kills {
				if before.begin.Before(kill.to) && again.begin.After(kill.from) && before.end.After(kill.from.Add(-recordTime)) {
					explained = true
					latest = max(latest, kill.from.Sub(before.end))
				}
			}
			if !explained {
				t.Errorf("the call %s with key %s ended at %v and came again at %v, and no kill explains that",
					r.owner[key], key, before.end, again.begin)
			}
			repeated++
		}
	}
	t.Logf("%d calls with %d keys; %d came again, each in flight at a kill (at most %v after the answer)",
		len(r.calls)+repeated, len(r.calls), repeated, latest.Round(time.Millisecond))
}

// verifyBound checks that no batch had more calls at once than its concurrency.
func (r *crashReceiver) verifyBound(t *testing.T, batches []*crashRequest) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, batch := range batches {
		if most := r.most[batch.in.Tag]; most > crashConcurrency {
			t.Errorf("batch %s had %d items at once, concurrency is %d", batch.in.Tag, most, crashConcurrency)
		}
	}
}

// verifyOrder checks that no call came after something that can only follow from its recorded
// outcome: the next step of its workflow, its next attempt, or the end of its execution.
func (r *crashReceiver) verifyOrder(t *testing.T, q *crashRequest) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var steps [][]string
	for _, step := range []string{"first", "second", "third", "branch", "flaky"} {
		for _, key := range r.keys[fmt.Sprintf("%s/%d/%s", q.in.Tag, q.in.Item, step)] {
			steps = append(steps, []string{step, key})
		}
	}
	limit, what := q.seenEnd, "its execution was seen at its end"
	for _, step := range slices.Backward(steps) {
		times := r.calls[step[1]]
		if last := times[len(times)-1].begin; !limit.IsZero() && last.After(limit) {
			t.Errorf("%s called %s at %v, after %s at %v", q.path, step[0], last, what, limit)
		}
		limit, what = times[0].begin, step[0]+" was called"
	}
}

// verifyCalls checks that every step of an execution called under one key, and an attempt more
// under a key more.
func (r *crashReceiver) verifyCalls(t *testing.T, in crashInput, want map[string]int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for step, n := range want {
		name := fmt.Sprintf("%s/%d/%s", in.Tag, in.Item, step)
		if got := len(r.keys[name]); got != n {
			t.Errorf("step %s called with %d different keys, want %d", name, got, n)
		}
	}
}
