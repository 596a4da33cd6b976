package fair

import "github.com/chargehand/chargehand"

// Owner is what a permit is for: the workflow and environment of an execution, and the key that has started it.
type Owner struct {
	Environment chargehand.Environment
	Workflow    int64
	Key         int64 // 0: none has. It is ignored where keys have no bound.
}

// Limits bounds permits.
type Limits struct {
	Permits     int
	PerWorkflow int // of one workflow in one environment; 0: as many as there are
	// PerKey bounds those of one key in one environment, over all workflows; 0: as many as there are. What has no key
	// is bounded for each workflow, as if it had one of its own.
	PerKey int
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

// OfKey is the limit of one key in the environment live.
func (l Limits) OfKey() int {
	if l.PerKey > 0 {
		return min(l.PerKey, l.Permits)
	}
	return l.Permits
}

// Allows reports whether a workflow that holds so many permits may hold one more.
func (l Limits) Allows(held int) bool { return l.PerWorkflow <= 0 || held < l.PerWorkflow }

// AllowsKey is Allows for a key.
func (l Limits) AllowsKey(held int) bool { return l.PerKey <= 0 || held < l.PerKey }

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
// method does not depend on how many values wait. Where a key comes to its bound or leaves it, it depends on the number
// of workflows in which the key holds permits or waits.
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
	keys      map[int64]*key[T]      // those with lanes
	eligible  List[*workflow[T]]     // those that wait and may hold one more, in turn
}

type workflow[T any] struct {
	number   int64
	held     int
	position Node[*workflow[T]]
	eligible List[*lane[T]]     // the lanes that wait and whose keys may hold one more, in turn
	own      lane[T]            // of what has no key. Where keys have no bound, everything is in it
	none     key[T]             // of that lane alone
	lanes    map[int64]*lane[T] // the others, by key: those that hold a permit or wait
}

// lane is what one key holds and waits for in one workflow.
type lane[T any] struct {
	workflow *workflow[T]
	key      *key[T]
	held     int
	tickets  List[*Ticket[T]]
	position Node[*lane[T]] // among those of its workflow
	ofKey    Node[*lane[T]] // in the lanes of its key
}

// key is what one key holds in an environment.
type key[T any] struct {
	number int64
	held   int
	lanes  List[*lane[T]] // in all workflows, in the order in which they began to wait or got their latest permits
}

// Ticket is the position of a value in the line.
type Ticket[T any] struct {
	owner Owner
	value T
	node  Node[*Ticket[T]] // in the tickets of its lane, while it waits
}

// NewLine makes a line.
func NewLine[T any](limits Limits) *Line[T] {
	l := &Line[T]{limits: limits}
	for i, limit := range [2]int{limits.Permits, limits.OfTest()} {
		l.shares[i] = share[T]{limit: limit, workflows: make(map[int64]*workflow[T]), keys: make(map[int64]*key[T])}
	}
	return l
}

