package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var usageTests = map[string]func(*fixture){
	"executions":            usageOfExecutions,
	"files":                 usageOfFiles,
	"members":               usageOfMembers,
	"human tasks":           usageOfTasks,
	"stored events":         usageOfEvents,
	"what is undone":        usageUndone,
	"many at once":          usageAtOnce,
	"folding beside writes": usageFolded,
}

// wantUsage reads usage.
func (f *fixture) wantUsage(what string, o store.UsageOwner, want store.Usage) {
	f.Helper()
	var got store.Usage
	f.view(func(r *store.Reader) (err error) {
		got, err = r.Usage(o)
		return err
	})
	if got != want {
		f.Errorf("%s: usage of %+v is %+v, want %+v", what, o, got, want)
	}
}

var (
	usageOfLive = store.UsageOwner{Account: 1, Environment: chargehand.Live}
	usageOfKey  = store.UsageOwner{Account: 1, Environment: chargehand.Live, Actor: 7}
)

func usageOfExecutions(f *fixture) {
	own, other, test, done := f.execution(startMs), f.execution(startMs), f.execution(startMs), f.execution(startMs)
	own.StartedBy, test.Environment, done.StartedBy = 7, chargehand.Test, 7
	other.Input = inline(string(make([]byte, 5000)))
	f.insert(&own, &other, &test)
	done.Status, done.Phase, done.State, done.FinishedMs = chargehand.Finished, chargehand.Completed, store.StateEnded, startMs
	f.update(func(tx *store.Tx) error {
		done := done // a repeated attempt inserts it anew
		return tx.InsertFinished(&done, &store.Outcome{Output: inline("12345")})
	})
	f.wantUsage("accepted", usageOfLive, store.Usage{Executions: 3, Bytes: 7 + 5000 + 7 + 5})
	f.wantUsage("accepted", usageOfKey, store.Usage{Executions: 2, Bytes: 7 + 7 + 5})
	f.wantUsage("accepted", store.UsageOwner{Account: 1, Environment: chargehand.Test}, store.Usage{Executions: 1, Bytes: 7})
	output := f.blobPayload(1, 1<<20)
	f.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(own.No, chargehand.Finished, chargehand.Completed, startMs, startMs, &store.Outcome{Output: output})
		return err
	})
	f.wantUsage("ended", usageOfKey, store.Usage{Executions: 2, Bytes: 7 + 7 + 5 + 1<<20})
	f.deleteEnded(chargehand.Live, startMs+1, 10)
	f.wantUsage("deleted", usageOfLive, store.Usage{Executions: 1, Bytes: 5000})
	f.wantUsage("deleted", usageOfKey, store.Usage{})
}

func usageOfFiles(f *fixture) {
	e := f.execution(startMs)
	e.StartedBy = 7
	f.insert(&e)
	input := store.Usage{Executions: 1, Bytes: 7}
	upload, result, lost := f.file(1, startMs), f.file(1, startMs), f.file(1, startMs)
	upload.Uploader, result.Visible, lost.Visible = 8, false, false
	f.insertFile(&upload)
	f.insertFile(&result)
	f.insertFile(&lost)
	f.wantUsage("hidden", usageOfLive, store.Usage{Executions: 1, Bytes: 307})
	f.wantUsage("hidden", usageOfKey, input)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PublishFile(result.ID, e.No), tx.PublishFile(result.ID, e.No), tx.PublishFile(upload.ID, e.No))
	})
	f.wantUsage("published", usageOfLive, store.Usage{Executions: 1, Bytes: 307})
	f.wantUsage("published", usageOfKey, store.Usage{Executions: 1, Bytes: 107})
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteHiddenFiles(startMs+1, 10); return err })
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteUploads(chargehand.Live, startMs+1, 10); return err })
	f.wantUsage("swept", usageOfLive, store.Usage{Executions: 1, Bytes: 107})
	f.wantUsage("swept", store.UsageOwner{Account: 1, Environment: chargehand.Live, Actor: 8}, store.Usage{})
}

// usageOfTasks: requests and answers count for the starter of the execution, comments and drafts for their authors.
func usageOfTasks(f *fixture) {
	e := f.execution(startMs)
	e.StartedBy = 7
	f.insert(&e)
	started := store.Usage{Executions: 1, Bytes: 7}
	own := func(what string, bytes int64) {
		f.Helper()
		want := started
		want.Bytes += bytes
		f.wantUsage(what, usageOfKey, want)
	}
	of := func(what string, actor, bytes int64) {
		f.Helper()
		f.wantUsage(what, store.UsageOwner{Account: 1, Environment: chargehand.Live, Actor: actor}, store.Usage{Bytes: bytes})
	}
	h := f.humanTask(e.No, 1)
	h.Owner = 7
	h = f.open(h)
	request := int64(len(h.Request.Inline))
	own("opened", request)
	comment := store.HumanComment{ID: f.taskID(), Author: -4, ByID: "4", ByName: "D", Text: "12345", CreatedMs: startMs}
	f.update(func(tx *store.Tx) error { c := comment; return tx.InsertHumanComment(&h, &c) })
	of("commented", -4, 5)
	for _, text := range []string{"1234567890", "123"} {
		d := store.HumanDraft{Task: h.No, Author: -4, Data: []byte(text), UpdatedMs: startMs}
		f.update(func(tx *store.Tx) error { return tx.PutHumanDraft(&d) })
		of("drafted", -4, 5+int64(len(text)))
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteHumanDraft(&h, -4) })
	of("discarded", -4, 5)
	f.update(func(tx *store.Tx) error {
		return tx.PutHumanDraft(&store.HumanDraft{Task: h.No, Author: -5, Data: []byte("12"), UpdatedMs: startMs})
	})
	of("drafted by another one", -5, 2)
	open := h
	f.update(func(tx *store.Tx) error { h = open; return tx.AnswerTask(&h, -4, inline("1234"), startMs+7, true) })
	own("answered", request+4)
	of("answered", -5, 0)
	f.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(e.No, chargehand.Finished, chargehand.Completed, startMs, startMs, &store.Outcome{Output: inline("1")})
		return err
	})
	f.deleteEnded(chargehand.Live, startMs+1, 10)
	f.wantUsage("deleted", usageOfKey, store.Usage{})
	of("deleted", -4, 0)
	var left store.Usage
	f.view(func(r *store.Reader) (err error) { left, err = r.Usage(usageOfLive); return err })
	if left.TaskChanges = 0; left != (store.Usage{}) {
		f.Errorf("when all is deleted: %+v", left)
	}
}

