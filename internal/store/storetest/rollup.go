package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var rollupTests = map[string]func(*fixture){
	"agree with a recount":                    rollupsAgree,
	"agree while executions come and end":     rollupsUnderLoad,
	"an end is counted once":                  endCountedOnce,
	"a part that is outdated is refused":      outdatedRollupPart,
	"deleted before it was counted":           deletedUncounted,
	"deleted alone":                           deletedAlone,
	"numbers that are given again":            rollupNumbersAgain,
	"one hour, workflow, actor, environment":  rollupKeys,
	"by workflow":                             rollupsByWorkflow,
	"by workflow, up to a limit":              rollupsByWorkflowLimited,
	"old hours are deleted":                   deleteRollups,
	"cancelled items are counted":             cancelledItemsCounted,
	"nothing to count":                        nothingToCount,
	"writers that run are named, or there is": writersNamed,
	"a recount finds and mends what is low":   recountMends,
}

// countAll counts everything as package rollup does.
func (f *fixture) countAll(limit int) {
	f.Helper()
	if err := countAll(f.Store, limit); err != nil {
		f.Fatal(err)
	}
}

// countAll tries again while another Update counts at the same time.
func countAll(s *store.Store, limit int) error {
	for {
		err := countOnce(s, limit)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func countOnce(s *store.Store, limit int) error {
	ctx := context.Background()
	var cursor store.RollupCursor
	err := s.View(ctx, func(r *store.Reader) (err error) {
		cursor, _, err = r.RollupState()
		return err
	})
	if err == nil {
		err = s.Update(ctx, func(tx *store.Tx) error { return tx.CloseRollup(cursor, startMs) })
	}
	if err == nil {
		err = s.AwaitWriters(ctx)
	}
	for last := false; !last && err == nil; {
		var part store.RollupPart
		err = s.View(ctx, func(r *store.Reader) (err error) {
			part, err = r.RollupPart(limit)
			return err
		})
		if err == nil {
			err = s.Update(ctx, func(tx *store.Tx) error { return tx.PutRollupPart(&part) })
		}
		last = part.Last
	}
	return err
}

// stored reads all rollups.
func (f *fixture) stored() store.Rollups {
	f.Helper()
	var keys []store.RollupKey
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT account, environment, workflow, actor, day, hour_ms FROM rollup`, func(r store.Row) error {
			keys = append(keys, store.RollupKey{Account: r.Int(0), Environment: chargehand.Environment(r.Int(1)), Workflow: r.Int(2), Actor: r.Int(3), Day: r.Int(4) != 0, HourMs: r.Int(5)})
			return nil
		})
	})
	if err != nil {
		f.Fatal(err)
	}
	all := store.Rollups{}
	f.view(func(r *store.Reader) error {
		for _, key := range keys {
			err := r.Rollups(key, key.HourMs, key.HourMs+1, func(_ int64, c *store.Rollup) { all[key] = c })
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all
}

// sameRollups compares what is stored with what a recount of all executions gives, those that were deleted included.
func (f *fixture) sameRollups(all []store.Execution) {
	f.Helper()
	want := store.Rollups{}
	for i := range all {
		want.AddStarted(&all[i])
		if all[i].State == store.StateEnded {
			want.AddEnded(&all[i])
		}
	}
	got := f.stored()
	if len(got) != len(want) {
		f.Errorf("%d rollups, want %d", len(got), len(want))
	}
	for key, w := range want {
		if g := got[key]; g == nil || rollupText(g) != rollupText(w) {
			f.Errorf("the rollup of %+v is %s, want %s", key, rollupText(g), rollupText(w))
		}
	}
}

func rollupText(c *store.Rollup) string {
	if c == nil {
		return "missing"
	}
	return fmt.Sprintf("started %d, finished %d, failed %d, cancelled %d, durations %x", c.Started, c.Finished, c.Failed, c.Cancelled, c.Durations.Bytes())
}

// varied is an execution of one of a few accounts, environments, workflows, actors and hours.
func (f *fixture) varied(r *rand.Rand) store.Execution {
	e := f.execution(startMs + r.Int64N(5*store.HourMs))
	e.Account, e.Environment = 1+r.Int64N(2), chargehand.Environment(1+r.IntN(2))
	e.Workflow, e.StartedBy = 1+r.Int64N(3), r.Int64N(4)-2
	return e
}

// ended ends an execution in one of the ways there are.
func ended(tx *store.Tx, e *store.Execution, r *rand.Rand) (store.Execution, error) {
	end := *e
	end.StartedMs, end.FinishedMs, end.State = startMs+r.Int64N(store.HourMs), startMs+store.HourMs+r.Int64N(5*store.HourMs), store.StateEnded
	end.Status, end.Phase = chargehand.Finished, chargehand.Completed
	switch r.IntN(4) {
	case 0:
		end.Status, end.Phase = chargehand.Errored, chargehand.Faulted
	case 1:
		end.Status, end.Phase, end.StartedMs = chargehand.Errored, chargehand.Cancelled, 0
	}
	if e.No == 0 {
		return end, tx.InsertFinished(&end, &store.Outcome{})
	}
	_, err := tx.FinishExecution(e.No, end.Status, end.Phase, end.StartedMs, end.FinishedMs, &store.Outcome{})
	return end, err
}

func rollupsAgree(f *fixture) {
	r := rand.New(rand.NewPCG(5, f.n))
	var all, running []store.Execution
	for range 400 {
		switch r.IntN(8) {
		case 0, 1, 2:
			e := f.varied(r)
			f.insert(&e)
			running = append(running, e)
		case 3:
			e := f.varied(r)
			f.update(func(tx *store.Tx) (err error) {
				copied := e
				copied, err = ended(tx, &copied, rand.New(rand.NewPCG(6, uint64(len(all)))))
				all = append(all, copied)
				return err
			})
		case 4, 5:
			if len(running) == 0 {
				continue
			}
			i := r.IntN(len(running))
			var end store.Execution
			f.update(func(tx *store.Tx) (err error) {
				end, err = ended(tx, &running[i], rand.New(rand.NewPCG(7, uint64(len(all)))))
				return err
			})
			all, running = append(all, end), slices.Delete(running, i, i+1)
		case 6:
			f.countAll(1 + r.IntN(5))
		case 7:
			f.update(func(tx *store.Tx) error {
				_, err := tx.DeleteEnded(chargehand.Environment(1+r.IntN(2)), startMs+7*store.HourMs, 1+r.IntN(4))
				return err
			})
		}
	}
	f.countAll(100)
	f.sameRollups(append(all, running...))
	f.view(func(r *store.Reader) error {
		c, behind, err := r.RollupState()
		if behind || c.AsOfMs != startMs {
			f.Errorf("behind %v, cursor %+v", behind, c)
		}
		return err
	})
}

// rollupsUnderLoad counts from two places while others accept, end and delete.
func rollupsUnderLoad(f *fixture) {
	const clients, each = 4, 60
	var mu sync.Mutex
	var all []store.Execution
	var work, counters sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		counters.Go(func() {
			for !done.Load() {
				if err := countAll(f.Store, 7); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	for n := range uint64(clients) {
		var ids []store.Execution
		for range each {
			ids = append(ids, f.varied(rand.New(rand.NewPCG(n, f.n))))
		}
		work.Go(func() {
			for i := range ids {
				var end store.Execution
				err := f.Update(context.Background(), func(tx *store.Tx) error {
					e := ids[i]
					err := tx.InsertExecution(&e)
					end = e
					return err
				})
				if err == nil {
					err = f.Update(context.Background(), func(tx *store.Tx) error {
						e, err := ended(tx, &end, rand.New(rand.NewPCG(n, uint64(i))))
						ids[i] = e
						return err
					})
				}
				if err == nil && i%5 == 0 {
					err = f.Update(context.Background(), func(tx *store.Tx) error {
						_, err := tx.DeleteEnded(chargehand.Live, startMs+7*store.HourMs, 1)
						return err
					})
				}
				if err != nil {
					f.Error(err)
				}
			}
			mu.Lock()
			all = append(all, ids...)
			mu.Unlock()
		})
	}
	counters.Go(func() {
		for !done.Load() {
			if faults, err := recounted(f.Store, 30); err != nil || len(faults) > 0 {
				f.Errorf("a recount beside them finds %+v, %v", faults, err)
				return
			}
		}
	})
	work.Wait()
	done.Store(true)
	counters.Wait()
	f.countAll(100)
	f.sameRollups(all)
	f.wellCounted()
}

// recounted finds what rollups lack, as the doctor does.
func recounted(s *store.Store, limit int) (faults []store.RollupFault, err error) {
	ctx := context.Background()
	var recount store.Recount
	for more := true; more && err == nil; {
		var page store.RecountPage
		err = s.View(ctx, func(r *store.Reader) (err error) {
			page, err = recount.Read(r, limit)
			return err
		})
		more = recount.Add(page)
	}
	if err != nil {
		return nil, err
	}
	err = s.View(ctx, func(r *store.Reader) error {
		found, err := recount.Compare(r, recount.Keys(0))
		if err != nil {
			return err
		}
		first, err := r.FirstRollup(0)
		if errors.Is(err, store.ErrNotFound) {
			faults = found
			return nil
		}
		if err != nil {
			return err
		}
		totals, err := r.ShortTotals(first, first+1000*store.HourMs)
		faults = slices.Concat(found, totals)
		return err
	})
	return faults, err
}

func (f *fixture) wellCounted() {
	f.Helper()
	if faults, err := recounted(f.Store, 30); err != nil || len(faults) > 0 {
		f.Errorf("a recount finds %+v, %v", faults, err)
	}
}

func recountMends(f *fixture) {
	f.wellCounted()
	r := rand.New(rand.NewPCG(9, f.n))
	var all []store.Execution
	for range 60 {
		e := f.varied(r)
		f.insert(&e)
		f.update(func(tx *store.Tx) (err error) {
			copied := e
			copied, err = ended(tx, &copied, rand.New(rand.NewPCG(10, uint64(len(all)))))
			all = append(all, copied)
			return err
		})
		if len(all) == 30 {
			f.countAll(100)
		}
	}
	f.wellCounted() // what is not counted yet is nothing that lacks
	f.countAll(100)
	f.wellCounted()
	for _, damage := range []string{
		`DELETE FROM rollup WHERE workflow = 1`,
		`UPDATE rollup SET started = started - 1 WHERE workflow = 0 AND started > 0`,
		`UPDATE rollup SET finished = 0, durations = NULL WHERE actor = 0`,
		`DELETE FROM rollup WHERE workflow = 0`,
		`DELETE FROM rollup`,
	} {
		err := f.db.Update(context.Background(), func(c store.Conn) error {
			_, err := c.Exec(damage)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
		faults, err := recounted(f.Store, 7)
		if err != nil || len(faults) == 0 {
			f.Fatalf("%s: a recount finds %d faults, %v", damage, len(faults), err)
		}
		f.update(func(tx *store.Tx) error { return tx.MendRollups(faults) })
		f.wellCounted()
		f.sameRollups(all)
	}
	// Totals alone that are less than their parts: the executions are gone, and their counts stay.
	f.update(func(tx *store.Tx) error {
		for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
			if _, err := tx.DeleteEnded(env, startMs+99*store.HourMs, 1000); err != nil {
				return err
			}
		}
		return nil
	})
	f.wellCounted()
	f.sameRollups(all)
	err := f.db.Update(context.Background(), func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM rollup WHERE workflow = 0`)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	faults, err := recounted(f.Store, 7)
	if err != nil || len(faults) == 0 {
		f.Fatalf("a recount finds no total that is missing: %v", err)
	}
	f.update(func(tx *store.Tx) error { return tx.MendRollups(faults) })
	f.wellCounted()
	f.sameRollups(all)
}

func endCountedOnce(f *fixture) {
	before, after := f.execution(startMs), f.execution(startMs)
	f.insert(&before, &after)
	var cursor store.RollupCursor
	f.update(func(tx *store.Tx) error { return tx.CloseRollup(cursor, startMs) })
	// It ends after the numbers were closed, and before it is counted.
	f.update(func(tx *store.Tx) error { _, err := finish(tx, before.No, startMs+5, "1"); return err })
	if n := f.number(`SELECT COUNT(*) FROM rollup_ended`); n != 1 {
		f.Errorf("%d ends are noted, want 1", n)
	}
	f.countAll(100)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, after.No, startMs+6, "1"); return err })
	third := f.execution(startMs)
	f.insert(&third)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, third.No, startMs+7, "1"); return err })
	if n := f.number(`SELECT COUNT(*) FROM rollup_ended`); n != 1 {
		f.Errorf("%d ends are noted, want 1: the third one is not counted yet", n)
	}
	f.countAll(100)
	all := []store.Execution{before, after, third}
	for i := range all {
		all[i].State, all[i].Status, all[i].Phase = store.StateEnded, chargehand.Finished, chargehand.Completed
		all[i].StartedMs, all[i].FinishedMs = startMs, startMs+5+int64(i)
		all[i].StartedMs = all[i].FinishedMs
	}
	f.sameRollups(all)
}

