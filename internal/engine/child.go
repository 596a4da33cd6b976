package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Bounds of trees of executions.
const (
	// MaxChildDepth is the maximum of levels of executions that start each other.
	MaxChildDepth = machine.MaxChildDepth
	// MaxOpenChildren bounds the children of one execution that have not ended.
	MaxOpenChildren = 1_000
	// MaxTree bounds the executions of a tree that are open at once: a workflow that starts several
	// of those that start several would else fill the installation. Only where several servers share a database
	// some more may be, when they start children in the same moment.
	MaxTree = 10_000
)

// Codes of faults of a child that is not started.
const (
	CodeChildUnknown = "workflow_not_found"
	CodeChildVersion = "version_not_found"
	CodeChildDepth   = machine.CodeChildDepth
	CodeChildren     = "too_many_children"
)

// ChildStart is an execution that is to be started by another one.
type ChildStart struct {
	Row  store.Execution // complete; No is set by Insert
	Link store.Child

	starter *store.Starter // of Row, unless it is that of the parent
	files   []int64        // that its input names
}

// Tree is what is known of the parent and the children of an execution before it starts children: of one
// whose row is not written yet, nothing.
type Tree struct {
	Stopped bool          // it must be cancelled, and need not start what it would wait for
	Depth   int           // of the execution in its tree
	Open    []store.Child // its children that have not ended or were not delivered
	Size    int           // executions of its tree that have not ended
}

// ReadTree reads the parent and the children of an execution.
func ReadTree(r *store.Reader, no int64) (t Tree, err error) {
	if no == 0 {
		return Tree{}, nil
	}
	link, err := r.ChildByExecution(no)
	if errors.Is(err, store.ErrNotFound) {
		return Tree{}, nil
	}
	if err != nil {
		return Tree{}, err
	}
	t.Depth, t.Stopped = link.Depth, link.State == store.ChildStopped
	if t.Size, err = r.UnfinishedInTree(link.Root); err != nil {
		return Tree{}, err
	}
	t.Open, err = r.OpenChildren(no, MaxOpenChildren+1)
	return t, err
}

// Root is the root of the tree that an execution belongs to: itself, if nothing has started it.
func Root(r *store.Reader, no int64) (int64, error) {
	link, err := r.ChildByExecution(no)
	if errors.Is(err, store.ErrNotFound) {
		return no, nil
	}
	return link.Root, err
}

// Withdrawn reports whether an execution is certain to be cancelled, because it is awaited by an execution that must
// be cancelled or has ended, directly or through others that await each other. link is its own.
func Withdrawn(r *store.Reader, no int64) (link store.Child, withdrawn bool, err error) {
	for level := range MaxChildDepth + 1 {
		next, err := r.ChildByExecution(no)
		if errors.Is(err, store.ErrNotFound) {
			return link, false, nil
		}
		if err != nil {
			return link, false, err
		}
		if level == 0 {
			link = next
		}
		if next.State != store.ChildAwaited {
			return link, next.State == store.ChildStopped, nil
		}
		no = next.Parent
	}
	return link, false, nil
}

