package seed_test

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/seed"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

// TestFill: what is written agrees with itself, twice in one installation too, and has something of everything.
func TestFill(t *testing.T) {
	db := storetest.Twice(template.New(t))
	st := store.New(db)
	account, err := service.FirstAccount(t.Context(), st, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2) {
		if err := seed.Fill(t.Context(), st, seed.Options{Executions: 1500, Seed: i}); err != nil {
			t.Fatal(err)
		}
	}
	storetest.CheckUsage(t, db)
	storetest.CheckInvariants(t, db)
	err = st.View(t.Context(), func(r *store.Reader) error {
		for name, f := range map[string]store.ExecutionFilter{
			"failed": {Failed: true}, "cancelled": {Phases: []chargehand.Phase{chargehand.Cancelled}},
			"caused by events": {Conditions: store.Conditions{Causes: []string{"event"}}}, "caused by parents": {Conditions: store.Conditions{Causes: []string{"parent"}}},
			"items": {Conditions: store.Conditions{Causes: []string{"batch"}}}, "retries": {Conditions: store.Conditions{Causes: []string{"retry"}}},
			"labelled": {Conditions: store.Conditions{Label: &store.Label{Name: "team", Value: "t1"}}},
			"waiting":  {Conditions: store.Conditions{Waits: []store.WaitKind{store.WaitTimer}}},
		} {
			f.Account, f.Environment, f.Limit = account.No, chargehand.Live, 10
			list, err := r.ListExecutions(f)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				t.Errorf("none is %s", name)
			}
		}
		_, behind, err := r.RollupState()
		if behind {
			t.Error("not everything is counted by the hour")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFillWaiting: all executions wait, each for a time of its own.
func TestFillWaiting(t *testing.T) {
	const many = 1200
	db := template.New(t)
	st := store.New(db)
	if _, err := service.FirstAccount(t.Context(), st, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := seed.Fill(t.Context(), st, seed.Options{Executions: many, Waiting: true}); err != nil {
		t.Fatal(err)
	}
	storetest.CheckUsage(t, db)
	storetest.CheckInvariants(t, db)
	err := st.View(t.Context(), func(r *store.Reader) error {
		counts, err := r.CountUnfinished()
		if want := (store.StateCounts{store.StateParked: many}); err != nil || counts != want {
			t.Errorf("executions by state %v (%v), want %v", counts, err, want)
		}
		timers, err := r.TimersAfter(store.Timer{Environment: chargehand.Live}, 2*many)
		if err == nil && (len(timers) != many || timers[0].DueMs < time.Now().Add(30*24*time.Hour).UnixMilli()) {
			t.Errorf("%d timers, the first at %v", len(timers), time.UnixMilli(timers[0].DueMs))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
