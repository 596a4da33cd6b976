package embedded

import (
	"sync"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// reserve counts the children that s is about to start as executions of their tree, before the tree
// is read. So write sets that are prepared at the same time do not exceed the bound of the tree
// together. reserve returns how many children other write sets have reserved. withdrawn says that
// the execution is certain to be cancelled and needs no awaited children.
func (e *Engine) reserve(s *writeSet, children int) (others int, withdrawn bool, err error) {
	inst := s.inst
	if inst.no == 0 {
		return 0, false, nil // it has no tree yet
	}
	stopping := e.canceller.busy()
	if inst.root == 0 || stopping {
		err = e.store.View(e.ctx, func(rd *store.Reader) (err error) {
			if inst.root, err = engine.Root(rd, inst.no); err == nil && stopping {
				_, withdrawn, err = engine.Withdrawn(rd, inst.no)
			}
			return err
		})
		if err != nil {
			return 0, false, err
		}
	}
	return e.trees.reserve(s, children), withdrawn, nil
}

// trees counts, by the root of the tree, the children that write sets are about to start.
type trees struct {
	mu       sync.Mutex
	reserved map[int64]int
}

// reserve adds to the reservation of s and returns the reservations of other write sets.
func (t *trees) reserve(s *writeSet, children int) (others int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reserved == nil {
		t.reserved = make(map[int64]int)
	}
	others = t.reserved[s.inst.root] - s.reserved
	s.reserved += children
	t.reserved[s.inst.root] += children
	return others
}

// release gives back a part of the reservation of s: the children that s does not start, or all of
// them once they are rows or can no longer become rows.
func (t *trees) release(s *writeSet, children int) {
	if children <= 0 || s.reserved == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.reserved -= children
	left := t.reserved[s.inst.root] - children
	if t.reserved[s.inst.root] = left; left == 0 {
		delete(t.reserved, s.inst.root)
	}
}
