package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// ChildState says what is still to be done between an execution and the one that started it. Numbers are stored.
type ChildState uint8

// The states.
const (
	ChildDone     ChildState = 0 // nothing
	ChildAwaited  ChildState = 1 // the child runs, and its parent waits for its end
	ChildDetached ChildState = 2 // the child runs, and its parent does not wait for it
	ChildEnded    ChildState = 3 // its end must be delivered to the parent
	ChildStopped  ChildState = 4 // the child must be cancelled
)

// Child links an execution to the one that has started it, its parent. The roots of trees have a
// row too, with the parent 0.
type Child struct {
	Execution int64
	Parent    int64
	Root      int64  // of the tree
	Command   uint64 // of the parent
	Depth     int    // below the root, from 1
	State     ChildState
}

// Ending is what the end of an execution means to others. FinishExecution sets it.
type Ending struct {
	Parent   int64   // the execution that its end must be delivered to; 0: none
	Children []int64 // the executions that must be cancelled
}

// InsertChild links an execution to its parent: c.Execution, c.Parent, c.Command and c.State must be set. It sets the
// rest.
// Parent and child must not have ended. ErrConflict: it is linked already.
func (t *Tx) InsertChild(c *Child) error {
	c.Root, c.Depth = c.Parent, 1
	err := t.one(`SELECT root, depth FROM child WHERE execution = ?1`, func(r Row) {
		c.Root, c.Depth = r.Int(0), int(r.Int(1))+1
	}, c.Parent)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("read parent: %w", err)
	}
	err = t.c.Send("insert child", `INSERT INTO child (execution, parent, root, command, depth, state, unfinished) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)`,
		c.Execution, c.Parent, c.Root, int64(c.Command), int64(c.Depth), int64(c.State))
	if err != nil {
		return err
	}
	return t.c.Send("count child", `INSERT INTO child (execution, parent, root, command, depth, state, unfinished) VALUES (?1, 0, ?1, 0, 0, 0, 2)
 ON CONFLICT (execution) DO UPDATE SET unfinished = child.unfinished + 1`, c.Root)
}

// StopChild withdraws the child of a command. no is the execution that must be cancelled, 0 if it
// has ended or there is none.
func (t *Tx) StopChild(parent int64, command uint64) (no int64, err error) {
	children, err := t.stopChildren(`AND command = ?2`, parent, int64(command))
	if len(children) > 0 {
		no = children[0]
	}
	return no, err
}

func (t *Tx) stopChildren(where string, args ...any) (stopped []int64, err error) {
	err = t.c.Query(`UPDATE child SET state = CASE state WHEN 1 THEN 4 ELSE 0 END
 WHERE parent = ?1 `+where+` AND state <> 0 AND state IN (1, 3) RETURNING execution, state`, func(r Row) error {
		if ChildState(r.Int(1)) == ChildStopped {
			stopped = append(stopped, r.Int(0))
		}
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("stop children: %w", err)
	}
	return stopped, nil
}

// endInTree does what the end of an execution means to its parent, its children and its tree.
// Rows are locked from below, so that the ends of several executions of a tree do not wait for each other in a circle.
func (t *Tx) endInTree(no int64) (e Ending, err error) {
	if e.Children, err = t.stopChildren(``, no); err != nil {
		return Ending{}, err
	}
	var root int64
	err = t.one(`UPDATE child SET state = CASE state WHEN 1 THEN 3 ELSE 0 END, unfinished = unfinished - CASE WHEN root = execution THEN 1 ELSE 0 END
 WHERE execution = ?1 RETURNING parent, root, state`, func(r Row) {
		root = r.Int(1)
		if ChildState(r.Int(2)) == ChildEnded {
			e.Parent = r.Int(0)
		}
	}, no)
	if err != nil {
		return Ending{}, fmt.Errorf("end child: %w", err)
	}
	if root == no {
		return e, nil
	}
	return e, t.c.Send("count end of child", `UPDATE child SET unfinished = unfinished - 1 WHERE execution = ?1`, root)
}

// DeliverChild notes that the parent has received the end of a child.
func (t *Tx) DeliverChild(no int64) error {
	return t.c.Send("deliver child", `UPDATE child SET state = 0 WHERE execution = ?1 AND state = 3`, no)
}

const selectChild = `SELECT execution, parent, root, command, depth, state FROM child`

func scanChild(row Row, c *Child) {
	*c = Child{
		Execution: row.Int(0), Parent: row.Int(1), Root: row.Int(2), Command: uint64(row.Int(3)),
		Depth: int(row.Int(4)), State: ChildState(row.Int(5)),
	}
}

// ChildByExecution reads the link of an execution. Its Parent is 0 for a root. Errors: ErrNotFound if it has neither
// parent nor children.
func (r *Reader) ChildByExecution(no int64) (Child, error) {
	return readOne(r, "read child", selectChild+` WHERE execution = ?1`, scanChild, no)
}

// Ancestors is the parent and the root of an execution that another one has started; zero: it is gone.
func (r *Reader) Ancestors(no int64) (parent, root chargehand.ExecutionID, err error) {
	err = r.one(`SELECT p.id, t.id FROM child c LEFT JOIN execution p ON p.no = c.parent LEFT JOIN execution t ON t.no = c.root
 WHERE c.execution = ?1`, func(row Row) {
		scanID(row, 0, &parent)
		scanID(row, 1, &root)
	}, no)
	if err != nil {
		return parent, root, fmt.Errorf("read ancestors: %w", err)
	}
	return parent, root, nil
}

// UnfinishedInTree is the number of executions of a tree, its root included, that have not ended; 0 if there is no such
// tree.
func (r *Reader) UnfinishedInTree(root int64) (open int, err error) {
	err = r.one(`SELECT unfinished FROM child WHERE execution = ?1 AND root = ?1`, func(row Row) { open = int(row.Int(0)) }, root)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read tree: %w", err)
	}
	return open, nil
}

// OpenChildren reads up to limit links of an execution to children that have not ended, or whose end it has not
// received, by command.
func (r *Reader) OpenChildren(parent int64, limit int) ([]Child, error) {
	return readAll(r, "read open children", selectChild+` WHERE parent = ?1 AND state <> 0 ORDER BY command LIMIT ?2`, scanChild, parent, int64(limit))
}

// DueChildren reads up to limit links behind that of an execution in one of the states that something must be done for:
// ChildEnded and ChildStopped.
func (r *Reader) DueChildren(state ChildState, after int64, limit int) ([]Child, error) {
	return readAll(r, "read due children", selectChild+` WHERE state >= 3 AND state = ?1 AND execution > ?2 ORDER BY execution LIMIT ?3`, scanChild,
		int64(state), after, int64(limit))
}
