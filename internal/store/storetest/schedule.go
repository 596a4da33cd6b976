package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var scheduleTests = map[string]func(*fixture){
	"replaced":       scheduleReplaced,
	"moved once":     scheduleMovedOnce,
	"due in order":   scheduleDue,
	"agenda":         scheduleAgenda,
	"ends":           scheduleEnds,
	"matches":        scheduleMatches,
	"large matches":  scheduleLargeMatches,
	"cron forgotten": scheduleCronForgotten,
}

// scheduled activates the schedule of a workflow and returns it.
func (f *fixture) scheduled(workflow int64) store.Schedule {
	f.Helper()
	f.update(func(tx *store.Tx) error { return tx.ActivateSchedule(1, workflow, 10*workflow, startMs) })
	return f.scheduleOf(workflow)
}

func (f *fixture) scheduleOf(workflow int64) (s store.Schedule) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		s, err = r.ScheduleOf(workflow)
		return err
	})
	return s
}

// move writes what change makes of a schedule, and returns it as it is then.
func (f *fixture) move(s store.Schedule, change func(*store.Schedule)) store.Schedule {
	f.Helper()
	change(&s)
	f.update(func(tx *store.Tx) error { return tx.MoveSchedule(&s) })
	return f.scheduleOf(s.Workflow)
}

func scheduleReplaced(f *fixture) {
	e := store.Event{Account: 1, Environment: chargehand.Live, Dedupe: [16]byte{1}, Type: "a", Data: inline(`{}`)}
	f.update(func(tx *store.Tx) error {
		_, err := tx.InsertEvents([]store.Event{e}, startMs)
		return err
	})
	first := f.scheduled(1)
	if want := (store.Schedule{No: first.No, Workflow: 1, Account: 1, Revision: 10, ActivatedMs: startMs, Position: 1}); first != want {
		f.Errorf("activated: %+v, want %+v", first, want)
	}
	f.update(func(tx *store.Tx) error {
		return tx.PutMatch(store.Match{Schedule: first.No, Number: 1, State: inline("x")})
	})
	second := f.scheduled(1)
	if second.No <= first.No || second.Step != 0 {
		f.Errorf("the schedule %+v replaced %+v", second, first)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.MoveSchedule(&first) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteSchedule(&first) })
	f.update(func(tx *store.Tx) error { return tx.DeactivateSchedule(1) })
	f.update(func(tx *store.Tx) error { return tx.DeactivateSchedule(1) })
	if n := f.number(`SELECT (SELECT COUNT(*) FROM schedule) + (SELECT COUNT(*) FROM schedule_match)`); n != 0 {
		f.Errorf("%d rows are left", n)
	}
	third := f.scheduled(1)
	if third.No <= second.No {
		f.Error("a number was used twice")
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteSchedule(&third) })
	err := f.View(f.Context(), func(r *store.Reader) error {
		_, err := r.ScheduleOf(1)
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		f.Errorf("a schedule that was deleted: %v", err)
	}
}

func scheduleMovedOnce(f *fixture) {
	s := f.scheduled(1)
	moved := f.move(s, func(s *store.Schedule) {
		s.ActivatedMs, s.DueMs, s.EveryMs, s.CronMs, s.AfterMs, s.TickMs = 1, 2, 3, 4, 5, 6
		s.Execution, s.Listens, s.Position = 7, true, 8
	})
	want := store.Schedule{No: s.No, Workflow: 1, Account: 1, Revision: 10, Step: 1, ActivatedMs: 1, DueMs: 2, EveryMs: 3,
		CronMs: 4, AfterMs: 5, TickMs: 6, Execution: 7, Listens: true, Position: 8}
	if moved != want {
		f.Errorf("moved: %+v, want %+v", moved, want)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.MoveSchedule(&s) })
	if got := f.scheduleOf(1); got != want {
		f.Errorf("after who was too late: %+v", got)
	}
}

func scheduleDue(f *fixture) {
	for workflow, due := range []int64{30, 10, 20, 10, store.NeverMs} {
		f.move(f.scheduled(int64(workflow+1)), func(s *store.Schedule) { s.DueMs = due })
	}
	after := store.Schedule{DueMs: -1}
	var got []int64
	for {
		var page []store.Schedule
		f.view(func(r *store.Reader) (err error) {
			page, err = r.SchedulesDue(29, after, 2)
			return err
		})
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			got = append(got, s.Workflow)
		}
		after = page[len(page)-1]
	}
	if want := []int64{2, 4, 3}; !slices.Equal(got, want) {
		f.Errorf("due: %v, want %v", got, want)
	}
}

