package drill_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiverHost is the name by which workflows know the receiver. Every worker reaches it
// through a port of its own, so that the receiver knows who calls.
const receiverHost = "receiver.test"

// largeText is longer than any text that a history of Temporal holds.
const largeText = 160 << 10

// receiver is the outside world. It remembers every call: who made it, when it began and when
// it was answered.
type receiver struct {
	t  *testing.T
	mu sync.Mutex

	effects map[string]*effect  // by Idempotency-Key
	keys    map[string][]string // keys by tag/item/step
	open    map[string]int      // calls that are there now, by worker
	inside  map[string]int      // calls of items of the batch that are there now, by item
	most    int                 // items of the batch that were in a call at once
	starts  []time.Time         // of all calls
	faults  []string
	waiting []threshold
}

// effect is what came with one key.
type effect struct {
	owner string // tag/item/step
	times []arrival
}

// arrival is one call. end is when it was answered, or its connection broke.
type arrival struct {
	begin, end time.Time
	worker     string
	broken     bool
}

// threshold is a goroutine that waits for a number of effects.
type threshold struct {
	effects int
	reached chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	return &receiver{t: t, effects: map[string]*effect{}, keys: map[string][]string{}, open: map[string]int{}, inside: map[string]int{}}
}

// openPort opens a port for one worker and returns its flag --connect-to.
func (r *receiver) openPort(worker string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(worker, w, req) }))
	r.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return receiverHost + ":80:" + server.Listener.Addr().(*net.TCPAddr).String()
}

// callBody is what the workflows of the drill send.
type callBody struct {
	Tag     string // of the batch, or of the singles
	Item    int
	Step    string
	N       int
	DelayMs int `json:"delayMs"`
}

func (b callBody) item() string { return fmt.Sprintf("%s/%d", b.Tag, b.Item) }

// serve answers {"echo": n+1} after one to three times what the call asks for.
func (r *receiver) serve(worker string, w http.ResponseWriter, req *http.Request) {
	begin := time.Now()
	var body callBody
	err := json.NewDecoder(req.Body).Decode(&body)
	key := req.Header.Get("Idempotency-Key")
	e, turn := r.enter(worker, key, body, begin, err)
	hash := fnv.New32()
	hash.Write([]byte(key))
	delay := time.NewTimer(time.Duration(body.DelayMs+int(hash.Sum32())%(2*body.DelayMs+1)) * time.Millisecond)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-req.Context().Done(): // the worker died
		r.leave(worker, e, turn, body, true)
		return
	}
	answer := map[string]any{"echo": body.N + 1}
	if req.URL.Path == "/large" {
		answer["text"] = strings.Repeat("x", largeText)
	}
	w.Header().Set("Content-Type", "application/json")
	// Left before it is answered: what its worker does next may come before this returns.
	r.leave(worker, e, turn, body, false)
	_ = json.NewEncoder(w).Encode(answer)
}

func (r *receiver) enter(worker, key string, body callBody, begin time.Time, err error) (*effect, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	owner := body.item() + "/" + body.Step
	if err != nil || key == "" {
		r.faults = append(r.faults, fmt.Sprintf("a call of %s without key or body: %q %v", owner, key, err))
	}
	e := r.effects[key]
	if e == nil {
		e = &effect{owner: owner}
		r.effects[key] = e
		r.keys[owner] = append(r.keys[owner], key)
	} else if e.owner != owner {
		r.faults = append(r.faults, fmt.Sprintf("the key %s came from %s and from %s", key, e.owner, owner))
	}
	e.times = append(e.times, arrival{begin: begin, worker: worker})
	r.starts = append(r.starts, begin)
	r.open[worker]++
	if body.Tag == batchTag {
		r.inside[body.item()]++
		r.most = max(r.most, len(r.inside))
	}
	rest := r.waiting[:0]
	for _, w := range r.waiting {
		if len(r.effects) >= w.effects {
			close(w.reached)
		} else {
			rest = append(rest, w)
		}
	}
	r.waiting = rest
	return e, len(e.times) - 1
}

