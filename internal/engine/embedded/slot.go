package embedded

import "sync"

// maxGrant bounds the slots that one source takes ahead for queued executions, so that a
// long queue does not lock out everybody else while it reads its rows.
const maxGrant = 64

// slots hands out the right to run. What it holds mirrors the rows: an execution holds a
// slot while its row says RunActive, from before that commit until after the commit that
// says otherwise. So the bounds hold at every moment, also as counted from rows.
//
// Executions that wait for a slot wait in a source: the singles of an account, or a batch.
// Sources of an account take turns; within a source woken executions (RunReady) go before
// queued ones, and a source with woken executions goes before one without.
type slots struct {
	limit int // slots per account
	// feed starts a goroutine that feeds from a source that has been granted slots.
	feed func(*source)

	mu       sync.Mutex
	accounts map[int64]*account
	batches  map[int64]*source
	closed   bool
}

type account struct {
	limit   int
	held    int
	singles *source
	// Sources that want a slot and may have one, those with woken executions apart.
	ready  sourceList
	queued sourceList
}

// source is where executions wait for a slot. All fields are guarded by slots.mu.
type source struct {
	account *account
	batch   int64    // internal number, 0 for singles
	batchID [16]byte // for watchers
	number  int64    // internal number of the account
	limit   int      // slots at once, the concurrency of a batch

	held    int     // slots taken, granted ones included
	granted int     // slots taken for the feeder, not yet given to an execution
	woken   int     // of granted: for woken executions
	ready   []int64 // woken executions, by wake
	more    bool    // rows may be queued
	added   uint64  // counts news of queued rows
	feeding bool
	closed  bool // a cancelled batch starts nothing more
	listed  *sourceList
	before  *source // neighbours in the list
	after   *source
}

type sourceList struct{ first, last *source }

func (l *sourceList) push(s *source) {
	s.listed, s.before, s.after = l, l.last, nil
	if l.last != nil {
		l.last.after = s
	} else {
		l.first = s
	}
	l.last = s
}

func (l *sourceList) remove(s *source) {
	if s.before != nil {
		s.before.after = s.after
	} else {
		l.first = s.after
	}
	if s.after != nil {
		s.after.before = s.before
	} else {
		l.last = s.before
	}
	s.listed, s.before, s.after = nil, nil, nil
}

func newSlots(limit int, feed func(*source)) *slots {
	return &slots{
		limit: limit, feed: feed,
		accounts: make(map[int64]*account), batches: make(map[int64]*source),
	}
}

// account needs s.mu.
func (s *slots) account(number int64) *account {
	a := s.accounts[number]
	if a == nil {
		a = &account{limit: s.limit}
		a.singles = &source{account: a, number: number, limit: s.limit}
		s.accounts[number] = a
	}
	return a
}

// singles returns the source of the executions without a batch of an account.
func (s *slots) singles(number int64) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(number).singles
}

// batch returns the source of a batch, or nil if it is not known.
func (s *slots) batch(number int64) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches[number]
}

// addBatch makes the source of a batch, or returns the one that stands.
func (s *slots) addBatch(account, number int64, id [16]byte, concurrency int) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := s.batches[number]
	if src == nil {
		src = &source{account: s.account(account), number: account, batch: number, batchID: id, limit: concurrency}
		s.batches[number] = src
	}
	return src
}

// take takes a slot for an execution that wants to start or go on at once. It fails where
// there is none, and where others of the same source wait already.
func (s *slots) take(src *source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := src.account
	if s.closed || src.closed || a.held >= a.limit || src.held >= src.limit || len(src.ready) > 0 {
		return false
	}
	a.held++
	src.held++
	return true
}

// start is take for a new single, which goes behind queued ones.
func (s *slots) start(account int64) (*source, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(account)
	src := a.singles
	if s.closed || a.held >= a.limit || src.more || len(src.ready) > 0 {
		return src, false
	}
	a.held++
	src.held++
	return src, true
}

