package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org/events":         "https://example.org/events",
		"http://user:pass@example.org?key=1": "http://example.org",
		"org.example.*=https://example.org/": "org.example.*=https://example.org/",
		"b, a,b=http://[::1]:8080/x?a=b":     "a,b=http://[::1]:8080/x",
		"*=https://example.org":              "*=https://example.org",
		"":                                   "",
		"ftp://example.org":                  "",
		"a=":                                 "",
		"a.*.b=https://example.org":          "",
		",=https://example.org":              "",
		"https://":                           "",
		"https://example.org/#x":             "",
		"org.example.*:https://user:secret@example.org/%zz":        "",
		"org.example=https://user:secret@example.org/%zz?a=b#frag": "",
	} {
		target, err := Parse(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is accepted", text)
		case want == "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows a password: %v", err)
		case want != "" && (err != nil || target.String() != want):
			t.Errorf("%q: %s, %v", text, target, err)
		}
	}
	target, err := Parse("org.example.*,exact=https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]bool{"org.example.x": true, "org.example.": true, "org.example": false, "exact": true, "exactly": false} {
		if target.takes(kind) != want {
			t.Errorf("takes %s: %t", kind, !want)
		}
	}
	same, _ := Parse("exact,org.example.*=https://example.org")
	other, _ := Parse("exact=https://example.org")
	if same.Name() != target.Name() || other.Name() == target.Name() {
		t.Error("names do not tell configurations apart")
	}
}