func usageOfMembers(f *fixture) {
	account := store.UsageOwner{Account: 1}
	m := store.Member{Account: 1, Person: store.Person{No: 3, EmailKey: "a", NameKey: "a"}, Status: store.Invited, CreatedMs: 1}
	f.update(func(tx *store.Tx) error { return tx.InsertMember(&m) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMember(&m) })
	f.wantUsage("invited", account, store.Usage{Users: 1})
	f.update(func(tx *store.Tx) error { return tx.DeleteMember(1, 3) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteMember(1, 3) })
	f.wantUsage("removed", account, store.Usage{})
}

func usageOfEvents(f *fixture) {
	stored := func(what string, want int64) {
		f.Helper()
		f.view(func(r *store.Reader) error {
			n, err := r.StoredEvents(1, chargehand.Live)
			if n != want {
				f.Errorf("%s: %d events are stored, want %d", what, n, want)
			}
			return err
		})
	}
	stored("before the first", 0)
	for i := range byte(5) {
		f.update(func(tx *store.Tx) error {
			_, err := tx.InsertEvents([]store.Event{{Account: 1, Environment: chargehand.Live, Dedupe: [16]byte{i}, Type: "a", Data: inline("{}")}}, startMs+int64(i))
			return err
		})
	}
	stored("all", 5)
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteEvents(1, chargehand.Live, startMs+3, 100); return err })
	stored("without the old ones", 2)
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteEvents(1, chargehand.Live, startMs+9, 100); return err })
	stored("none", 0)
}

// usageUndone: what is counted by an Update that fails is dropped, however it fails.
func usageUndone(f *fixture) {
	taken := f.execution(startMs)
	f.insert(&taken)
	failed := errors.New("changed its mind")
	f.refused(failed, func(tx *store.Tx) error {
		e := f.execution(startMs)
		return errors.Join(tx.InsertExecution(&e), failed)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { e := taken; return tx.InsertExecution(&e) })
	f.wantUsage("after failures", usageOfLive, store.Usage{Executions: 1, Bytes: 7})
}

// usageAtOnce: Updates that share a commit, some of which fail, one after statements that were put off.
func usageAtOnce(f *fixture) {
	var wg sync.WaitGroup
	taken := f.execution(startMs)
	f.insert(&taken)
	failed := errors.New("changed its mind")
	for i := range 8 {
		list := make([]store.Execution, 40)
		for j := range list {
			list[j] = f.execution(startMs)
			list[j].StartedBy = int64(j % 3)
		}
		wg.Go(func() {
			for j := range list {
				err := f.Update(context.Background(), func(tx *store.Tx) error {
					e := list[j]
					if j%5 == i%5 {
						e.ID = taken.ID // put off, it fails later
					}
					if err := tx.InsertExecution(&e); err != nil {
						return err
					}
					if j%7 == 0 {
						return failed
					}
					return nil
				})
				if err != nil && !errors.Is(err, failed) && !errors.Is(err, store.ErrConflict) {
					f.Errorf("update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := f.number(`SELECT COUNT(*) FROM execution`); n < 100 || n > 300 {
		f.Errorf("%d executions were inserted: the test shows nothing", n)
	}
}

// usageFolded: sums stay true while they are folded beside commits of several connections.
func usageFolded(f *fixture) {
	done := make(chan struct{})
	var writers, folder sync.WaitGroup
	for range 4 {
		list := make([]store.Execution, 50)
		for j := range list {
			list[j] = f.execution(startMs)
			list[j].StartedBy = int64(j % 4)
		}
		writers.Go(func() {
			for j := range list {
				if err := f.Update(context.Background(), func(tx *store.Tx) error { e := list[j]; return tx.InsertExecution(&e) }); err != nil {
					f.Errorf("update: %v", err)
				}
			}
		})
	}
	folder.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := tx.FoldUsage(3); return err }); err != nil {
				f.Errorf("fold: %v", err)
				return
			}
		}
	})
	writers.Wait()
	close(done)
	folder.Wait()
	f.wantUsage("while it was folded", usageOfLive, store.Usage{Executions: 200, Bytes: 1400})
	for n := 1; n > 0; {
		f.update(func(tx *store.Tx) (err error) {
			n, err = tx.FoldUsage(3)
			return err
		})
	}
	if n := f.number(`SELECT COUNT(*) FROM usage_sum WHERE slot <> 0`); n != 0 {
		f.Errorf("%d rows are not folded", n)
	}
	f.wantUsage("folded", usageOfLive, store.Usage{Executions: 200, Bytes: 1400})
}