// NewChild makes the execution that a StartChild command of parent starts, the started-th one of this transaction, or
// the fault that says why it cannot be started. It resolves the version (T51, T85): "latest" is the published one, in
// test the newest draft if there is one. The child may read the files that its input names. given are files that were
// given to the parent, where their use is not written yet. The caller sets Row.Input.
func (t Tree) NewChild(
	r *store.Reader, parent *store.Execution, c machine.Command, started int, given []chargehand.FileID,
) (*ChildStart, *machine.Fault, error) {
	open := started
	for _, child := range t.Open {
		if child.State != store.ChildEnded {
			open++
		}
	}
	child := c.Child
	name := child.Namespace + "/" + child.Name
	switch {
	case t.Depth+1 > MaxChildDepth:
		return nil, machine.ChildTooDeep(child, t.Depth), nil
	case open >= MaxOpenChildren:
		return nil, childFault(CodeChildren, fmt.Sprintf(
			"%d workflows that this execution has started have not ended; start no more at a time.", open)), nil
	}
	if t.Size+started >= MaxTree {
		return nil, childFault(CodeChildren, fmt.Sprintf(
			"%d executions of this tree have not ended; start fewer at a time.", t.Size+started)), nil
	}
	author, err := authorOf(r, parent.Revision)
	if err != nil {
		return nil, nil, err
	}
	w, err := r.WorkflowByName(parent.Account, child.Namespace, child.Name)
	unknown := errors.Is(err, store.ErrNotFound)
	if err != nil && !unknown {
		return nil, nil, err
	}
	switch {
	case !author.Limits.All() && (unknown || !author.Limits.Admit(w.ID, w.Namespace)):
		return nil, childFault(CodeChildUnknown, fmt.Sprintf(
			"There is no workflow %s that this one may start: a key that is limited to some workflows or namespaces has applied it.", name)), nil
	case unknown:
		return nil, childFault(CodeChildUnknown, fmt.Sprintf("There is no workflow %s.", name)), nil
	}
	revision, err := childRevision(r, &w, parent.Environment, child.Version)
	if errors.Is(err, store.ErrNotFound) {
		return nil, childFault(CodeChildVersion, fmt.Sprintf(
			"The workflow %s has no version %s that can be started in the environment %s.", name, child.Version, parent.Environment)), nil
	}
	if err != nil {
		return nil, nil, err
	}
	s := &ChildStart{Row: store.Execution{
		ID: child.ID, Account: parent.Account, Environment: parent.Environment, Workflow: w.No, Revision: revision,
		Machine: machine.Revision, Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
		Trace: parent.Trace, Starter: parent.Starter, RootBy: parent.Actor(),
	}}
	if !author.Limits.All() {
		// The input comes from what a key with limits has applied.
		if s.starter, err = starterOf(r, parent, author); err != nil {
			return nil, nil, err
		}
	}
	s.Link = store.Child{Parent: parent.No, Command: uint64(c.ID), State: store.ChildDetached}
	if child.Await {
		s.Link.State = store.ChildAwaited
	}
	fault, err := s.resolveFiles(r, parent, child.Input, given)
	if err != nil || fault != nil {
		return nil, fault, err
	}
	return s, nil, nil
}

// LogRefusedChild logs that a child cannot be started. No task awaits it, so nothing else says so.
func LogRefusedChild(log *slog.Logger, parent chargehand.ExecutionID, c *machine.Child, fault *machine.Fault) {
	log.Warn("an independent child workflow cannot be started", "execution", parent,
		"workflow", c.Namespace+"/"+c.Name, "version", c.Version, "detail", fault.Detail)
}

// resolveFiles finds the files that the input of the child names: the child may read them, and they stay as long as it
// does. If the parent must not read one, the result is a fault, which is the same whether the file exists.
func (s *ChildStart) resolveFiles(r *store.Reader, parent *store.Execution, input value.Value, given []chargehand.FileID) (*machine.Fault, error) {
	named := NamedFiles(input)
	if len(named) == 0 {
		return nil, nil
	}
	limits, err := readingOf(r, parent)
	if err != nil {
		return nil, err
	}
	known, err := r.FilesByID(parent.Account, parent.Environment, named)
	if err != nil {
		return nil, err
	}
	if err := hideFiles(r, parent, known, given); err != nil {
		return nil, err
	}
	s.files = s.files[:0]
	for _, id := range named {
		f, found := known[id]
		switch {
		case found:
			s.files = append(s.files, f.No)
		case !limits.all():
			return childFault(CodeFileUnknown, "There is no file "+id.String()+
				" that this execution may give to another one: a key that is limited to some workflows or namespaces"+
				" has applied its definition, or started it."), nil
		}
	}
	return nil, nil
}

// childRevision is the number of the revision that a version means.
func childRevision(r *store.Reader, w *store.Workflow, env chargehand.Environment, version string) (int64, error) {
	test := env == chargehand.Test
	if version != "" && version != "latest" {
		revision, err := r.RevisionByVersion(w.No, version, test)
		return revision.No, err
	}
	switch {
	case test && w.Draft != 0:
		return w.Draft, nil
	case w.Published != 0:
		return w.Published, nil
	}
	return 0, store.ErrNotFound
}

func childFault(code, detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Configuration error", Detail: detail, Code: code}
}

