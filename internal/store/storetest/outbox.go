package storetest

import (
	"context"
	"reflect"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

var outboxTests = map[string]func(*fixture){
	"round trip":                    outboxRoundTrip,
	"leased once, the longest due":  outboxLeased,
	"leased by kind":                outboxKinds,
	"leased by one of many":         outboxLeasedOnce,
	"numbers are never used twice":  outboxNumbers,
	"many at once":                  outboxMany,
	"start is open until delivered": outboxStartUndelivered,
}

// message inserts a message to an execution.
func (f *fixture) message(i store.OutboxMessage) int64 {
	f.Helper()
	f.update(func(tx *store.Tx) error { return tx.InsertOutboxMessage(&i) })
	return i.No
}

var allKinds = []store.OutboxKind{
	store.OutboxStart, store.OutboxGrant, store.OutboxCancel, store.OutboxEvents, store.OutboxChild, store.OutboxStop,
}

func (f *fixture) lease(nowMs, untilMs int64, limit int) (list []store.OutboxMessage) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		list, err = tx.LeaseOutbox(allKinds, nowMs, untilMs, limit)
		return err
	})
	return list
}

func outboxRoundTrip(f *fixture) {
	e := f.execution(startMs)
	f.insert(&e)
	want := []store.OutboxMessage{
		{Execution: e.No, Kind: store.OutboxStart, DueMs: 5},
		{Execution: e.No, Kind: store.OutboxGrant, Report: 7, DueMs: 6},
		{Execution: e.No, Kind: store.OutboxCancel, Reason: "no longer needed", DueMs: 7},
		{Execution: 999, Kind: store.OutboxCancel, DueMs: 8}, // of an execution that is gone
	}
	for i := range want {
		want[i].No = f.message(want[i])
		want[i].DueMs = 50
		if want[i].Execution == e.No {
			want[i].ID, want[i].Environment, want[i].Workflow = e.ID, e.Environment, e.Workflow
		}
	}
	if got := f.lease(10, 50, 9); !reflect.DeepEqual(got, want) {
		f.Errorf("leased %+v\nwant %+v", got, want)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages(want[0].No, want[2].No, 12345) })
	if got := f.lease(50, 60, 9); len(got) != 2 || got[0].No != want[1].No || got[1].No != want[3].No {
		f.Errorf("left %+v", got)
	}
}

func outboxLeased(f *fixture) {
	no := f.inserted()
	late := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, DueMs: 20})
	early := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, DueMs: 10})
	future := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, DueMs: 31})
	due := func(nowMs int64) (due bool) {
		f.view(func(r *store.Reader) (err error) {
			due, err = r.OutboxDue(nowMs)
			return err
		})
		return due
	}
	if due(9) || !due(10) {
		f.Error("messages are due before their time, or not at it")
	}
	if got := f.lease(30, 100, 1); len(got) != 1 || got[0].No != early {
		f.Errorf("first lease %+v, want %d", got, early)
	}
	if got := f.lease(30, 100, 5); len(got) != 1 || got[0].No != late {
		f.Errorf("second lease %+v, want %d", got, late)
	}
	f.update(func(tx *store.Tx) error { return tx.PostponeOutboxMessages(200, future, 12345) })
	if got := f.lease(99, 300, 5); len(got) != 0 || due(99) {
		f.Errorf("leased %+v before a lease was over", got)
	}
	f.view(func(r *store.Reader) error {
		if ms, err := r.OldestOutboxMs(); err != nil || ms != 100 {
			f.Errorf("the oldest message is due at %d, %v, want 100", ms, err)
		}
		n, err := r.CountOutbox(101, 10)
		if n != 2 {
			f.Errorf("%d messages are late, want 2", n)
		}
		return err
	})
	if got := f.lease(100, 300, 5); len(got) != 2 {
		f.Errorf("leased %+v when the leases were over, want 2", got)
	}
}

