package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) taskLink(task, maker int64, email string, by ...func(*store.TaskLink)) store.TaskLink {
	f.Helper()
	id := f.taskID()
	hash := sha256.Sum256(id[:])
	l := store.TaskLink{
		ID: chargehand.TaskLinkID(id), Task: task, Hash: hash[:], Name: "Eve", Email: email, EmailKey: email, Person: 3, Maker: maker,
		MakerID: fmt.Sprintf("maker %d", maker), MakerName: "Maker", CreatedMs: startMs, ExpiresMs: startMs + 100,
	}
	for _, change := range by {
		change(&l)
	}
	f.update(func(tx *store.Tx) error { return tx.InsertTaskLink(&l) })
	return l
}

func taskLinks(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	other := f.open(f.humanTask(h.Execution, 2))
	want := []store.TaskLink{f.taskLink(h.No, -4, "eve@example.com"), f.taskLink(h.No, 7, "")}
	var mailed []store.TaskLink
	for i := range int64(5) {
		mailed = append(mailed, f.taskLink(h.No, 0, "bob@example.com"))
		f.update(func(tx *store.Tx) error { return tx.KeepMailedLinks(h.No, "bob@example.com", 2, startMs+i) })
	}
	want = append(want, mailed[3:]...)
	f.taskLink(other.No, 0, "bob@example.com")
	f.view(func(r *store.Reader) error {
		got, err := r.TaskLinks(h.No, 10)
		if !reflect.DeepEqual(got, want) {
			f.Errorf("links %+v\nwant %+v", got, want)
		}
		if n, err := r.CountTaskLinks(h.No, 10); n != 2 || err != nil {
			f.Errorf("%d links were made by people (%v)", n, err)
		}
		if n, err := r.CountTaskLinks(h.No, 1); n != 1 || err != nil {
			f.Errorf("counted up to 1: %d (%v)", n, err)
		}
		for person, want := range map[int64]int64{4: 1, 7: 0} { // 7 is an API key
			if n, err := r.CountOpenLinks(person, 10); n != want || err != nil {
				f.Errorf("the person %d has made %d links to open tasks (%v), want %d", person, n, err, want)
			}
		}
		if got, err := r.TaskLinkByHash(want[0].Hash); err != nil || !reflect.DeepEqual(got, want[0]) {
			f.Errorf("by hash: %+v, %v", got, err)
		}
		for i, l := range mailed { // each was replaced when there were two newer ones
			l.ReplacedMs = []int64{startMs + 2, startMs + 3, startMs + 4, 0, 0}[i]
			if got, err := r.TaskLinkByHash(l.Hash); err != nil || !reflect.DeepEqual(got, l) {
				f.Errorf("mailed link %d: %+v, %v", i, got, err)
			}
		}
		if _, err := r.TaskLinkByID(other.No, want[0].ID); err == nil {
			f.Error("a link to one task is found as one to another")
		}
		task, err2 := r.HumanTaskByNo(h.No)
		if task.ID != h.ID || err2 != nil {
			f.Errorf("task by number: %+v, %v", task, err2)
		}
		return err
	})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.CountLinkUpload(want[0].No, 2, 100), tx.CountLinkBytes(want[0].No, 70, 100))
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CountLinkBytes(want[0].No, 31, 100) })
	f.update(func(tx *store.Tx) error { return tx.CountLinkUpload(want[0].No, 2, 100) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CountLinkUpload(want[0].No, 2, 100) })
	f.update(func(tx *store.Tx) error { return tx.CountLinkBytes(want[0].No, 30, 100) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CountLinkUpload(want[0].No, 3, 100) })
	taken := want[0]
	taken.ID = chargehand.TaskLinkID(f.taskID())
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertTaskLink(&taken) })
	f.update(func(tx *store.Tx) error { return tx.RevokeTaskLink(want[0].No, startMs+5) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RevokeTaskLink(want[0].No, startMs+6) })
	f.view(func(r *store.Reader) error {
		got, err := r.TaskLinkByID(h.No, want[0].ID)
		if got.RevokedMs != startMs+5 || got.Uploads != 2 || got.UploadBytes != 100 {
			f.Errorf("revoked: %+v", got)
		}
		return err
	})
	f.update(func(tx *store.Tx) error { _, err := finish(tx, h.Execution, startMs+9, "1"); return err })
	f.deleteEnded(chargehand.Live, startMs+10, 10)
	f.view(func(r *store.Reader) error {
		got, err := r.TaskLinks(h.No, 10)
		if len(got) != 0 {
			f.Errorf("links of a task that was deleted: %+v", got)
		}
		return err
	})
}