// TestNames: what may be a secret is no part of the name of a sink, and so cannot tell two of them apart.
func TestNames(t *testing.T) {
	parse := func(text string) Target {
		target, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	one := parse("https://user:old@example.org/in?key=old&to=x")
	for text, same := range map[string]bool{
		"https://user:new@example.org/in?key=old&to=x":   true,
		"https://example.org/in?to=y&key=new":            true,
		"https://example.org/in":                         false,
		"https://user:old@example.org/out?key=old&to=x":  false,
		"http://user:old@example.org/in?key=old&to=x":    false,
		"a=https://user:old@example.org/in?key=old&to=x": false,
	} {
		other := parse(text)
		if got := one.Name() == other.Name(); got != same {
			t.Errorf("%s has the same name: %v, want %v", text, got, same)
		}
		if err := Check([]Target{one, one, other}); (err != nil) != same {
			t.Errorf("%s beside the first: %v", text, err)
		} else if err != nil && (strings.Contains(err.Error(), "old") || strings.Contains(err.Error(), "new")) {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// TestForget: what no process has is forgotten after the time, what one has is not.
func TestForget(t *testing.T) {
	w := newFixture(t)
	nobodys, err := Parse("https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	w.update(func(tx *store.Tx) error { return tx.RegisterSink(nobodys.Name(), w.now.UnixMilli()) })
	mine := w.sink("")
	names := func() (n int) {
		err := w.rows.Update(t.Context(), func(tx *store.Tx) (err error) {
			n, err = tx.DeleteSinks(1<<60, 1<<60) // counts, and is undone
			return errors.Join(err, errUndo)
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
		return n
	}
	for day, want := range []int{2, 2, 2, 2, 2, 2, 2, 2, 1} {
		w.update(func(tx *store.Tx) error { return tx.RegisterSink(mine.name, w.now.UnixMilli()) })
		mine.forget(t.Context())
		if got := names(); got != want {
			t.Errorf("on day %d, %d sinks are known, want %d", day, got, want)
		}
		w.now = w.now.Add(24 * time.Hour)
	}
}

var errUndo = errors.New("undo")

// fixture is a database, a receiver that may refuse, and a clock that a test moves.
type fixture struct {
	*testing.T
	rows   *store.Store
	server *httptest.Server

	mu     sync.Mutex
	now    time.Time
	refuse func(body string) bool
	got    []string // environment and body
	log    strings.Builder
}

func newFixture(t *testing.T) *fixture {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{T: t, rows: store.New(db), now: time.UnixMilli(1_700_000_000_000)}
	t.Cleanup(func() { w.rows.Close() })
	w.server = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.server.Close)
	return w
}

func (w *fixture) receive(answer http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil && w.refuse(string(body)) {
		answer.WriteHeader(http.StatusBadGateway)
		return
	}
	if r.Method != "POST" || r.Header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" {
		w.Errorf("%s with %v", r.Method, r.Header)
	}
	w.got = append(w.got, r.Header.Get("Chargehand-Environment")+" "+string(body))
	answer.WriteHeader(http.StatusAccepted)
}

func (w *fixture) Write(line []byte) (int, error) { return w.log.Write(line) }

func (w *fixture) sink(types string) *delivery {
	target, err := Parse(types + w.server.URL + "/x")
	if err != nil {
		w.Fatal(err)
	}
	d := New(Config{
		Store: w.rows, Targets: []Target{target, target}, Transport: http.DefaultTransport, Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewTextHandler(w, nil)),
	})
	if len(d.sinks) != 1 {
		w.Fatalf("%d sinks of one target", len(d.sinks))
	}
	w.update(func(tx *store.Tx) error { return tx.RegisterSink(target.Name(), 1) })
	return d.sinks[0]
}

func (w *fixture) update(do func(*store.Tx) error) {
	w.Helper()
	if err := w.rows.Update(w.Context(), do); err != nil {
		w.Fatal(err)
	}
}

// publish stores events whose data is their text; those that begin with ! come from outside.
func (w *fixture) publish(env chargehand.Environment, texts ...string) {
	w.Helper()
	var events []store.Event
	for _, text := range texts {
		e := store.Event{Account: 1, Environment: env, Type: strings.Trim(text, "!0123456789"), Origin: chargehand.ExecutionID{1}, Data: store.Payload{Inline: []byte(text), Size: int64(len(text))}}
		copy(e.Dedupe[:], text)
		if strings.HasPrefix(text, "!") {
			e.Origin = chargehand.ExecutionID{}
		}
		events = append(events, e)
	}
	w.update(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(events, w.now.UnixMilli())
		return err
	})
}

// deliver makes rounds until there is nothing to do at this time.
func (w *fixture) deliver(s *delivery) {
	w.Helper()
	for again := true; again; {
		var err error
		if again, err = s.round(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *fixture) want(list ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.got, list) {
		w.Errorf("received %q, want %q", w.got, list)
	}
	w.got = nil
}

// TestDelivery: in order, by stream, only what executions publish, from the configuration on.
func TestDelivery(t *testing.T) {
	w := newFixture(t)
	w.publish(chargehand.Live, "a0")
	s := w.sink("a,b=")
	w.publish(chargehand.Live, "a1", "!a2", "c3", "b4")
	w.publish(chargehand.Test, "a5")
	w.deliver(s)
	w.want("live a1", "live b4", "test a5")
	w.deliver(s)
	w.want()
	var many, want []string
	for i := range 2*pageEvents + 1 {
		many = append(many, fmt.Sprint("a", 10+i))
		want = append(want, fmt.Sprint("live a", 10+i))
	}
	w.publish(chargehand.Live, many...)
	w.deliver(s)
	w.want(want...)
	if got := s.Stats()[0]; got.Delivered != int64(3+len(many)) || got.Failures+got.Dropped+got.Behind != 0 {
		t.Errorf("%+v", got)
	}
	w.publish(chargehand.Live, "a6")
	w.deliver(w.sink("a,b=")) // the lease is another one's
	w.want()
	w.now = w.now.Add(leaseTime + time.Second)
	w.deliver(w.sink("a,b="))
	w.want("live a6")
}

// TestFailures: nothing overtakes what is refused, pauses grow, other streams continue.
func TestFailures(t *testing.T) {
	w := newFixture(t)
	s := w.sink("")
	w.refuse = func(body string) bool { return body == "b2" }
	w.publish(chargehand.Live, "a1", "b2", "c3")
	w.publish(chargehand.Test, "d4")
	w.deliver(s)
	w.want("live a1", "test d4")
	pause := firstPause
	for attempt := 1; attempt < maxFailures; attempt++ {
		w.now = w.now.Add(pause - time.Millisecond)
		w.deliver(s)
		if n := s.failures.Load(); n != int64(attempt) {
			t.Fatalf("%d attempts before the pause is over, want %d", n, attempt)
		}
		if strings.Contains(w.log.String(), "WARN") {
			t.Fatalf("attempt %d is logged: %s", attempt, w.log.String())
		}
		w.now = w.now.Add(time.Millisecond)
		w.deliver(s)
		pause *= 2
	}
	w.deliver(s)
	if log := w.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "502") || !s.Stats()[0].Failing {
		t.Errorf("failing %t, log %s", s.Stats()[0].Failing, log)
	}
	for range 10 {
		w.now = w.now.Add(longestPause)
		w.deliver(s)
	}
	w.want()
	w.refuse = nil
	w.now = w.now.Add(longestPause)
	w.deliver(w.sink("")) // of another process, whose lease comes after this one's
	w.want("live b2", "live c3")
	if log := w.log.String(); strings.Count(log, "level=WARN") != 1 || strings.Count(log, "level=INFO") != 1 {
		t.Errorf("log %s", log)
	}
}

// TestDeletedEvents: what is past its time is counted, and does not stop the rest.
func TestDeletedEvents(t *testing.T) {
	w := newFixture(t)
	s := w.sink("")
	w.refuse = func(string) bool { return true }
	w.publish(chargehand.Live, "a1", "b2")
	w.deliver(s)
	w.now = w.now.Add(time.Hour)
	w.publish(chargehand.Live, "c3")
	w.update(func(tx *store.Tx) error {
		_, err := tx.DeleteEvents(1, chargehand.Live, w.now.UnixMilli(), 10)
		return err
	})
	w.refuse = nil
	w.deliver(s)
	w.want("live c3")
	w.publish(chargehand.Live, "d4", "e5")
	w.update(func(tx *store.Tx) error {
		_, err := tx.DeleteEvents(1, chargehand.Live, w.now.UnixMilli()+1, 10)
		return err
	})
	w.deliver(s)
	w.publish(chargehand.Live, "f6")
	w.deliver(s)
	w.want("live f6")
	if got := s.Stats()[0]; got.Dropped != 4 || !strings.Contains(w.log.String(), "deleted") {
		t.Errorf("%+v, log %s", got, w.log.String())
	}
}

// TestCutOff: a delivery that the end of the process cuts off is no failure, and what came
// before it is not sent again.
func TestCutOff(t *testing.T) {
	w := newFixture(t)
	s := w.sink("")
	w.publish(chargehand.Live, "a1", "b2")
	ctx, stop := context.WithCancel(t.Context())
	w.refuse = func(body string) bool {
		if body == "b2" {
			stop()
		}
		return body == "b2"
	}
	if _, err := s.round(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	w.refuse = nil
	w.now = w.now.Add(firstPause)
	w.deliver(s)
	w.want("live a1", "live b2")
}

// TestRun delivers what comes while it runs, and ends.
func TestRun(t *testing.T) {
	w := newFixture(t)
	target, err := Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan string, 1)
	w.refuse = func(body string) bool { arrived <- body; return false }
	d := New(Config{Store: w.rows, Targets: []Target{target}, Transport: http.DefaultTransport, Every: time.Millisecond})
	w.update(func(tx *store.Tx) error { return tx.RegisterSink(target.Name(), 1) })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	w.publish(chargehand.Live, "a1")
	if body := <-arrived; body != "a1" {
		t.Errorf("received %q", body)
	}
	stop()
	<-done
}
