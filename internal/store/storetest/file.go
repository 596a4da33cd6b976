package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

var fileTests = map[string]func(*fixture){
	"round trip":             fileRoundTrip,
	"hidden until published": filePublished,
	"hidden files go":        hiddenGo,
	"uploads go unless used": uploadsGo,
	"many at once":           filesAtOnce,
	"deleted by hand":        fileDeleted,
}

var blobTests = map[string]func(*fixture){
	"life of a blob":         blobLife,
	"a reservation keeps it": blobReserved,
	"a reference keeps it":   blobReferenced,
	"condemned is condemned": blobCondemned,
	"sweep beside puts":      sweepRace,
}

// file is an upload whose content is a reserved blob of that name.
func (f *fixture) file(name byte, ms int64) store.File {
	f.Helper()
	p := f.blobPayload(name, 100)
	file := store.File{
		Account: 1, Environment: chargehand.Live, Name: "a/../b.pdf", MediaType: "application/pdf", Size: p.Size, Digest: p.Blob, Visible: true,
	}
	setID(f, &file.ID, ms)
	return file
}

func (f *fixture) insertFile(file *store.File) {
	f.Helper()
	f.update(func(tx *store.Tx) error { return tx.InsertFile(file) })
}

func (f *fixture) fileThere(file *store.File) bool {
	f.Helper()
	there := false
	f.view(func(r *store.Reader) error {
		_, err := r.FileByID(file.Account, file.Environment, file.ID)
		if there = err == nil; errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return there
}

// filesAtOnce: more than one list of them, without those of others and those that are gone.
func filesAtOnce(f *fixture) {
	blob := f.blobPayload(1, 100)
	var ids []chargehand.FileID
	var nos []int64
	f.update(func(tx *store.Tx) error {
		ids, nos = nil, nil
		for i := range 250 {
			file := store.File{ID: chargehand.FileID{byte(i), 1}, Account: 1, Environment: chargehand.Live, Name: "x", Size: 100, Digest: blob.Blob, Visible: i != 100}
			if i == 200 {
				file.Account = 2
			}
			if i != 50 {
				if err := tx.InsertFile(&file); err != nil {
					return err
				}
				nos = append(nos, file.No)
			}
			ids = append(ids, file.ID)
		}
		return nil
	})
	f.view(func(r *store.Reader) error {
		found, err := r.FilesByID(1, chargehand.Live, ids)
		if len(found) != 247 || found[ids[249]].ID != ids[249] || found[ids[249]].No != nos[248] {
			f.Errorf("found %d", len(found))
		}
		none, err2 := r.FilesByID(1, chargehand.Test, ids[:1])
		if len(none) != 0 {
			f.Errorf("found %d in the other environment", len(none))
		}
		return errors.Join(err, err2)
	})
	want := slices.Clone(nos)
	slices.Reverse(nos)
	var kept []int64
	f.update(func(tx *store.Tx) (err error) {
		kept, err = tx.KeepFiles(append(nos, nos[0]+1_000))
		return err
	})
	if !slices.Equal(kept, want) {
		f.Errorf("kept %d of %d", len(kept), len(want))
	}
}

func fileRoundTrip(f *fixture) {
	file := f.file(1, startMs)
	f.insertFile(&file)
	f.view(func(r *store.Reader) error {
		got, err := r.FileByID(1, chargehand.Live, file.ID)
		found, err2 := r.FindFile(file.ID)
		if !reflect.DeepEqual(got, file) || !reflect.DeepEqual(found, file) {
			f.Errorf("read %+v and %+v, want %+v", got, found, file)
		}
		_, foreign := r.FileByID(2, chargehand.Live, file.ID)
		_, elsewhere := r.FileByID(1, chargehand.Test, file.ID)
		if !errors.Is(foreign, store.ErrNotFound) || !errors.Is(elsewhere, store.ErrNotFound) {
			f.Errorf("foreign file: %v, %v", foreign, elsewhere)
		}
		return errors.Join(err, err2)
	})
	again := f.file(2, startMs)
	again.ID = file.ID
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertFile(&again) })
	unreserved := f.file(3, startMs)
	unreserved.Digest = append([]byte{}, unreserved.Digest...)
	unreserved.Digest[9] = 1
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.InsertFile(&unreserved) })
}

func filePublished(f *fixture) {
	no := f.inserted()
	hidden, upload := f.file(1, startMs), f.file(2, startMs)
	hidden.Visible = false
	f.insertFile(&hidden)
	f.insertFile(&upload)
	if f.fileThere(&hidden) {
		f.Error("a file is visible before its outcome is journaled")
	}
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PublishFile(hidden.ID, no), tx.PublishFile(hidden.ID, no), tx.PublishFile(upload.ID, no))
	})
	f.view(func(r *store.Reader) error {
		made, err := r.FilesOf(no, 0, 10)
		if len(made) != 1 || made[0].ID != hidden.ID || !made[0].Visible {
			f.Errorf("files of the execution: %+v, want the one that it made", made)
		}
		none, err2 := r.FilesOf(0, 0, 10)
		if len(none) != 0 {
			f.Errorf("%d files of no execution", len(none))
		}
		return errors.Join(err, err2)
	})
	unknown := f.file(3, startMs)
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.PublishFile(unknown.ID, no) })
}