// SetLimits changes the limits but PerKey. What holds a permit keeps it. Call Next after that, as after a Release.
func (l *Line[T]) SetLimits(limits Limits) {
	limits.PerKey = l.limits.PerKey
	l.limits = limits
	l.shares[0].limit, l.shares[1].limit = limits.Permits, limits.OfTest()
	for i := range l.shares {
		for _, w := range l.shares[i].workflows {
			l.arrange(&l.shares[i], &w.own) // the workflow; its lanes stay as they are
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
	a := l.lane(s, o)
	if !l.limits.Allows(a.workflow.held) || !l.limits.AllowsKey(a.key.held) {
		l.arrange(s, a) // forgets a new lane
		return false
	}
	l.hold(at, a)
	return true
}

// Push adds a value to the line.
func (l *Line[T]) Push(o Owner, value T) *Ticket[T] {
	s := &l.shares[index(o.Environment)]
	a := l.lane(s, o)
	t := &Ticket[T]{owner: o, value: value}
	t.node.Value = t
	if a.tickets.First() == nil {
		l.putLast(a)
	}
	a.tickets.Push(&t.node)
	l.waiting++
	l.arrange(s, a)
	return t
}

// Remove takes a ticket out of the line. It reports false if the ticket has got its permit.
func (l *Line[T]) Remove(t *Ticket[T]) bool {
	if t.node.List() == nil {
		return false
	}
	s := &l.shares[index(t.owner.Environment)]
	t.node.Leave()
	l.waiting--
	l.arrange(s, l.lane(s, t.owner))
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
	w := l.shares[at].eligible.First().Value
	a := w.eligible.First().Value
	if a.key.held == l.limits.PerKey-1 {
		a = a.key.first(&l.shares[at])
		w = a.workflow
	}
	t := a.tickets.First().Value
	t.node.Leave()
	l.waiting--
	w.position.Leave() // behind the others, if it waits for more, and so its lane
	a.position.Leave()
	l.hold(at, a)
	return t.value, t.owner, true
}

// first returns the lane of a key that has waited longest, among those that may have a permit; there is one. It gets
// the permit that brings the key to its bound, whichever lane of the key has its turn: at the bound all of them leave
// their turns, and one among many other keys of its workflow would never have it.
func (k *key[T]) first(s *share[T]) *lane[T] {
	n := k.lanes.First()
	for n.Value.position.List() == nil || n.Value.workflow.position.List() != &s.eligible {
		n = n.Next()
	}
	return n.Value
}

func (s *share[T]) public() Share {
	return Share{Held: s.held, Limit: s.limit, Waits: s.eligible.First() != nil}
}

// Release gives a permit back.
func (l *Line[T]) Release(o Owner) {
	s := &l.shares[index(o.Environment)]
	a := l.lane(s, o)
	l.held--
	s.held--
	a.workflow.held--
	a.key.held--
	a.held--
	l.arrangeAll(s, a, a.key.held == l.limits.PerKey-1)
}

func (l *Line[T]) hold(at int, a *lane[T]) {
	s := &l.shares[at]
	l.held++
	s.held++
	a.workflow.held++
	a.key.held++
	a.held++
	l.afterLive = at == 0
	l.putLast(a)
	l.arrangeAll(s, a, a.key.held == l.limits.PerKey)
}

// putLast puts a lane behind the others of its key, for when they all wait for one permit of the key.
func (l *Line[T]) putLast(a *lane[T]) {
	if l.limits.PerKey > 0 {
		a.ofKey.Leave()
		a.key.lanes.Push(&a.ofKey)
	}
}

// arrangeAll calls arrange for a lane that holds one permit more or less. If that brings its key to its bound, or away
// from it, the same changes for all lanes of the key.
func (l *Line[T]) arrangeAll(s *share[T], a *lane[T], bound bool) {
	if !bound {
		l.arrange(s, a)
		return
	}
	for n := a.key.lanes.First(); n != nil; {
		other := n.Value
		n = n.Next() // arrange may forget the lane
		l.arrange(s, other)
	}
}

// arrange adds a lane and its workflow to those that take turns, or takes them out. It forgets what neither holds
// permits nor waits.
func (l *Line[T]) arrange(s *share[T], a *lane[T]) {
	w := a.workflow
	var lanes *List[*lane[T]]
	if a.tickets.First() != nil && l.limits.AllowsKey(a.key.held) {
		lanes = &w.eligible
	}
	a.position.Move(lanes)
	var workflows *List[*workflow[T]]
	if w.eligible.First() != nil && l.limits.Allows(w.held) {
		workflows = &s.eligible
	}
	w.position.Move(workflows)
	if a != &w.own && a.held == 0 && a.tickets.First() == nil {
		s.forget(a)
	}
	if w.held == 0 && w.own.tickets.First() == nil && len(w.lanes) == 0 && len(s.workflows) > keptWorkflows {
		delete(s.workflows, w.number)
	}
}

// keptWorkflows bounds the workflows that an environment remembers although they neither hold permits nor wait: most of
// them come again.
const keptWorkflows = 1_000

// lane returns the lane of an owner, and makes it if it is new.
func (l *Line[T]) lane(s *share[T], o Owner) *lane[T] {
	w := s.workflows[o.Workflow]
	if w == nil {
		w = &workflow[T]{number: o.Workflow}
		w.position.Value = w
		w.own.init(w, &w.none)
		s.workflows[o.Workflow] = w
	}
	if l.limits.PerKey <= 0 || o.Key == 0 {
		return &w.own
	}
	a := w.lanes[o.Key]
	if a == nil {
		k := s.keys[o.Key]
		if k == nil {
			k = &key[T]{number: o.Key}
			s.keys[o.Key] = k
		}
		a = &lane[T]{}
		a.init(w, k)
		if w.lanes == nil {
			w.lanes = make(map[int64]*lane[T])
		}
		w.lanes[o.Key] = a
	}
	return a
}

func (a *lane[T]) init(w *workflow[T], k *key[T]) {
	a.workflow, a.key = w, k
	a.position.Value, a.ofKey.Value = a, a
	k.lanes.Push(&a.ofKey)
}

// forget drops a lane of a key, and the key with its last lane.
func (s *share[T]) forget(a *lane[T]) {
	a.ofKey.Leave()
	delete(a.workflow.lanes, a.key.number)
	if a.key.lanes.First() == nil {
		delete(s.keys, a.key.number)
	}
}
