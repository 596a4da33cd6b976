package machine

import (
	"maps"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxEntries is the number of timeline entries that are kept, the newest ones.
	maxEntries = 10_000
	// maxTraceBytes bounds the values of entries that the engine has not taken yet.
	maxTraceBytes = 32 << 20
)

// Entry is the record of one started task. Seq numbers the starts of an execution
// from 1.
type Entry struct {
	Seq        int
	Parent     int // Seq of the task that holds it or, in a function or an extension, that it is a part of; 0: none
	Name       string
	Reference  string // JSON pointer of the task (T2)
	Iterations []int  // the index in each loop around the task, from 0, the outermost first; never changed in place
	Attempt    int    // attempt of the innermost try around the task, from 1
	Phase      chargehand.Phase
	StartedMs  int64
	EndedMs    int64 // 0: it has not ended
	// StartedNo and EndedNo number the starts and ends of all entries of an execution together, from 1 and without
	// gaps, in the order in which they happened.
	StartedNo int
	EndedNo   int // 0: it has not ended

	Input  value.Value // transformed input
	Output value.Value // transformed output, if it completed
	Fault  *Fault      // if it faulted
	Files  []File
	// Data is what a top-level task began with; nil: it is no top-level task, or it is the first of the definition and
	// began with the input of the execution.
	Data *TaskData
	// Document is the digest of the API document that the task's call used last, if any (T69).
	Document string
	// Child is the execution of another workflow that the task started last, if any (T51).
	Child chargehand.ExecutionID
	// Wait is what an open entry waits for, if anything. Only Timeline sets it.
	Wait *Wait
	// Outcomes are what came to the task from outside, in the order in which it came.
	Outcomes []Outcome

	task         *plan.Task
	fresh        bool // not taken since it changed
	outcomeBytes int  // of Outcomes, as they are bounded
}

// Ended reports whether the entry will not change any more.
func (e *Entry) Ended() bool { return e.Phase >= chargehand.Cancelled }

// Iteration is the index in the innermost loop around the task, 0 outside of loops.
func (e *Entry) Iteration() int { return last(e.Iterations) }

// Kind is the kind of the task.
func (e *Entry) Kind() dsl.Kind { return e.task.Kind }

// Number is the index of the task in its plan.
func (e *Entry) Number() int { return e.task.Number }

// timeline holds the entries that changed since they were taken.
type timeline struct {
	changed []*Entry
	// Entries, and what they hold, are cut from slabs. first is the room of the slab of the first entry since they were
	// taken, from that one on.
	entries  slab[Entry]
	first    []Entry
	data     slab[TaskData]
	outcomes slab[Outcome]
	bytes    int // of values made since the entries were taken
	tally    Tally
}

// slab gives room for values of which an execution mostly needs about as many as its definition has tasks.
type slab[T any] struct {
	free []T
	size int
}

// The lengths of the first slab, at most, and of the longest one.
const (
	firstSlab = 10
	maxSlab   = 64
)

// next returns room for one more, as a slice of length 1 that cannot grow in place. expected is how many are expected
// in all.
func (s *slab[T]) next(expected int) []T {
	s.grow(expected)
	one := s.free[:1:1]
	s.free = s.free[1:]
	return one
}

// grow makes room for one more at least.
func (s *slab[T]) grow(expected int) {
	if len(s.free) == 0 {
		s.size = min(max(1, min(expected, firstSlab), 2*s.size), maxSlab)
		s.free = make([]T, s.size)
	}
}

func (tl *timeline) newEntry(expected int) *Entry {
	tl.entries.grow(expected)
	if tl.first == nil {
		tl.first = tl.entries.free
	}
	return &tl.entries.next(expected)[0]
}

// openEntry starts the timeline entry of a task. The body of a function has none, nor has
// anything in a function from outside: the calling task's stands for it.
func (m *Machine) openEntry(n *node) {
	m.lastSeq++
	if n.task.Function != "" || n.task.Remote {
		m.lastSeq--
		return
	}
	e := m.trace.newEntry(len(m.plan.Tasks))
	t := n.task
	m.happened++
	*e = Entry{
		Seq: m.lastSeq, StartedNo: m.happened, Name: t.Name, Reference: t.Reference,
		Iterations: n.iterations, Attempt: n.attempt,
		Phase: chargehand.Running, StartedMs: n.startedMs, Input: n.input,
		task: t,
	}
	if above := n.parent.entryOf(); above != nil {
		e.Parent = above.Seq
	}
	n.entry = e
	m.noteData(n)
	m.changed(e)
	m.tellTask(e, "created", "createdAt", nil)
}

func (m *Machine) changed(e *Entry) {
	if e.fresh {
		return
	}
	e.fresh = true
	tl := &m.trace
	tl.changed = append(tl.changed, e)
	switch {
	case len(tl.changed) >= 2*maxEntries:
		m.dropOldest(maxEntries)
	case tl.bytes > maxTraceBytes:
		m.dropOldest(len(tl.changed) / 2)
		tl.bytes /= 2
	}
}