func hiddenGo(f *fixture) {
	for i := range byte(6) {
		file := f.file(i, startMs+int64(i))
		file.Visible = i == 0
		f.insertFile(&file)
	}
	for _, want := range []int{2, 1, 0} { // those at +1, +2, +3
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteHiddenFiles(startMs+4, 2)
			if n != want {
				f.Errorf("deleted %d, want %d", n, want)
			}
			return err
		})
	}
	if n := f.number(`SELECT COUNT(*) FROM file`); n != 3 {
		f.Errorf("%d files are left, want 3", n)
	}
}

func uploadsGo(f *fixture) {
	no := f.inserted()
	used, unused, young, elsewhere := f.file(1, startMs), f.file(1, startMs), f.file(1, startMs+10), f.file(1, startMs)
	elsewhere.Environment = chargehand.Test
	for _, file := range []*store.File{&used, &unused, &young, &elsewhere} {
		f.insertFile(file)
	}
	f.update(func(tx *store.Tx) error { return errors.Join(tx.UseFile(used.No, no), tx.UseFile(used.No, no)) })
	for _, want := range []int{1, 0} {
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteUploads(chargehand.Live, startMs+10, 100)
			if n != want {
				f.Errorf("deleted %d, want %d", n, want)
			}
			return err
		})
	}
	if f.fileThere(&unused) || !f.fileThere(&used) || !f.fileThere(&young) || !f.fileThere(&elsewhere) {
		f.Error("another file than the old, unused one is gone")
	}
}

func fileDeleted(f *fixture) {
	maker, user := f.execution(startMs), f.execution(startMs)
	f.insert(&maker, &user)
	made, given, loose := f.file(1, startMs), f.file(1, startMs), f.file(1, startMs)
	made.Visible = false
	for _, file := range []*store.File{&made, &given, &loose} {
		f.insertFile(file)
	}
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PublishFile(made.ID, maker.No), tx.UseFile(given.No, user.No))
	})
	remove := func(file *store.File) func(*store.Tx) error {
		return func(tx *store.Tx) error { return tx.DeleteFile(file.No) }
	}
	f.refused(store.ErrConflict, remove(&made))
	f.refused(store.ErrConflict, remove(&given))
	f.update(remove(&loose))
	f.refused(store.ErrNotFound, remove(&loose))
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, maker.No, startMs, "1")
		_, err2 := finish(tx, user.No, startMs, "1")
		return errors.Join(err, err2)
	})
	f.update(remove(&made))
	if got := f.sweep(startMs, startMs+9); len(got) != 0 {
		f.Error("a content that another file has is condemned")
	}
	f.update(remove(&given))
	f.sweep(startMs, 0)
	if got := f.sweep(startMs+1, startMs+9); len(got) != 1 {
		f.Error("the content of deleted files stays")
	}
	f.wantUsage("deleted", usageOfLive, store.Usage{Executions: 2, Bytes: 16})
	f.view(func(r *store.Reader) error {
		n, err := r.LongestQueue(1, chargehand.Live, 10)
		if n != 0 {
			f.Errorf("the longest queue has %d executions, want 0", n)
		}
		return err
	})
	for i, workflow := range []int64{1, 2, 2} {
		e := f.execution(startMs + int64(i))
		e.Workflow = workflow
		f.insert(&e)
	}
	f.view(func(r *store.Reader) error {
		n, err := r.LongestQueue(1, chargehand.Live, 10)
		if n != 2 {
			f.Errorf("the longest queue has %d executions, want 2", n)
		}
		return err
	})
}

// sweep runs the four steps and returns the digests whose content is to be deleted.
func (f *fixture) sweep(noticeMs, condemnMs int64) (digests [][]byte) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		_, err := tx.StampUnusedBlobs(noticeMs, 100)
		if err == nil {
			_, err = tx.StartBlobDeletion(condemnMs, 100)
		}
		if err == nil {
			digests, err = tx.BlobsToDelete(100)
		}
		return err
	})
	return digests
}

func (f *fixture) blobKnown(digest []byte) (known bool) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		known, err = r.BlobKnown(digest)
		return err
	})
	return known
}