// outboxKinds: messages of the kinds that are not asked for stay, also if they are due before others.
func outboxKinds(f *fixture) {
	no := f.inserted()
	f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxEvents, DueMs: 1})
	cancel := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, DueMs: 2})
	lease := func(kinds ...store.OutboxKind) (list []store.OutboxMessage) {
		f.update(func(tx *store.Tx) (err error) {
			list, err = tx.LeaseOutbox(kinds, 10, 100, 5)
			return err
		})
		return list
	}
	if got := lease(); len(got) != 0 {
		f.Errorf("of no kind are %+v", got)
	}
	if got := lease(store.OutboxCancel, store.OutboxStop); len(got) != 1 || got[0].No != cancel {
		f.Errorf("the cancellations are %+v", got)
	}
	if got := lease(store.OutboxEvents); len(got) != 1 || got[0].Kind != store.OutboxEvents {
		f.Errorf("the messages about events are %+v", got)
	}
}

func outboxLeasedOnce(f *fixture) {
	no := f.inserted()
	const messages = 60
	for range messages {
		f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, DueMs: 1})
	}
	var mu sync.Mutex
	times := map[int64]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				var list []store.OutboxMessage
				err := f.Update(context.Background(), func(tx *store.Tx) (err error) {
					list, err = tx.LeaseOutbox(allKinds, 10, 100, 5)
					return err
				})
				if err != nil {
					f.Errorf("lease: %v", err)
				}
				if len(list) == 0 {
					return
				}
				mu.Lock()
				for _, i := range list {
					times[i.No]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for no, n := range times {
		if n != 1 {
			f.Errorf("message %d was leased %d times", no, n)
		}
	}
	// A reader that passed over locked rows may have stopped early; what is left is due still.
	if rest := f.lease(10, 100, messages); len(times)+len(rest) != messages {
		f.Errorf("%d leased and %d left of %d", len(times), len(rest), messages)
	}
}

func outboxNumbers(f *fixture) {
	no := f.inserted()
	var last int64
	for range 3 {
		n := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel})
		if n <= last {
			f.Errorf("number %d after %d", n, last)
		}
		last = n
		f.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages(n) })
	}
}

func outboxMany(f *fixture) {
	rows := make([]store.Execution, 250) // more than one list of numbers
	var nos []int64
	list := make([]*store.Execution, len(rows))
	for i := range rows {
		rows[i] = f.execution(startMs)
		list[i] = &rows[i]
	}
	f.insert(list...)
	for i := range rows {
		nos = append(nos, rows[i].No)
	}
	f.update(func(tx *store.Tx) error {
		_, err := tx.ReportState(nos[3], 4, 2, store.StateActive, false, 0, store.Waits{})
		return err
	})
	var inserted map[int64]store.OutboxMessage
	f.update(func(tx *store.Tx) (err error) {
		inserted, err = tx.InsertOutboxMessages(store.OutboxGrant, nos, 77)
		return err
	})
	if len(inserted) != len(rows) {
		f.Fatalf("%d messages, want %d", len(inserted), len(rows))
	}
	var report int64
	seen := map[int64]bool{}
	for _, e := range rows {
		i := inserted[e.No]
		if e.No == nos[3] {
			report = i.Report
		}
		if i.ID != e.ID || i.Environment != e.Environment || i.Workflow != e.Workflow {
			f.Errorf("message of %d says that it is of %v in %v, workflow %d", e.No, i.ID, i.Environment, i.Workflow)
		}
		if i.Execution != e.No || i.Kind != store.OutboxGrant || i.DueMs != 77 || i.No == 0 || seen[i.No] {
			f.Errorf("message of %d: %+v", e.No, i)
		}
		seen[i.No] = true
	}
	if report != 4 {
		f.Errorf("the grant answers report %d, want 4", report)
	}
	var all []int64
	for no := range seen {
		all = append(all, no)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages(all...) })
	if n := f.number(`SELECT COUNT(*) FROM outbox`); n != 0 {
		f.Errorf("%d messages left", n)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages() })
}

func outboxStartUndelivered(f *fixture) {
	no, other := f.inserted(), f.inserted()
	f.message(store.OutboxMessage{Execution: other, Kind: store.OutboxStart})
	f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxCancel})
	open := func() (open bool) {
		f.view(func(r *store.Reader) (err error) {
			open, err = r.StartUndelivered(no)
			return err
		})
		return open
	}
	if open() {
		f.Error("a start is open that is not there")
	}
	start := f.message(store.OutboxMessage{Execution: no, Kind: store.OutboxStart})
	if !open() {
		f.Error("an open start is not seen")
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteOutboxMessages(start) })
	if open() {
		f.Error("a start is open that was delivered")
	}
}
