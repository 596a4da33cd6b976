package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// faultyDB injects faults into Updates. Each goes wrong in the way that plan says.
type faultyDB struct {
	store.DB
	mu      sync.Mutex
	plan    func() fault                        // of the next Update; nil: none
	reads   func() error                        // of the next View; nil: none
	check   func(store.Conn) error              // asked at the end of each Update
	refuses func(what string, args []any) error // asked before each statement
	counts  [faults]int                         // of those that have struck
	pair    *pair                               // two Updates that fail in one commit
	free    chan struct{}                       // closed: hanging Updates continue
}

// fault is one way in which an Update goes wrong.
type fault struct {
	kind      faultKind
	statement int           // that fails, from 1
	delay     time.Duration // of one that hangs; 0: until it is freed
}

type faultKind int

const (
	noFault         faultKind = iota
	statementFails            // though the storage is there
	commitFails               // and says that the storage is unavailable
	commitUnknown             // it is made, and says that the storage is unavailable
	hangs                     // and works in the end
	hangsAndUnknown           // and says then that the storage is unavailable
	faults
)

func (k faultKind) String() string {
	return [...]string{
		"none", "a statement fails", "the commit fails", "the commit is unknown", "it hangs", "it hangs and is unknown",
	}[k]
}

var errStatement = errors.New("test: the statement fails")

// pair makes the next two Updates fail in one commit, so that each has rows of its own.
type pair struct {
	first func(store.Conn) error
	done  chan error
}

// join reports whether an Update is one of the pair, and how that ended.
func (f *faultyDB) join(ctx context.Context, fn func(store.Conn) error) (joined bool, err error) {
	f.mu.Lock()
	p := f.pair
	if p == nil {
		f.mu.Unlock()
		return false, nil
	}
	if p.first == nil {
		p.first = fn
		f.mu.Unlock()
		return true, <-p.done
	}
	f.pair = nil
	f.mu.Unlock()
	err = f.DB.Update(ctx, func(c store.Conn) error {
		return errors.Join(p.first(c), fn(c), errBroken)
	})
	p.done <- err
	return true, err
}

func (f *faultyDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	if joined, err := f.join(ctx, fn); joined {
		return err
	}
	f.mu.Lock()
	var next fault
	if f.plan != nil {
		next = f.plan()
	}
	refuses, free := f.refuses, f.free
	f.mu.Unlock()
	if next.kind == hangs || next.kind == hangsAndUnknown {
		if next.kind == hangs {
			f.struck(hangs)
		}
		if next.delay > 0 {
			time.Sleep(next.delay)
		} else {
			<-free
		}
	}
	err := f.DB.Update(ctx, func(c store.Conn) error {
		conn := &faultyConn{Conn: c, refuses: refuses}
		if next.kind == statementFails {
			conn.left = next.statement
		}
		if err := fn(conn); err != nil {
			if conn.failed {
				f.struck(statementFails)
			}
			return err
		}
		if conn.failed {
			return errStatement // it was ignored; the real ones undo the Update too
		}
		if f.check != nil {
			if err := f.check(c); err != nil {
				return err
			}
		}
		if next.kind == commitFails {
			f.struck(commitFails)
			return errBroken // its numbers are used again
		}
		return nil
	})
	if err == nil && (next.kind == commitUnknown || next.kind == hangsAndUnknown) {
		f.struck(next.kind)
		return errBroken
	}
	return err
}

func (f *faultyDB) View(ctx context.Context, fn func(store.Conn) error) error {
	f.mu.Lock()
	var err error
	if f.reads != nil {
		err = f.reads()
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.DB.View(ctx, fn)
}

func (f *faultyDB) struck(kind faultKind) {
	f.mu.Lock()
	f.counts[kind]++
	f.mu.Unlock()
}

// set changes what goes wrong from now on.
func (f *faultyDB) set(plan func() fault, refuses func(what string, args []any) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.refuses = plan, refuses
}

// once makes the n-th Update from now go wrong, from 1.
func (f *faultyDB) once(n int, what fault) {
	f.set(func() fault {
		if n--; n == 0 {
			return what
		}
		return fault{}
	}, nil)
}

// faultyConn counts statements down to the one that fails.
type faultyConn struct {
	store.Conn
	left    int
	failed  bool
	refuses func(what string, args []any) error
}

func (c *faultyConn) next(what string, args []any) error {
	if c.refuses != nil {
		if err := c.refuses(what, args); err != nil {
			return err
		}
	}
	if c.left--; c.left == 0 {
		c.failed = true
		return fmt.Errorf("%s: %w", what, errStatement)
	}
	return nil
}

func (c *faultyConn) Exec(query string, args ...any) (int64, error) {
	if err := c.next("execute", args); err != nil {
		return 0, err
	}
	return c.Conn.Exec(query, args...)
}

func (c *faultyConn) Query(query string, row func(store.Row) error, args ...any) error {
	if err := c.next("query", args); err != nil {
		return err
	}
	return c.Conn.Query(query, row, args...)
}

func (c *faultyConn) Insert(query string, args ...any) (int64, error) {
	if err := c.next("insert", args); err != nil {
		return 0, err
	}
	return c.Conn.Insert(query, args...)
}

func (c *faultyConn) InsertAll(query string, args [][]any) ([]int64, error) {
	for _, row := range args {
		if err := c.next("insert all", row); err != nil {
			return nil, err
		}
	}
	return c.Conn.InsertAll(query, args)
}

func (c *faultyConn) Each(query string, args [][]any) (int64, error) {
	for _, row := range args {
		if err := c.next("execute for each", row); err != nil {
			return 0, err
		}
	}
	return c.Conn.Each(query, args)
}

func (c *faultyConn) Send(what, query string, args ...any) error {
	if err := c.next(what, args); err != nil {
		return err
	}
	return c.Conn.Send(what, query, args...)
}