func outdatedRollupPart(f *fixture) {
	f.inserted()
	var first store.RollupCursor
	f.update(func(tx *store.Tx) error { return tx.CloseRollup(first, startMs) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CloseRollup(first, startMs) })
	var part store.RollupPart
	f.view(func(r *store.Reader) (err error) {
		part, err = r.RollupPart(10)
		return err
	})
	f.update(func(tx *store.Tx) error { return tx.PutRollupPart(&part) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutRollupPart(&part) })
}

func deletedUncounted(f *fixture) {
	e := f.execution(startMs)
	f.update(func(tx *store.Tx) (err error) {
		copied := e
		e, err = ended(tx, &copied, rand.New(rand.NewPCG(1, 1)))
		return err
	})
	var part store.RollupPart
	f.update(func(tx *store.Tx) error { return tx.CloseRollup(store.RollupCursor{}, startMs) })
	f.view(func(r *store.Reader) (err error) {
		part, err = r.RollupPart(10)
		return err
	})
	f.update(func(tx *store.Tx) error {
		_, err := tx.DeleteEnded(chargehand.Live, startMs+9*store.HourMs, 10)
		return err
	})
	f.sameRollups([]store.Execution{e})
	// What was read before the deletion must not be counted again.
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutRollupPart(&part) })
	f.countAll(10)
	f.sameRollups([]store.Execution{e})
}