// linksOfOpenTasks: so many links are looked at when sessions of their makers end, at most. Those of tasks that have
// ended would make that take longer and longer.
func (f *fixture) linksOfOpenTasks(want int64) {
	f.Helper()
	var n int64
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT COUNT(*) FROM human_link WHERE maker < 0 AND revoked_ms = 0 AND task_ended = 0`, func(r store.Row) error {
			n = r.Int(0)
			return nil
		})
	})
	if err != nil || n != want {
		f.Errorf("%d links are in the index of makers, want %d (%v)", n, want, err)
	}
}

// taskLinksOfSessions: links end with the sessions that have made them.
func taskLinksOfSessions(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	foreign := f.humanTask(f.inserted(), 1)
	foreign.Account = 2
	foreign = f.open(foreign)
	done := f.open(f.humanTask(f.inserted(), 1))
	sessions := make([]store.Session, 3) // of person 4
	for i := range sessions {
		sessions[i] = f.newSession(4, fmt.Sprint("mine ", i))
	}
	by := func(i int) func(*store.TaskLink) { return func(l *store.TaskLink) { l.MakerSession = sessions[i].ID } }
	byKey := func(l *store.TaskLink) { l.MakerKey = 9 }
	byOther := f.newSession(5, "of another")
	links := []store.TaskLink{
		f.taskLink(h.No, -4, "", by(0)), f.taskLink(h.No, -4, "", by(1)), f.taskLink(h.No, -4, "", by(2)), f.taskLink(h.No, -4, "", byKey),
		f.taskLink(h.No, -5, "", func(l *store.TaskLink) { l.MakerSession = byOther.ID }), f.taskLink(h.No, 7, "", func(l *store.TaskLink) { l.MakerKey = 7 }),
		f.taskLink(h.No, 0, "bob@example.com"), f.taskLink(foreign.No, -4, "", by(1)), f.taskLink(done.No, -4, "", by(1)),
	}
	f.linksOfOpenTasks(7)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, done.Execution, startMs+1, "1"); return err })
	f.linksOfOpenTasks(6)
	late := links[8]
	late.ID, late.Hash = chargehand.TaskLinkID(f.taskID()), []byte("late")
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertTaskLink(&late) })
	revoked := func(when string, want ...int64) {
		f.Helper()
		f.view(func(r *store.Reader) error {
			for i, l := range links {
				l.RevokedMs = want[i]
				if got, err := r.TaskLinkByHash(l.Hash); err != nil || !reflect.DeepEqual(got, l) {
					f.Errorf("%s, link %d: %+v, %v, want %+v", when, i, got, err, l)
				}
			}
			return nil
		})
	}
	const one, two, three, four = startMs + 1, startMs + 2, startMs + 3, startMs + 4
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.RevokeSession(4, sessions[0].ID, one), tx.RevokeLinksOf(5, sessions[0].ID, one))
	})
	revoked("by another person, and signed out", 0, 0, 0, 0, 0, 0, 0, 0, 0)
	f.update(func(tx *store.Tx) error { return tx.RevokeLinksOf(4, sessions[0].ID, one) })
	revoked("of one session", one, 0, 0, 0, 0, 0, 0, 0, 0)
	f.update(func(tx *store.Tx) error { return tx.RevokeSessions(4, 1, sessions[2].No, two) })
	revoked("of the other sessions in an account", one, two, 0, 0, 0, 0, 0, 0, 0)
	f.update(func(tx *store.Tx) error { return tx.RevokeSessions(4, 0, sessions[2].No, three) })
	revoked("of the other sessions", one, two, 0, 0, 0, 0, 0, three, 0)
	f.update(func(tx *store.Tx) error { return tx.RevokeSessions(4, 0, 0, four) })
	revoked("of all sessions", one, two, four, four, 0, 0, 0, three, 0)
	f.update(func(tx *store.Tx) error {
		s, err := tx.SessionForUpdate(sessions[1].No)
		if s.RevokedMs != two || s.ID != sessions[1].ID {
			f.Errorf("the session is %+v", s)
		}
		return err
	})
}
