package machine

import (
	"slices"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// node is one running task, or one of the two lists without a task: the workflow's own
// (the root) and a branch of a fork. A node that owns a list starts the list's tasks one
// after another; each is its child while it runs.
type node struct {
	parent *node
	task   *plan.Task // nil: root or branch
	child  *node      // the running task of the list

	list *plan.List  // being run; nil in leaves
	at   int         // index of the running or next task in list
	data value.Value // raw input of the next task in list

	raw       value.Value // raw input
	input     value.Value // transformed input
	scope     *scope
	locals    *binding // visible to the task's own operands
	inner     *binding // visible to its children
	startedMs int64
	entry     *Entry // nil: the task has none of its own

	iterations, childIterations []int // the index in each loop around, the outermost first; never changed in place
	attempt, childAttempt       int   // of the task itself (T2)

	timer    CommandID // timer of the task's timeout
	activity CommandID // the running activity
	delay    CommandID // timer of a wait, or of a retry delay
	subflow  CommandID // the awaited execution of another workflow
	question CommandID // the open human task

	authorization value.Value
	files         []File // of the completed tasks below

	consumption *consumption // listen, subscription

	items []any // for
	index int   // for: iteration; branch: its place in the fork

	branches []*node // fork
	open     int     // fork: branches that have not ended

	try *tryState

	around   *around // the extensions that apply (T35); nil: none
	extended *node   // the task that this one is part of an extension of; nil: none

	gone bool  // released
	next *node // in the free list
}

// scope holds the $context that a list of tasks shares (T31: each branch has its own).
type scope struct {
	context value.Value
	changed bool // since the branch began
}

// binding is a local variable, or a loop's two.
type binding struct {
	up    *binding
	name  string
	value value.Value
}

func (b *binding) bind(name string, value value.Value) *binding {
	return &binding{up: b, name: name, value: value}
}

func (m *Machine) newNode(parent *node, t *plan.Task) *node {
	n := m.free
	if n == nil {
		n = new(node)
	} else {
		m.free = n.next
		*n = node{}
	}
	n.parent, n.task = parent, t
	if parent != nil {
		n.scope = parent.scope
		n.locals, n.inner = parent.inner, parent.inner
		n.iterations, n.attempt = parent.childIterations, parent.childAttempt
		n.extended = parent.extended
		if parent.around.isRunning() {
			n.extended, n.locals, n.inner = parent, nil, nil
			n.iterations, n.attempt = parent.iterations, parent.attempt
		}
		n.childIterations, n.childAttempt = n.iterations, n.attempt
	}
	n.startedMs = m.nowMs
	return n
}

// iteration is the index in the innermost loop around the node, 0 outside of loops.
func (n *node) iteration() int { return last(n.iterations) }

func last(iterations []int) int {
	if len(iterations) == 0 {
		return 0
	}
	return iterations[len(iterations)-1]
}

// iterate says that what runs below the node belongs to its iteration n.index.
func (n *node) iterate() { n.childIterations = append(slices.Clip(n.iterations), n.index) }

// release takes a node out of the tree. Nothing may refer to it any more.
func (m *Machine) release(n *node) {
	if p := n.parent; p != nil && p.child == n {
		p.child = nil
	}
	n.parent, n.gone = nil, true
	n.next, m.free = m.free, n
}

// reference is the pointer of the component that the node's faults and commands name (T2, T71). In a
// function that is one leaf task, and in a function from outside, that is the pointer of the caller.
func (n *node) reference() string {
	if t := n.component(); t != nil {
		return t.Reference
	}
	return ""
}

// component is the task whose pointer reference is; nil: the workflow itself.
func (n *node) component() *plan.Task {
	for n.task != nil && n.task.Function != "" && n.task.Leaf() || n.isRemote() {
		n = n.parent
	}
	return n.task
}

// isRemote reports whether the node is part of a function from outside.
func (n *node) isRemote() bool {
	if n.task == nil {
		return n.parent != nil && n.parent.isRemote()
	}
	return n.task.Remote
}

// entryOf is the node's timeline entry, or that of the nearest node above that has one.
func (n *node) entryOf() *Entry {
	for ; n != nil; n = n.parent {
		if n.entry != nil {
			return n.entry
		}
	}
	return nil
}

// metadata is that of the node's task. If the task is a function, the metadata of the calling task is
// merged into it and wins where both have a key.
func (n *node) metadata() map[string]any {
	own := n.task.Metadata
	if n.task.Function == "" {
		return own
	}
	caller := n.parent.metadata()
	if caller == nil || own == nil {
		if own == nil {
			return caller
		}
		return own
	}
	merged := make(map[string]any, len(own)+len(caller))
	for k, v := range own {
		merged[k] = v
	}
	for k, v := range caller {
		merged[k] = v
	}
	return merged
}