// deletedAlone deletes a single execution before, and another one after it was counted.
func deletedAlone(f *fixture) {
	var all []store.Execution
	for i := range uint64(4) {
		e := f.execution(startMs)
		f.update(func(tx *store.Tx) (err error) {
			copied := e
			e, err = ended(tx, &copied, rand.New(rand.NewPCG(2, i)))
			return err
		})
		if i%2 == 0 {
			f.countAll(10)
		}
		f.update(func(tx *store.Tx) error { return tx.DeleteExecution(e.No) })
		all = append(all, e)
	}
	f.countAll(10)
	f.sameRollups(all)
}

func rollupNumbersAgain(f *fixture) {
	var all []store.Execution
	for i := range uint64(3) {
		e := f.execution(startMs)
		f.update(func(tx *store.Tx) (err error) {
			copied := e
			e, err = ended(tx, &copied, rand.New(rand.NewPCG(1, i)))
			return err
		})
		all = append(all, e)
		f.countAll(10)
		f.update(func(tx *store.Tx) error {
			_, err := tx.DeleteEnded(chargehand.Live, startMs+9*store.HourMs, 10)
			return err
		})
	}
	f.sameRollups(all)
}

func rollupKeys(f *fixture) {
	e := f.execution(startMs)
	e.StartedBy, e.Workflow = -7, 3
	f.insert(&e)
	f.countAll(10)
	hour := int64(startMs - startMs%store.HourMs)
	for key, want := range map[store.RollupKey]int64{
		{Account: 1, Environment: chargehand.Live}:                         1,
		{Account: 1, Environment: chargehand.Live, Workflow: 3}:            1,
		{Account: 1, Environment: chargehand.Live, Actor: -7}:              1,
		{Account: 1, Environment: chargehand.Live, Workflow: 3, Actor: -7}: 1,
		{Account: 1, Environment: chargehand.Live, Workflow: 4}:            0,
		{Account: 1, Environment: chargehand.Live, Actor: 7}:               0,
		{Account: 1, Environment: chargehand.Test}:                         0,
		{Account: 2, Environment: chargehand.Live}:                         0,
	} {
		f.view(func(r *store.Reader) error {
			var n int64
			err := r.Rollups(key, hour, hour+1, func(hourMs int64, c *store.Rollup) { n += c.Started })
			if n != want {
				f.Errorf("%+v has started %d, want %d", key, n, want)
			}
			err2 := r.Rollups(key, hour+1, hour+store.HourMs, func(int64, *store.Rollup) { f.Errorf("%+v has another hour", key) })
			day, n := int64(startMs-startMs%store.DayMs), int64(0)
			key.Day = true
			err3 := r.Rollups(key, day, day+1, func(_ int64, c *store.Rollup) { n += c.Started })
			if n != want {
				f.Errorf("%+v has started %d on that day, want %d", key, n, want)
			}
			return errors.Join(err, err2, err3)
		})
	}
}

