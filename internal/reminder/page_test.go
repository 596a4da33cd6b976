package reminder

import (
	"fmt"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// readOnce reads facts in one transaction, and reports how many mails it wrote.
func (f *fixture) readOnce(w *Worker) (wrote int64) {
	f.Helper()
	before := f.waiting()
	if _, err := w.readFacts(f.Context()); err != nil {
		f.Fatal(err)
	}
	return f.waiting() - before
}

// A task may be for more people than one transaction writes mails to. Each gets one, also when some have theirs already
// and others join or leave meanwhile.
func TestManyRecipients(t *testing.T) {
	each(t, func(f *fixture) {
		var p []store.Person
		for i := range 9 {
			p = append(p, f.person(fmt.Sprintf("P%d", i)))
		}
		first := f.group("first", p[:5]...)
		f.group("second", p[3:8]...)
		o := f.outbox()
		w := f.worker(o)
		w.atOnce = 3
		f.step(w)
		f.open(f.task(f.execution, store.TaskAssignees{Users: []string{"P4@example.org", "b@example.com", "a@example.com"}, Groups: []string{"first", "SECOND", "First"}}), 0)
		f.open(f.task(f.execution, users("p8@example.org")), 0)
		f.step(f.worker(nil)) // publishes
		if n := f.readOnce(w); n != 3 {
			t.Fatalf("%d mails were written at once", n)
		}
		if _, err := w.handOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.update(func(tx *store.Tx) error {
			if err := tx.LeaveGroup(first.No, p[0].No); err != nil { // has its mail
				return err
			}
			return tx.JoinGroup(&first, p[8].No)
		})
		w = f.worker(o) // of another process
		w.atOnce = 3
		for _, want := range []int64{3, 3, 3, 0} { // the last one is of the second task, too
			if n := f.readOnce(w); n > want {
				t.Errorf("%d mails were written at once", n)
			}
		}
		f.step(w)
		to := map[string]int{}
		for _, line := range f.sent(o) {
			to[line]++
		}
		for name, want := range map[string]int{
			"p0@example.org": 1, "p1@example.org": 1, "p2@example.org": 1, "p3@example.org": 1, "p4@example.org": 1, "p5@example.org": 1, "p6@example.org": 1,
			"p7@example.org": 1, "p8@example.org": 2,
			"a@example.com": 0, "b@example.com": 0, // no page for those who are no members
		} {
			if n := to["Task: Approve the invoice to "+name]; n != want {
				t.Errorf("%d mails to %s, want %d", n, name, want)
			}
		}
		f.empty(w)
	})
}

// The task whose mails were written in part is deleted: the next fact is not taken for it.
func TestPartOfADeletedFact(t *testing.T) {
	f := newSQLite(t)
	f.group("all", f.person("Ada"), f.person("Ben"), f.person("Cy"))
	o := f.outbox()
	w := f.worker(o)
	w.atOnce = 2
	f.step(w)
	all := store.TaskAssignees{Groups: []string{"all"}}
	f.open(f.task(f.execution, all), 0)
	second := f.open(f.task(f.execution, all), 0)
	f.step(f.worker(nil)) // publishes
	f.readOnce(w)
	err := f.raw.Update(t.Context(), func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM fact WHERE task <> ?1`, second.No)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.step(w)
	if n := len(f.sent(o)); n != 2+3 {
		t.Errorf("%d mails", n)
	}
	f.empty(w)
}

// An account that floods takes half of the room at most, so that the mails of others are written; and they are handed
// out in turn.
func TestAccountThatFloods(t *testing.T) {
	each(t, func(f *fixture) {
		f.person("Ada")
		o := f.outbox()
		w := f.worker(o)
		w.inAll = 80
		f.step(w)
		var flooding []store.Execution
		for i := range ratesAtOnce + 1 {
			_, e := f.newWorkflow(fmt.Sprint("flood-", i))
			flooding = append(flooding, e)
		}
		open := func(e store.Execution, n int) {
			for range n {
				f.open(f.task(e, users("ada@example.org")), 0)
			}
		}
		for _, e := range flooding {
			open(e, 2)
		}
		f.step(f.worker(nil)) // publishes
		for range 10 {
			f.readOnce(w)
		}
		if n := f.waiting(); n != 40 || w.Stats().Left != int64(2*len(flooding)-40) {
			t.Errorf("%d wait; %+v", n, w.Stats())
		}
		if f.logged("level=WARN", "mails about a human task are not sent", "account_most=40") != 2*len(flooding)-40 {
			t.Error(f.log.String())
		}

		other := store.Account{Name: "Sales", CreatedMs: 1}
		f.id(other.ID[:])
		f.update(func(tx *store.Tx) error { return tx.InsertAccount(&other) })
		f.account = other
		f.person("Sue")
		_, e := f.newWorkflow("calm")
		f.open(f.task(e, users("sue@example.org")), 0)
		f.step(f.worker(nil))
		if n := f.readOnce(w); n != 1 {
			t.Errorf("%d mails of the other account were written", n)
		}
		if _, err := w.handOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		waits := false
		f.view(func(r *store.Reader) error {
			list, err := r.WaitingTaskMail(e.Workflow, chargehand.Live, 1)
			waits = len(list) > 0
			return err
		})
		if waits {
			t.Error("the mail of the other account waits behind those of the flood")
		}
		f.step(w)
		f.sent(o)
		f.empty(w)
	})
}