func scheduleAgenda(f *fixture) {
	agenda := func(want store.Agenda) {
		f.Helper()
		var got store.Agenda
		f.view(func(r *store.Reader) (err error) {
			got, err = r.Agenda(50)
			return err
		})
		if got != want {
			f.Errorf("agenda %+v, want %+v", got, want)
		}
	}
	agenda(store.Agenda{NextMs: store.NeverMs})
	s := f.move(f.scheduled(1), func(s *store.Schedule) { s.DueMs = 50 })
	agenda(store.Agenda{Any: true, NextMs: store.NeverMs})
	f.move(f.scheduled(2), func(s *store.Schedule) { s.DueMs = 70 })
	f.move(f.scheduled(3), func(s *store.Schedule) { s.DueMs = 60 })
	agenda(store.Agenda{Any: true, NextMs: 60})
	s = f.move(s, func(s *store.Schedule) { s.Execution = 9 })
	agenda(store.Agenda{Any: true, NextMs: 60, Awaits: true})
	f.move(s, func(s *store.Schedule) { s.Execution, s.Listens = 0, true })
	agenda(store.Agenda{Any: true, NextMs: 60, Listens: true})
	f.view(func(r *store.Reader) error {
		list, err := r.ListeningSchedules(0, 10)
		if len(list) != 1 || list[0].Workflow != 1 {
			f.Errorf("listening: %+v", list)
		}
		return err
	})
}

func scheduleEnds(f *fixture) {
	running, ended := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, ended, startMs+5, `{}`)
		return err
	})
	for workflow, execution := range []int64{running, ended, ended + 1000, 0} {
		f.move(f.scheduled(int64(workflow+1)), func(s *store.Schedule) { s.Execution = execution })
	}
	got := map[int64]int64{}
	f.view(func(r *store.Reader) error {
		list, err := r.EndedSchedules(10)
		for _, e := range list {
			got[e.Workflow] = e.EndedMs
		}
		return err
	})
	if len(got) != 2 || got[2] != startMs+5 || got[3] != 0 {
		f.Errorf("ended: %v", got)
	}
}

func scheduleMatches(f *fixture) {
	s := f.scheduled(1)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PutMatch(store.Match{Schedule: s.No, Number: 7, State: inline("b")}),
			tx.PutMatch(store.Match{Schedule: s.No, Number: 3, State: inline("a")}),
			tx.PutMatch(store.Match{Schedule: s.No, Number: 7, State: inline("c\x00"), Starter: 5}), tx.DeleteMatch(s.No, 99))
	})
	matches := func() (text string) {
		f.view(func(r *store.Reader) error {
			list, err := r.Matches(s.No)
			for _, m := range list {
				text += fmt.Sprintf("%s %d;", m.State.Inline, m.Starter)
			}
			return err
		})
		return text
	}
	if got := matches(); got != "a 0;c\x00 5;" {
		f.Errorf("matches %q", got)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteMatch(s.No, 3) })
	if got := matches(); got != "c\x00 5;" {
		f.Errorf("matches %q", got)
	}
}

// scheduleLargeMatches: a match whose state is a blob keeps the blob as long as the match exists.
func scheduleLargeMatches(f *fixture) {
	s := f.scheduled(1)
	one, two := f.blobPayload(1, 1<<20), f.blobPayload(2, 2<<20)
	refs := func(want ...int64) {
		f.Helper()
		f.checkInvariants()
		for i, p := range []store.Payload{one, two} {
			if n := f.number(`SELECT refs FROM blob WHERE digest = ?1`, p.Blob); n != want[i] {
				f.Errorf("%d references to blob %d, want %d", n, i+1, want[i])
			}
		}
	}
	put := func(number int64, state store.Payload) {
		f.Helper()
		f.update(func(tx *store.Tx) error {
			return tx.PutMatch(store.Match{Schedule: s.No, Number: number, State: state})
		})
	}
	put(3, one)
	put(3, one)
	put(4, one)
	refs(2, 0)
	put(3, two)
	f.view(func(r *store.Reader) error {
		list, err := r.Matches(s.No)
		if len(list) != 2 || !bytes.Equal(list[0].State.Blob, two.Blob) || list[0].State.Size != 2<<20 || len(list[0].State.Inline) != 0 {
			f.Errorf("matches %+v", list)
		}
		return err
	})
	refs(1, 1)
	f.update(func(tx *store.Tx) error { return tx.DeleteMatch(s.No, 4) })
	put(4, inline("small"))
	refs(0, 1)
	f.scheduled(1) // another version
	refs(0, 0)
}

func scheduleCronForgotten(f *fixture) {
	with := f.move(f.scheduled(1), func(s *store.Schedule) { s.DueMs, s.CronMs = 40, 40 })
	without := f.move(f.scheduled(2), func(s *store.Schedule) { s.DueMs, s.CronMs = 50, store.NeverMs })
	f.update(func(tx *store.Tx) error { return tx.ForgetCronTimes() })
	if got := f.scheduleOf(1); got.CronMs != 0 || got.DueMs != 0 || got.Step != with.Step+1 {
		f.Errorf("forgotten: %+v", got)
	}
	if got := f.scheduleOf(2); got != without {
		f.Errorf("left alone: %+v, want %+v", got, without)
	}
}
