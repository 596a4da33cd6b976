package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var childTests = map[string]func(*fixture){
	"awaited":                    childAwaited,
	"detached":                   childDetached,
	"stopped":                    childStopped,
	"the end of a parent":        childParentEnds,
	"trees":                      childTrees,
	"ends of many at once":       childRace,
	"finished trees are deleted": childRetention,
	"children of items":          childOfItem,
	"no tree":                    childNone,
}

// child inserts an execution as the child of another one.
func (f *fixture) child(parent int64, command uint64, state store.ChildState) int64 {
	f.Helper()
	e := f.execution(startMs)
	f.update(func(tx *store.Tx) error {
		e.No = 0
		if err := tx.InsertExecution(&e); err != nil {
			return err
		}
		return tx.InsertChild(&store.Child{Execution: e.No, Parent: parent, Command: command, State: state})
	})
	return e.No
}

// end ends an execution and returns what that means to others.
func (f *fixture) end(no int64) store.Ending {
	f.Helper()
	o := store.Outcome{Output: inline("1")}
	f.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(no, chargehand.Finished, chargehand.Completed, startMs, startMs+1, &o)
		return err
	})
	slices.Sort(o.Ending.Children)
	return o.Ending
}

func (f *fixture) openChildren(parent int64) (nos []int64) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		nos = nil
		list, err := r.OpenChildren(parent, 100)
		for _, c := range list {
			nos = append(nos, c.Execution)
		}
		return err
	})
	return nos
}

func (f *fixture) dueChildren() (due []store.Child) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		due = nil
		for _, state := range [...]store.ChildState{store.ChildEnded, store.ChildStopped} {
			page, err := r.DueChildren(state, 0, 100)
			if err != nil {
				return err
			}
			due = append(due, page...)
		}
		return nil
	})
	return due
}

func (f *fixture) stopChild(parent int64, command uint64) (no int64) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		no, err = tx.StopChild(parent, command)
		return err
	})
	return no
}

func (f *fixture) sameEnding(got store.Ending, parent int64, children ...int64) {
	f.Helper()
	if got.Parent != parent || !slices.Equal(got.Children, children) {
		f.Errorf("the end means %+v, want parent %d and children %v", got, parent, children)
	}
}

func childAwaited(f *fixture) {
	parent := f.inserted()
	child := f.child(parent, 7, store.ChildAwaited)
	f.view(func(r *store.Reader) error {
		c, err := r.ChildByExecution(child)
		if c != (store.Child{Execution: child, Parent: parent, Root: parent, Command: 7, Depth: 1, State: store.ChildAwaited}) {
			f.Errorf("read %+v", c)
		}
		root, err2 := r.ChildByExecution(parent)
		if root.Parent != 0 || root.Depth != 0 {
			f.Errorf("the root is %+v", root)
		}
		return errors.Join(err, err2)
	})
	f.sameEnding(f.end(child), parent)
	if due := f.dueChildren(); len(due) != 1 || due[0].State != store.ChildEnded || due[0].Execution != child {
		f.Errorf("due are %+v", due)
	}
	if open := f.openChildren(parent); !slices.Equal(open, []int64{child}) {
		f.Errorf("open are %v", open)
	}
	f.update(func(tx *store.Tx) error { return tx.DeliverChild(child) })
	if due, open := f.dueChildren(), f.openChildren(parent); len(due)+len(open) != 0 {
		f.Errorf("after the delivery: due %v, open %v", due, open)
	}
	f.sameEnding(f.end(parent), 0)
}

func childDetached(f *fixture) {
	parent := f.inserted()
	first, second := f.child(parent, 7, store.ChildDetached), f.child(parent, 8, store.ChildDetached)
	f.sameEnding(f.end(first), 0)
	if no := f.stopChild(parent, 8); no != 0 {
		f.Errorf("%d is stopped although it is independent", no)
	}
	if open := f.openChildren(parent); !slices.Equal(open, []int64{second}) {
		f.Errorf("open are %v, want %d", open, second)
	}
	f.sameEnding(f.end(parent), 0)
	f.sameEnding(f.end(second), 0)
}

func childStopped(f *fixture) {
	parent := f.inserted()
	running, ended := f.child(parent, 7, store.ChildAwaited), f.child(parent, 8, store.ChildAwaited)
	f.end(ended)
	if no := f.stopChild(parent, 7); no != running {
		f.Errorf("%d is to be cancelled, want %d", no, running)
	}
	for _, command := range []uint64{7, 8, 9} { // once more; one that has ended; none
		if no := f.stopChild(parent, command); no != 0 {
			f.Errorf("command %d: %d is to be cancelled", command, no)
		}
	}
	if due := f.dueChildren(); len(due) != 1 || due[0].Execution != running || due[0].State != store.ChildStopped {
		f.Errorf("due are %+v", due)
	}
	f.sameEnding(f.end(running), 0)
	if due := f.dueChildren(); len(due) != 0 {
		f.Errorf("due after the end are %+v", due)
	}
}

