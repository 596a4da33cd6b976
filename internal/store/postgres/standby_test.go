package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store/postgres"
)

// A pooler keeps the sessions of those who have gone. None of them may have the lock of the database, which no process
// that is connected directly would get then.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	pg := server(t)
	for name, o := range map[string]postgres.Options{
		"owner": {}, "shared": {Mode: postgres.Shared}, "drives": {Mode: postgres.Shared, Drives: true},
	} {
		t.Run(name, func(t *testing.T) {
			address := pg.NewSchema(t)
			direct := standby(t, postgres.Options{URL: address})
			p := newProxy(t, pg)
			p.pool()
			o.URL = p.at(t, address)
			db, err := postgres.Open(t.Context(), o)
			if err == nil {
				if o.Mode == postgres.Owner {
					_, _ = db.TryOwn(t.Context()) // which must leave nothing behind either
				}
				db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "pooler") {
				t.Errorf("open through a pooler: %v", err)
			}
			if ok, err := direct.TryOwn(t.Context()); !ok || err != nil {
				t.Errorf("own the database directly, after the pooler: %t, %v", ok, err)
			}
		})
	}
}

// waiting lets a process wait for the database until the test ends.
func waiting(t *testing.T, db *postgres.DB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.AwaitOwner(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// listed waits until exactly these processes wait to own a database.
func listed(t *testing.T, db *postgres.DB, want ...string) {
	t.Helper()
	until(t, fmt.Sprintf("the standbys are %q", want), func() error {
		list, err := standbys(db)
		if err == nil && len(list) != len(want) {
			return fmt.Errorf("%v", list)
		}
		for i := range list {
			if list[i].Name != want[i] {
				err = fmt.Errorf("%v", list)
			}
		}
		return err
	})
}

// A standby that says nothing is not there: a frozen machine cannot take over, and the connection of one whose proxy
// lives on would stay for hours.
func TestConcurrentFrozenStandby(t *testing.T) {
	t.Parallel()
	pg := server(t)
	address := pg.NewSchema(t)
	owner := open(t, postgres.Options{URL: address})
	p := newProxy(t, pg)
	frozen := standby(t, postgres.Options{URL: p.at(t, address), Name: "far-away"})
	postgres.SetStandbyBeat(frozen, 100*time.Millisecond)
	waiting(t, frozen)
	listed(t, owner, "far-away")
	p.freeze(true)
	listed(t, owner)
	p.freeze(false)
	listed(t, owner, "far-away")
}

// The names of pods begin alike, and are longer than what PostgreSQL keeps.
func TestLongStandbyName(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	owner := open(t, postgres.Options{URL: address})
	waiting(t, standby(t, postgres.Options{URL: address, Name: "chargehand-of-the-shop-in-production-7d9f8b6c5-x2x4z (process 1)"}))
	listed(t, owner, "...in-production-7d9f8b6c5-x2x4z (process 1)")
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// A standby that cannot be listed says so once, and again after it was.
func TestConcurrentUnlistedStandby(t *testing.T) {
	t.Parallel()
	pg := server(t)
	address := pg.NewSchema(t)
	owner := open(t, postgres.Options{URL: address})
	p := newProxy(t, pg)
	log := &lines{}
	db := standby(t, postgres.Options{URL: p.at(t, address), Name: "hidden", Logger: slog.New(slog.NewTextHandler(log, nil))})
	postgres.SetStandbyBeat(db, 20*time.Millisecond)
	var attempts int // under the lock of refused
	var refused sync.Mutex
	refuse := func(sent []byte) bool {
		if !bytes.Contains(sent, []byte("chargehand standby ")) {
			return false
		}
		refused.Lock()
		attempts++
		refused.Unlock()
		return true
	}
	fail := func(round int) {
		t.Helper()
		refused.Lock()
		attempts = 0
		refused.Unlock()
		until(t, "some attempts have failed", func() error {
			refused.Lock()
			defer refused.Unlock()
			if attempts < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		if n := log.count("this standby is not listed"); n != round {
			t.Errorf("round %d: %d warnings", round, n)
		}
	}
	p.watch(refuse)
	waiting(t, db)
	fail(1)
	var once sync.Once
	alive := make(chan struct{})
	p.watch(func(sent []byte) bool {
		if bytes.Contains(sent, []byte("SELECT 1")) { // the first sign of life: the standby knows that it is listed
			once.Do(func() { close(alive) })
		}
		return false
	})
	listed(t, owner, "hidden")
	select {
	case <-alive:
	case <-time.After(soon):
		t.Fatal("the standby says nothing")
	}
	p.watch(refuse)
	p.cut()
	fail(2)
}