func blobLife(f *fixture) {
	a, b := f.file(1, startMs), f.file(1, startMs)
	f.insertFile(&a)
	f.insertFile(&b)
	if got := f.sweep(startMs, startMs+9); len(got) != 0 {
		f.Error("a blob with two references is condemned")
	}
	a.Visible = false
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteUploads(chargehand.Live, startMs+1, 1); return err })
	if got := f.sweep(startMs, startMs+9); len(got) != 0 {
		f.Error("a blob with one reference is condemned")
	}
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteUploads(chargehand.Live, startMs+1, 1); return err })
	if got := f.sweep(startMs+100, startMs+100); len(got) != 0 {
		f.Error("a blob is condemned as soon as it is noticed")
	}
	got := f.sweep(startMs+200, startMs+101)
	if len(got) != 1 || !reflect.DeepEqual(got[0], a.Digest) {
		f.Errorf("condemned %x, want the one that was noticed at +100", got)
	}
	f.update(func(tx *store.Tx) error { return tx.RemoveBlob(a.Digest) })
	if f.blobKnown(a.Digest) {
		f.Error("the row of a removed blob is there")
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RemoveBlob(a.Digest) })
}

func blobReserved(f *fixture) {
	p := f.blobPayload(1, 10)
	f.sweep(startMs, 0)
	f.blobPayload(1, 10) // reserved again: the hour starts anew
	if got := f.sweep(startMs+50, startMs+1); len(got) != 0 {
		f.Error("a blob is condemned although it was reserved after it was noticed")
	}
	if got := f.sweep(startMs+60, startMs+51); len(got) != 1 || !reflect.DeepEqual(got[0], p.Blob) {
		f.Errorf("condemned %x an hour after the reservation, want it", got)
	}
}

func blobReferenced(f *fixture) {
	file := f.file(1, startMs)
	f.sweep(startMs, 0)
	f.insertFile(&file)
	if got := f.sweep(startMs+1, startMs+9); len(got) != 0 {
		f.Error("a blob is condemned although it got a reference after it was noticed")
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RemoveBlob(file.Digest) })
}

func blobCondemned(f *fixture) {
	file := f.file(1, startMs)
	f.sweep(startMs, startMs+1)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.ReserveBlob(file.Digest, 100) })
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.InsertFile(&file) })
	if got := f.sweep(startMs, 0); len(got) != 1 {
		f.Error("after a crash, the condemned blob is forgotten")
	}
	f.update(func(tx *store.Tx) error { return tx.RemoveBlob(file.Digest) })
	f.update(func(tx *store.Tx) error { return tx.ReserveBlob(file.Digest, 100) })
	f.insertFile(&file)
}

// sweepRace puts, deletes and sweeps the same few contents at once. At the end, the
// content of every file must be there. Time is a counter that moves on only while no Put
// is between its reservation and its reference: that is what the hour is for.
func sweepRace(f *fixture) {
	var content sync.Map // digest → true: the blob store
	var hour sync.RWMutex
	var wg sync.WaitGroup
	nowMs := int64(startMs)
	ctx := context.Background()
	put := func(name byte, file store.File) error {
		hour.RLock()
		defer hour.RUnlock()
		file.Digest = make([]byte, 32)
		file.Digest[0] = name
		for {
			err := f.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(file.Digest, 5) })
			if err == nil {
				break
			}
			if !errors.Is(err, store.ErrConflict) {
				return err
			}
		}
		if _, there := content.Load(string(file.Digest)); !there {
			content.Store(string(file.Digest), true)
		}
		return f.Update(ctx, func(tx *store.Tx) error { return tx.InsertFile(&file) })
	}
	done := make(chan struct{})
	var swept atomic.Int64
	enough := 15
	if sample.Full() {
		enough = 60
	}
	for i := range 4 {
		r := rand.New(rand.NewPCG(uint64(i), 5))
		files := make([]store.File, 3000) // most are spared
		for j := range files {
			files[j] = f.file(byte(r.IntN(3)), startMs)
		}
		wg.Go(func() {
			for i, file := range files {
				if i >= enough && swept.Load() > 0 {
					return
				}
				if err := put(file.Digest[0], file); err != nil {
					f.Errorf("put: %v", err)
					return
				}
				if err := f.Update(ctx, func(tx *store.Tx) error { _, err := tx.DeleteUploads(chargehand.Live, startMs+1, 2); return err }); err != nil {
					f.Errorf("delete: %v", err)
					return
				}
			}
		})
	}
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			hour.Lock()
			nowMs++
			hour.Unlock()
			for _, digest := range f.sweep(nowMs, nowMs) {
				content.Delete(string(digest))
				f.update(func(tx *store.Tx) error { return tx.RemoveBlob(digest) })
				swept.Add(1)
			}
		}
	})
	wg.Wait()
	close(done)
	sweeper.Wait()
	if swept.Load() == 0 {
		f.Error("nothing was swept: the test shows nothing")
	}
	for name := range byte(3) {
		digest := make([]byte, 32)
		digest[0] = name
		files := f.number(`SELECT COUNT(*) FROM file WHERE digest = ?1`, digest)
		if _, there := content.Load(string(digest)); files > 0 && !there {
			f.Errorf("%d files have lost their content", files)
		}
	}
}