// Insert writes the execution and its link to parent, which must not have ended. It is queued and waits for a slot.
// started is false if it was inserted already. ErrConflict: the id is another execution's.
func (s *ChildStart) Insert(tx *store.Tx, parent int64) (started bool, err error) {
	s.Row.No, s.Link.Parent = 0, parent
	known, err := tx.FindExecution(s.Row.ID)
	if err == nil {
		link, err := tx.ChildByExecution(known.No)
		if err != nil || link.Parent != parent {
			return false, fmt.Errorf("start child: %w", errors.Join(store.ErrConflict, err))
		}
		s.Row.No = known.No
		return false, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	if s.starter != nil {
		if err := tx.PutStarter(s.starter); err != nil {
			return false, err
		}
		s.Row.Starter = s.starter.No
	}
	if s.Row.Root, err = Root(&tx.Reader, parent); err != nil {
		return false, err
	}
	if err := tx.InsertExecution(&s.Row); err != nil {
		return false, err
	}
	files, err := tx.KeepFiles(s.files)
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if err := tx.UseFile(file, s.Row.No); err != nil {
			return false, err
		}
	}
	s.Link.Execution = s.Row.No
	return true, tx.InsertChild(&s.Link)
}

// ChildCancelled is why an execution is cancelled that its parent does not await any more.
const ChildCancelled = "The execution that has started it does not wait for it any more."

const (
	// maxEnds and maxEndBytes bound the ends of children that are read together.
	maxEnds     = 100
	maxEndBytes = 8 << 20
)

// ChildEnd is the end of a child as the event that its parent gets.
type ChildEnd struct {
	No    int64 // of the child
	Event machine.Event
}

// ReadChildEnds reads the next ends of children, except those that were delivered. open are the open children of an
// execution. more: there are more ends. The transaction that journals an event deletes the link of its child
// (store.Tx.DeliverChild). Errors: store.ErrUnavailable and others that may pass.
func ReadChildEnds(
	ctx context.Context, st *store.Store, blobs Blobs, open []store.Child, delivered []int64, limit int,
) (ends []ChildEnd, more bool, err error) {
	bytes := 0
	for _, link := range open {
		if link.State != store.ChildEnded || slices.Contains(delivered, link.Execution) {
			continue
		}
		if len(ends) >= maxEnds || bytes >= maxEndBytes {
			return ends, true, nil
		}
		ev, err := childEnd(ctx, st, blobs, link, limit)
		if err != nil {
			return nil, false, err
		}
		bytes += value.Size(ev.Output)
		ends = append(ends, ChildEnd{link.Execution, ev})
	}
	return ends, false, nil
}

// childEnd is the event by which an execution gets the end of its child. An end that can never be read becomes an error
// of the system, so that the parent does not wait without end. An output that takes more than limit bytes as JSON
// becomes a fault, as that of an activity.
func childEnd(
	ctx context.Context, st *store.Store, blobs Blobs, link store.Child, limit int,
) (machine.Event, error) {
	ev, err := readEnd(ctx, st, blobs, link)
	if size := value.Size(ev.Output); err == nil && ev.Fault == nil && size > limit {
		ev.Output, ev.Fault = nil, outputFault(size, limit)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, store.ErrNotFound) {
		ev.Output = nil
		ev.Fault = SystemFault(CodeInternal, "What the started workflow has ended with cannot be read: "+err.Error())
		return ev, nil
	}
	return ev, err
}

func readEnd(ctx context.Context, st *store.Store, blobs Blobs, link store.Child) (machine.Event, error) {
	ev := machine.Event{Kind: machine.ChildEnded, Command: machine.CommandID(link.Command)}
	var o store.Outcome
	err := st.View(ctx, func(r *store.Reader) (err error) {
		o, err = r.Outcome(link.Execution)
		return err
	})
	if err != nil {
		return ev, err
	}
	if o.Fault != nil {
		f, err := DecodeFault(o.Fault)
		if err != nil {
			return ev, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		ev.Fault = &machine.Fault{
			Type: f.Type, Status: f.Status, Title: f.Title, Detail: f.Detail, Instance: f.Instance,
			Code: f.Code, Retryable: f.Retryable, System: f.Origin == "system",
		}
		return ev, nil
	}
	data, err := ReadPayload(ctx, blobs, o.Output)
	if err != nil {
		return ev, fmt.Errorf("read output of child: %w", err)
	}
	if ev.Output, err = value.Parse(data, value.Limits{Depth: value.MaxDepth}); err != nil {
		return ev, fmt.Errorf("read output of child: %w: %w", ErrCorrupt, err)
	}
	return ev, nil
}
