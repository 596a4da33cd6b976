package fair

import "github.com/chargehand/chargehand"

// Owner is the workflow and the environment that a place is for.
type Owner struct {
	Environment chargehand.Environment
	Workflow    int64
}

// Limits bounds places.
type Limits struct {
	Places      int
	PerWorkflow int // of one workflow in one environment; 0: as many as there are
}

// OfTest is how many places the environment test may hold.
func (l Limits) OfTest() int { return max(1, l.Places/2) }

// OfWorkflow is how many places one workflow may hold in the environment live.
func (l Limits) OfWorkflow() int {
	if l.PerWorkflow > 0 {
		return min(l.PerWorkflow, l.Places)
	}
	return l.Places
}

// Allows reports whether a workflow that holds so many places may hold one more.
func (l Limits) Allows(held int) bool { return l.PerWorkflow <= 0 || held < l.PerWorkflow }

// Line is a queue of values that wait for places. It is not safe for concurrent use. After each Release,
// Remove and Push the caller calls Next until that reports false: then no value waits that may have a
// place. The cost of each method does not depend on how many values wait.
type Line[T any] struct {
	limits  Limits
	held    int
	waiting int
	shares  [2]share[T] // live, test
	latest  *share[T]   // which has got the latest place
}

// share is what one environment holds and waits for.
type share[T any] struct {
	limit     int
	held      int
	workflows map[int64]*workflow[T] // those that hold a place or wait, and some others
	first     *workflow[T]           // those that wait and may hold one more, in turn
	last      *workflow[T]
}

type workflow[T any] struct {
	number int64
	held   int
	first  *Ticket[T]
	last   *Ticket[T]

	listed       bool
	before, next *workflow[T]
}

// Ticket is a place in the line.
type Ticket[T any] struct {
	owner        Owner
	value        T
	waits        bool
	before, next *Ticket[T]
}

// NewLine makes a line.
func NewLine[T any](limits Limits) *Line[T] {
	l := &Line[T]{limits: limits}
	l.shares[0] = share[T]{limit: limits.Places, workflows: make(map[int64]*workflow[T])}
	l.shares[1] = share[T]{limit: limits.OfTest(), workflows: make(map[int64]*workflow[T])}
	return l
}

// Held is the number of places that are taken, Waiting that of tickets in the line.
func (l *Line[T]) Held() int    { return l.held }
func (l *Line[T]) Waiting() int { return l.waiting }

func (l *Line[T]) share(o Owner) *share[T] {
	if o.Environment == chargehand.Test {
		return &l.shares[1]
	}
	return &l.shares[0]
}

// Take takes a place at once. It reports false if the owner must wait.
func (l *Line[T]) Take(o Owner) bool {
	s := l.share(o)
	if l.held >= l.limits.Places || s.held >= s.limit {
		return false
	}
	w := s.workflow(o.Workflow)
	if !l.limits.Allows(w.held) {
		return false
	}
	l.hold(s, w)
	return true
}

// Push adds a value to the line.
func (l *Line[T]) Push(o Owner, value T) *Ticket[T] {
	s := l.share(o)
	w := s.workflow(o.Workflow)
	t := &Ticket[T]{owner: o, value: value, waits: true, before: w.last}
	if w.last != nil {
		w.last.next = t
	} else {
		w.first = t
	}
	w.last = t
	l.waiting++
	l.arrange(s, w)
	return t
}

// Remove takes a ticket out of the line. It reports false if the ticket has got its place.
func (l *Line[T]) Remove(t *Ticket[T]) bool {
	if !t.waits {
		return false
	}
	s := l.share(t.owner)
	w := s.workflows[t.owner.Workflow]
	l.unlink(w, t)
	l.arrange(s, w)
	return true
}

// Next gives a place to the next value. It reports false if no value that waits may have one.
func (l *Line[T]) Next() (value T, o Owner, ok bool) {
	if l.held >= l.limits.Places {
		return value, o, false
	}
	var s *share[T]
	for i := range l.shares {
		candidate := &l.shares[i]
		if candidate.first == nil || candidate.held >= candidate.limit {
			continue
		}
		if s == nil || candidate.held < s.held || candidate.held == s.held && s == l.latest {
			s = candidate
		}
	}
	if s == nil {
		return value, o, false
	}
	w := s.first
	t := w.first
	l.unlink(w, t)
	s.unlist(w) // behind the others, if it waits for more
	l.hold(s, w)
	return t.value, t.owner, true
}

// Release gives a place back.
func (l *Line[T]) Release(o Owner) {
	s := l.share(o)
	w := s.workflows[o.Workflow]
	l.held--
	s.held--
	w.held--
	l.arrange(s, w)
}

func (l *Line[T]) hold(s *share[T], w *workflow[T]) {
	l.held++
	s.held++
	w.held++
	l.latest = s
	l.arrange(s, w)
}

func (l *Line[T]) unlink(w *workflow[T], t *Ticket[T]) {
	if t.before != nil {
		t.before.next = t.next
	} else {
		w.first = t.next
	}
	if t.next != nil {
		t.next.before = t.before
	} else {
		w.last = t.before
	}
	t.before, t.next, t.waits = nil, nil, false
	l.waiting--
}

// keptWorkflows bounds the workflows that an environment remembers although they neither hold places nor
// wait: most of them come again.
const keptWorkflows = 1_000

// arrange adds a workflow to those that take turns, or takes it out. It forgets a workflow that neither holds
// places nor waits.
func (l *Line[T]) arrange(s *share[T], w *workflow[T]) {
	wants := w.first != nil && l.limits.Allows(w.held)
	switch {
	case wants && !w.listed:
		s.list(w)
	case !wants && w.listed:
		s.unlist(w)
	}
	if w.held == 0 && w.first == nil && len(s.workflows) > keptWorkflows {
		delete(s.workflows, w.number)
	}
}

func (s *share[T]) workflow(number int64) *workflow[T] {
	w := s.workflows[number]
	if w == nil {
		w = &workflow[T]{number: number}
		s.workflows[number] = w
	}
	return w
}

func (s *share[T]) list(w *workflow[T]) {
	w.listed, w.before = true, s.last
	if s.last != nil {
		s.last.next = w
	} else {
		s.first = w
	}
	s.last = w
}

func (s *share[T]) unlist(w *workflow[T]) {
	if w.before != nil {
		w.before.next = w.next
	} else {
		s.first = w.next
	}
	if w.next != nil {
		w.next.before = w.before
	} else {
		s.last = w.before
	}
	w.before, w.next, w.listed = nil, nil, false
}