// dropOldest forgets ended entries that were not taken, down to the given number: an engine
// that takes none must not run out of memory. The gap shows in the numbers (MergeTimeline).
func (m *Machine) dropOldest(keep int) {
	tl := &m.trace
	excess := len(tl.changed) - keep
	tl.first = nil
	tl.changed = slices.DeleteFunc(tl.changed, func(e *Entry) bool {
		if excess <= 0 || !e.Ended() {
			return false
		}
		excess--
		m.trace.tally.add(e)
		return true
	})
}

// markEntry changes the phase of an open entry.
func (m *Machine) markEntry(e *Entry, p chargehand.Phase) {
	if e != nil {
		e.Phase = p
		m.changed(e)
	}
}

// closeEntry ends the node's entry, if it has one that is open.
func (m *Machine) closeEntry(n *node, p chargehand.Phase, output value.Value, f *Fault) {
	e := n.entry
	if e == nil || e.Ended() {
		return
	}
	m.happened++
	e.Phase, e.EndedMs, e.EndedNo, e.Output, e.Fault = p, m.nowMs, m.happened, output, f
	m.changed(e)
	m.tellTaskEnded(e)
}

// TakeTimeline returns the entries that started or changed since the last call, by Seq. An
// entry that has not ended is returned again when it does.
func (m *Machine) TakeTimeline() []Entry {
	if m.Done() && m.trace.isFirst() { // mostly: they do not change any more
		entries := m.trace.first[:len(m.trace.changed)]
		m.trace.changed, m.trace.first, m.trace.bytes = nil, nil, 0
		return entries
	}
	entries := make([]Entry, 0, len(m.trace.changed))
	for _, e := range m.trace.changed {
		entries = append(entries, *e)
		e.fresh = false
		if !m.Done() {
			m.trace.tally.add(e)
		}
	}
	m.trace.changed, m.trace.first, m.trace.bytes = nil, nil, 0
	return sorted(entries)
}

// isFirst reports whether those that were not taken are the first ones of first, in their order.
func (tl *timeline) isFirst() bool {
	if len(tl.changed) == 0 || len(tl.changed) > len(tl.first) {
		return false
	}
	for i, e := range tl.changed {
		if e != &tl.first[i] {
			return false
		}
	}
	return true
}

// Tally counts the ended entries that are no longer part of the state, because they were taken or are too many. Those
// that were taken after the end of the execution are not counted.
func (m *Machine) Tally() Tally { return m.trace.tally }

// EndedEntries is the number of ended entries that were not taken.
func (m *Machine) EndedEntries() (n int) {
	for _, e := range m.trace.changed {
		if e.Ended() {
			n++
		}
	}
	return n
}

// Timeline returns the entries that are open or were not taken yet, by Seq, with what they wait for.
func (m *Machine) Timeline() []Entry {
	entries := m.entries()
	m.markWaits(entries)
	return entries
}

func (m *Machine) entries() []Entry {
	entries := make([]Entry, 0, len(m.trace.changed))
	for _, e := range m.trace.changed {
		entries = append(entries, *e)
	}
	if m.root != nil {
		m.root.eachEntry(func(e *Entry) {
			if !e.fresh {
				entries = append(entries, *e)
			}
		})
	}
	return sorted(entries)
}

func sorted(entries []Entry) []Entry {
	bySeq := func(a, b Entry) int { return a.Seq - b.Seq }
	if !slices.IsSortedFunc(entries, bySeq) {
		slices.SortFunc(entries, bySeq)
	}
	return entries
}

func (n *node) eachEntry(visit func(*Entry)) {
	if n.entry != nil {
		visit(n.entry)
	}
	if n.child != nil {
		n.child.eachEntry(visit)
	}
	for _, b := range n.branches {
		if b != nil {
			b.eachEntry(visit)
		}
	}
}

// MergeTimeline joins chunks in the order in which they were taken: of several records with
// the same Seq the last one counts. The newest 10,000 are kept, and of the older ones those that are
// open or hold kept ones; truncated tells whether any that ever started is missing.
func MergeTimeline(chunks ...[]Record) (records []Record, truncated bool) {
	newest := 0
	for _, chunk := range chunks {
		for i := range chunk {
			newest = max(newest, chunk[i].Seq)
		}
	}
	before := max(0, newest-maxEntries)
	at := make([]*Record, newest-before) // by Seq-before-1
	older := map[int]*Record{}
	for _, chunk := range chunks {
		for i := range chunk {
			if r := &chunk[i]; r.Seq > before {
				at[r.Seq-before-1] = r
			} else {
				older[r.Seq] = r
			}
		}
	}
	kept := map[int]bool{}
	keep := func(seq int) {
		for older[seq] != nil && !kept[seq] {
			kept[seq] = true
			seq = older[seq].Parent
		}
	}
	for seq, r := range older {
		if !r.Ended() {
			keep(seq)
		}
	}
	for _, r := range at {
		if r != nil && r.Parent <= before {
			keep(r.Parent)
		}
	}
	records = make([]Record, 0, len(kept)+len(at))
	for _, seq := range slices.Sorted(maps.Keys(kept)) {
		records = append(records, *older[seq])
	}
	for _, r := range at {
		if r != nil {
			records = append(records, *r)
		}
	}
	return records, len(records) < newest
}
