package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) taskLink(task, maker int64, email string) store.TaskLink {
	f.Helper()
	id := f.taskID()
	hash := sha256.Sum256(id[:])
	l := store.TaskLink{
		ID: chargehand.TaskLinkID(id), Task: task, Hash: hash[:], Name: "Eve", Email: email, EmailKey: email, Person: 3, Maker: maker,
		MakerID: fmt.Sprintf("maker %d", maker), MakerName: "Maker", CreatedMs: startMs, ExpiresMs: startMs + 100,
	}
	f.update(func(tx *store.Tx) error { return tx.InsertTaskLink(&l) })
	return l
}

func taskLinks(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	other := f.open(f.humanTask(h.Execution, 2))
	want := []store.TaskLink{f.taskLink(h.No, -4, "eve@example.com"), f.taskLink(h.No, 7, "")}
	for i := range 5 {
		mailed := f.taskLink(h.No, 0, "bob@example.com")
		f.update(func(tx *store.Tx) error { return tx.KeepMailedLinks(h.No, "bob@example.com", 2) })
		if i > 2 {
			want = append(want, mailed)
		}
	}
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
		if got, err := r.TaskLinkByHash(want[0].Hash); err != nil || !reflect.DeepEqual(got, want[0]) {
			f.Errorf("by hash: %+v, %v", got, err)
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