// adopt takes a slot for an execution whose row says RunActive, whatever the bounds are now.
func (s *slots) adopt(src *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	src.account.held++
	src.held++
}

// free gives n slots back.
func (s *slots) free(src *source, n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	src.account.held -= n
	src.held -= n
	s.list(src)
	s.grant(src.account)
	s.mu.Unlock()
}

// wake puts a woken execution in line.
func (s *slots) wake(src *source, execution int64) {
	s.mu.Lock()
	src.ready = append(src.ready, execution)
	s.list(src)
	s.grant(src.account)
	s.mu.Unlock()
}

// queued says that rows of src may have become RunQueued.
func (s *slots) queued(src *source) {
	s.mu.Lock()
	src.more = true
	src.added++
	s.list(src)
	s.grant(src.account)
	s.mu.Unlock()
}

// queuedAll is queued for every source.
func (s *slots) queuedAll() {
	s.mu.Lock()
	var all []*source
	for _, a := range s.accounts {
		all = append(all, a.singles)
	}
	for _, src := range s.batches {
		all = append(all, src)
	}
	s.mu.Unlock()
	for _, src := range all {
		s.queued(src)
	}
}

// close keeps src from starting anything: its batch was cancelled.
func (s *slots) close(src *source) {
	s.mu.Lock()
	src.closed = true
	src.ready = nil
	src.more = false
	if src.listed != nil {
		src.listed.remove(src)
	}
	s.mu.Unlock()
}

// stop hands out no more slots.
func (s *slots) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// open hands out slots, for the first time after the recovery.
func (s *slots) open() {
	s.mu.Lock()
	s.closed = false
	for _, a := range s.accounts {
		s.grant(a)
	}
	s.mu.Unlock()
}

// list puts src in the list where it belongs. It needs s.mu.
func (s *slots) list(src *source) {
	var to *sourceList
	switch {
	case src.closed || src.held >= src.limit:
	case len(src.ready) > src.woken:
		to = &src.account.ready
	case src.more && src.granted-src.woken < maxGrant:
		to = &src.account.queued
	}
	if src.listed == to {
		return
	}
	if src.listed != nil {
		src.listed.remove(src)
	}
	if to != nil {
		to.push(src)
	}
}

// grant hands the free slots of an account to its sources in turn. It needs s.mu.
func (s *slots) grant(a *account) {
	for !s.closed && a.held < a.limit {
		src := a.ready.first
		woken := src != nil
		if !woken {
			src = a.queued.first
		}
		if src == nil {
			return
		}
		a.held++
		src.held++
		src.granted++
		if woken {
			src.woken++
		}
		src.listed.remove(src)
		s.list(src)
		if !src.feeding {
			src.feeding = true
			s.feed(src)
		}
	}
}

// fed is what a feeder may use: one slot for each execution in ready, and slots more for
// queued ones.
type fed struct {
	ready []int64
	slots int
	added uint64 // to be given to exhausted
}

// next returns what was granted to src since the last call. Nothing was granted: the
// caller is no longer the feeder of src.
func (s *slots) next(src *source) (fed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src.granted == 0 || s.closed {
		src.feeding = false
		return fed{}, false
	}
	n := min(src.woken, len(src.ready))
	f := fed{slots: src.granted - src.woken, added: src.added}
	f.ready = append(f.ready, src.ready[:n]...)
	src.ready = src.ready[n:]
	if len(src.ready) == 0 {
		src.ready = nil
	}
	spare := src.woken - n // its woken executions were dropped in the meantime
	f.slots += spare
	src.granted, src.woken = 0, 0
	s.list(src)
	return f, true
}

// exhausted says that the rows were read when added news of src were known, and that none
// is queued any more.
func (s *slots) exhausted(src *source, added uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src.added == added {
		src.more = false
		s.list(src)
	}
}

// forget drops the source of a batch whose items have all ended.
func (s *slots) forget(batch int64) {
	s.mu.Lock()
	delete(s.batches, batch)
	s.mu.Unlock()
}

// heldBy returns the slots that are taken in an account.
func (s *slots) heldBy(number int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(number).held
}
