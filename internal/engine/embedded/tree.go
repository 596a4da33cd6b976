package embedded

import (
	"sync"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// reserve counts the children that s is about to start as executions of their tree, before the tree is read: so write
// sets that are prepared at the same time do not exceed the bound of the tree together. It returns how many other write sets have
// reserved, and whether the execution has been withdrawn, so that it needs to start nothing that it would wait for.
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

// trees counts, by root, the children that write sets are about to start.
type trees struct {
	mu       sync.Mutex
	reserved map[int64]int
}

// reserve adds to what s has reserved in the tree of its execution, and returns what other write sets have.
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

// release gives back some of what s has reserved: what it does not start, or all when its children are rows or will be none.
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