func childParentEnds(f *fixture) {
	parent := f.inserted()
	one, two := f.child(parent, 1, store.ChildAwaited), f.child(parent, 2, store.ChildAwaited)
	ended, detached := f.child(parent, 3, store.ChildAwaited), f.child(parent, 4, store.ChildDetached)
	f.end(ended)
	f.sameEnding(f.end(parent), 0, one, two)
	var due []int64
	for _, c := range f.dueChildren() {
		due = append(due, c.Execution)
	}
	if !slices.Equal(due, []int64{one, two}) {
		f.Errorf("due are %v, want %d and %d", due, one, two)
	}
	for _, no := range []int64{two, one, detached} {
		f.sameEnding(f.end(no), 0)
	}
}

func childTrees(f *fixture) {
	root := f.inserted()
	child := f.child(root, 1, store.ChildAwaited)
	grandchild := f.child(child, 1, store.ChildAwaited)
	f.view(func(r *store.Reader) error {
		c, err := r.ChildByExecution(grandchild)
		if c.Root != root || c.Depth != 2 || c.Parent != child {
			f.Errorf("the grandchild is %+v", c)
		}
		return err
	})
	f.checkInvariants()
	f.sameEnding(f.end(child), root, grandchild)
	f.checkInvariants()
	f.sameEnding(f.end(grandchild), 0)
}

// childRace: parents and children that end at the same time do not wait for each other in a circle.
func childRace(f *fixture) {
	root := f.inserted()
	list := []int64{root}
	for i := range 5 {
		child := f.child(root, uint64(i+1), store.ChildAwaited)
		list = append(list, child)
		for j := range 3 {
			list = append(list, f.child(child, uint64(j+1), store.ChildAwaited))
		}
	}
	var all sync.WaitGroup
	for i := range list {
		no := list[(i*8+3)%len(list)]
		all.Go(func() {
			err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := finish(tx, no, startMs+1, "1"); return err })
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.number(`SELECT unfinished FROM child WHERE execution = ?1`, root); n != 0 {
		f.Errorf("%d are open after all have ended", n)
	}
	if open := f.number(`SELECT COUNT(*) FROM child WHERE state <> 0`); open != 0 {
		f.Errorf("%d still have something to do after all have ended", open)
	}
}

func childRetention(f *fixture) {
	root := f.inserted()
	child := f.child(root, 1, store.ChildAwaited)
	detached := f.child(child, 1, store.ChildDetached)
	single := f.inserted()
	f.end(child)
	f.end(single)
	if n := f.deleteEnded(chargehand.Live, startMs+10, 10); n != 1 {
		f.Errorf("deleted %d while the tree runs, want the single", n)
	}
	f.end(root)
	if n := f.deleteEnded(chargehand.Live, startMs+10, 10); n != 0 {
		f.Errorf("deleted %d while a child runs", n)
	}
	f.end(detached)
	if n := f.deleteEnded(chargehand.Live, startMs+10, 2); n != 2 {
		f.Errorf("deleted %d, want 2", n)
	}
	f.deleteEnded(chargehand.Live, startMs+10, 2)
	if n := f.number(`SELECT COUNT(*) FROM child`); n != 0 {
		f.Errorf("%d links are left", n)
	}
}

func childNone(f *fixture) {
	no := f.inserted()
	f.view(func(r *store.Reader) error {
		if _, err := r.ChildByExecution(no); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("a link that there is not: %v", err)
		}
		return nil
	})
	f.sameEnding(f.end(no), 0)
}

// childOfItem: a batch stays as long as children of its items run, and keeps no other batch.
func childOfItem(f *fixture) {
	_, items := f.batch(2)
	other, otherItems := f.batch(1)
	detached := f.child(items[0].No, 1, store.ChildDetached)
	for _, e := range append(items, otherItems...) {
		f.end(e.No)
	}
	if n := f.deleteEnded(chargehand.Live, startMs+10, 10); n != 2 {
		f.Errorf("deleted %d while a child of an item runs, want the other batch and its item", n)
	}
	if n := f.number(`SELECT COUNT(*) FROM batch WHERE no = ?1`, other.No); n != 0 {
		f.Error("the other batch stays")
	}
	f.checkInvariants()
	f.view(func(r *store.Reader) error {
		open, err := r.UnfinishedInTree(items[0].No)
		if open != 1 {
			f.Errorf("%d of the tree are open, want 1", open)
		}
		return err
	})
	f.end(detached)
	for _, want := range []int{2, 2, 0} { // the child and an item, the other item and the batch
		if n := f.deleteEnded(chargehand.Live, startMs+10, 2); n != want {
			f.Errorf("deleted %d, want %d", n, want)
		}
	}
	if n := f.number(`SELECT (SELECT COUNT(*) FROM child) + (SELECT COUNT(*) FROM execution) + (SELECT COUNT(*) FROM batch)`); n != 0 {
		f.Errorf("%d rows are left", n)
	}
}