func (r *receiver) leave(worker string, e *effect, turn int, body callBody, broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.times[turn].end, e.times[turn].broken = time.Now(), broken
	r.open[worker]--
	if body.Tag == batchTag {
		if r.inside[body.item()]--; r.inside[body.item()] == 0 {
			delete(r.inside, body.item())
		}
	}
}

// reach returns a channel that is closed once so many different effects have begun.
func (r *receiver) reach(effects int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	reached := make(chan struct{})
	if len(r.effects) >= effects {
		close(reached)
	} else {
		r.waiting = append(r.waiting, threshold{effects, reached})
	}
	return reached
}

// present is the number of calls of a worker that are there now.
func (r *receiver) present(worker string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[worker]
}

// outage is a time in which something was not there: taken away between from and gone, and back
// at to. worker is who was killed, if it was a worker.
type outage struct {
	name           string
	worker         string
	from, gone, to time.Time
}

// recordTime is how long after its answer a call still counts as being in flight: the time in
// which the worker reads the answer and Temporal makes the outcome durable.
const recordTime = 5 * time.Second

// explains reports whether a call that came again may have, because of this kill: its worker
// died while it was there, or before its outcome was recorded.
func (o outage) explains(before, again arrival) bool {
	return o.worker != "" && o.worker == before.worker &&
		before.begin.Before(o.gone) && again.begin.After(o.from) && before.end.After(o.from.Add(-recordTime))
}

// silence is how long Temporal waits for a sign of life of a worker's activity before it has it made again.
const silence = 25 * time.Second

// silences reports whether a call that came again may have, because its worker gave no sign of life for so long: a
// server was away meanwhile, and on a busy machine was slow to come back.
func (o outage) silences(before, again arrival) bool {
	return o.worker == "" && again.begin.Sub(before.begin) >= silence && before.begin.Before(o.to) && again.begin.After(o.from)
}

// verify checks that a call came again only if it was in flight when its worker was killed, or silent, and
// returns how many did, and the latest time after its answer at which one counted as such.
func (r *receiver) verify(outages []outage) (repeated int, latest time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		r.t.Error(fault)
	}
	for key, e := range r.effects {
		for i := 1; i < len(e.times); i++ {
			before, again := e.times[i-1], e.times[i]
			explained := false
			for _, o := range outages {
				if o.explains(before, again) {
					explained = true
					latest = max(latest, o.from.Sub(before.end))
				}
				explained = explained || o.silences(before, again)
			}
			if !explained {
				r.t.Errorf("%s with key %s was called by %s from %s to %s (broken: %t) and again by %s at %s; no kill of that worker and no silence explains it",
					e.owner, key, before.worker, clock(before.begin), clock(before.end), before.broken, again.worker, clock(again.begin))
			}
			repeated++
		}
	}
	return repeated, latest
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }

// span is when a step was called first and last, and when it was answered last. Errors: it was
// not called, or with several keys, or no caller got its last answer.
func (r *receiver) span(owner string) (first, last, end time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.keys[owner]); n != 1 {
		return first, last, end, fmt.Errorf("%s was called with %d keys", owner, n)
	}
	times := r.effects[r.keys[owner][0]].times
	if final := times[len(times)-1]; final.broken || final.end.IsZero() {
		return first, last, end, fmt.Errorf("%s got no answer to its last call: %+v", owner, final)
	}
	return times[0].begin, times[len(times)-1].begin, times[len(times)-1].end, nil
}

// count is the number of different effects, and of the calls that made them.
func (r *receiver) count() (effects, calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.effects), len(r.starts)
}

// pause is the longest time without a call between two moments.
func (r *receiver) pause(from, to time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	longest, last := time.Duration(0), from
	for _, at := range r.starts {
		if at.After(to) {
			break
		}
		if at.After(last) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return max(longest, to.Sub(last))
}
