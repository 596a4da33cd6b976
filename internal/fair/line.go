package fair

import "github.com/chargehand/chargehand"

// Owner is the workflow and the environment that a permit is for.
type Owner struct {
	Environment chargehand.Environment
	Workflow    int64
}

// Limits bounds permits.
type Limits struct {
	Permits     int
	PerWorkflow int // of one workflow in one environment; 0: as many as there are
}

// OfTest is the limit of the environment test.
func (l Limits) OfTest() int { return max(1, l.Permits/2) }

// OfWorkflow is the limit of one workflow in the environment live.
func (l Limits) OfWorkflow() int {
	if l.PerWorkflow > 0 {
		return min(l.PerWorkflow, l.Permits)
	}
	return l.Permits
}

// Allows reports whether a workflow that holds so many permits may hold one more.
func (l Limits) Allows(held int) bool { return l.PerWorkflow <= 0 || held < l.PerWorkflow }

// Share is what one environment holds.
type Share struct {
	Held, Limit int
	Waits       bool // it wants another permit
}

// Next returns the index of the environment that gets the next permit: 0 for live, 1 for test, -1 for neither. Of those
// that wait and may hold one more it is the one that holds fewer. If both hold as many, they take turns: afterLive says
// that live has got the latest permit.
func Next(live, test Share, afterLive bool) int {
	mayLive, mayTest := live.Waits && live.Held < live.Limit, test.Waits && test.Held < test.Limit
	switch {
	case mayTest && (!mayLive || test.Held < live.Held || test.Held == live.Held && afterLive):
		return 1
	case mayLive:
		return 0
	}
	return -1
}

// Line is a queue of values that wait for permits. It is not safe for concurrent use. After each Release, Remove and
// Push the caller calls Next until that reports false: then no value that waits may have a permit. The cost of each
// method does not depend on how many values wait.
type Line[T any] struct {
	limits  Limits
	held    int
	waiting int
	shares  [2]share[T] // live, test
	// afterLive: live has got the latest permit
	afterLive bool
}

// share is what one environment holds and waits for.
type share[T any] struct {
	limit     int
	held      int
	workflows map[int64]*workflow[T] // those that hold a permit or wait, and some others
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

// Ticket is the position of a value in the line.
type Ticket[T any] struct {
	owner        Owner
	value        T
	waits        bool
	before, next *Ticket[T]
}

// NewLine makes a line.
func NewLine[T any](limits Limits) *Line[T] {
	l := &Line[T]{limits: limits}
	l.shares[0] = share[T]{limit: limits.Permits, workflows: make(map[int64]*workflow[T])}
	l.shares[1] = share[T]{limit: limits.OfTest(), workflows: make(map[int64]*workflow[T])}
	return l
}

// SetLimits changes the limits. What holds a permit keeps it. Call Next after that, as after a Release.
func (l *Line[T]) SetLimits(limits Limits) {
	l.limits = limits
	l.shares[0].limit, l.shares[1].limit = limits.Permits, limits.OfTest()
	for i := range l.shares {
		for _, w := range l.shares[i].workflows {
			l.arrange(&l.shares[i], w)
		}
	}
}

// Held is the number of permits that are taken, Waiting that of tickets in the line.
func (l *Line[T]) Held() int    { return l.held }
func (l *Line[T]) Waiting() int { return l.waiting }

// index is that of an environment's share.
func index(env chargehand.Environment) int {
	if env == chargehand.Test {
		return 1
	}
	return 0
}

// Take takes a permit at once. It reports false if the owner must wait.
func (l *Line[T]) Take(o Owner) bool {
	at := index(o.Environment)
	s := &l.shares[at]
	if l.held >= l.limits.Permits || s.held >= s.limit {
		return false
	}
	w := s.workflow(o.Workflow)
	if !l.limits.Allows(w.held) {
		return false
	}
	l.hold(at, w)
	return true
}

// Push adds a value to the line.
func (l *Line[T]) Push(o Owner, value T) *Ticket[T] {
	s := &l.shares[index(o.Environment)]
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

// Remove takes a ticket out of the line. It reports false if the ticket has got its permit.
func (l *Line[T]) Remove(t *Ticket[T]) bool {
	if !t.waits {
		return false
	}
	s := &l.shares[index(t.owner.Environment)]
	w := s.workflows[t.owner.Workflow]
	l.unlink(w, t)
	l.arrange(s, w)
	return true
}

// Next gives a permit to the next value. It reports false if no value that waits may have one.
func (l *Line[T]) Next() (value T, o Owner, ok bool) {
	at := -1
	if l.held < l.limits.Permits {
		at = Next(l.shares[0].public(), l.shares[1].public(), l.afterLive)
	}
	if at < 0 {
		return value, o, false
	}
	s := &l.shares[at]
	w := s.first
	t := w.first
	l.unlink(w, t)
	s.unlist(w) // behind the others, if it waits for more
	l.hold(at, w)
	return t.value, t.owner, true
}

func (s *share[T]) public() Share { return Share{Held: s.held, Limit: s.limit, Waits: s.first != nil} }

// Release gives a permit back.
func (l *Line[T]) Release(o Owner) {
	s := &l.shares[index(o.Environment)]
	w := s.workflows[o.Workflow]
	l.held--
	s.held--
	w.held--
	l.arrange(s, w)
}

func (l *Line[T]) hold(at int, w *workflow[T]) {
	s := &l.shares[at]
	l.held++
	s.held++
	w.held++
	l.afterLive = at == 0
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

// keptWorkflows bounds the workflows that an environment remembers although they neither hold permits nor wait: most of
// them come again.
const keptWorkflows = 1_000

// arrange adds a workflow to those that take turns, or takes it out. It forgets a workflow that neither holds permits
// nor waits.
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