func deleteRollups(f *fixture) {
	old, young := f.execution(startMs), f.execution(startMs+store.DayMs)
	f.insert(&old, &young)
	f.countAll(10)
	before := int64(startMs-startMs%store.DayMs) + store.DayMs
	var n int64
	f.update(func(tx *store.Tx) (err error) {
		n, err = tx.DeleteRollups(before, 1)
		return err
	})
	if n != 1 {
		f.Errorf("%d rollups were deleted, want 1", n)
	}
	f.update(func(tx *store.Tx) (err error) {
		n, err = tx.DeleteRollups(before, 100)
		return err
	})
	f.sameRollups([]store.Execution{young})
}

func cancelledItemsCounted(f *fixture) {
	b, items := f.batch(5)
	f.countAll(10)
	f.update(func(tx *store.Tx) error {
		if _, err := tx.SetBatchCancelled(b.No, "enough"); err != nil {
			return err
		}
		_, _, err := tx.CancelQueuedItems(b.No, 10, startMs+3, []byte("{}"))
		return err
	})
	f.countAll(2)
	for i := range items {
		items[i].State, items[i].Status, items[i].Phase, items[i].FinishedMs = store.StateEnded, chargehand.Errored, chargehand.Cancelled, startMs+3
	}
	f.sameRollups(items)
}

func nothingToCount(f *fixture) {
	f.view(func(r *store.Reader) error {
		c, behind, err := r.RollupState()
		if behind || c != (store.RollupCursor{}) {
			f.Errorf("behind %v, cursor %+v", behind, c)
		}
		return err
	})
	f.countAll(10)
	if n := len(slices.Collect(maps.Keys(f.stored()))); n != 0 {
		f.Errorf("%d rollups of nothing", n)
	}
}

// writersNamed: while an Update runs that has written, either it is named, or no other one can run.
func writersNamed(f *fixture) {
	inside, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- f.db.Update(context.Background(), func(c store.Conn) error {
			if err := put(c, "one", "1"); err != nil {
				return err
			}
			close(inside)
			<-release
			return nil
		})
	}()
	<-inside
	var names []string
	f.view(func(r *store.Reader) (err error) {
		names, err = r.Writers()
		return err
	})
	close(release)
	if err := <-ended; err != nil {
		f.Fatal(err)
	}
	if len(names) > 1 {
		f.Errorf("one Update runs, and %q are named", names)
	}
	if err := f.AwaitWriters(context.Background()); err != nil {
		f.Error(err)
	}
}
