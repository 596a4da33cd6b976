package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

const (
	maxGroup  = 512 // Updates in one commit of an owner
	maxShared = 64  // in Shared mode, where a group keeps rows locked that others want
	// carefulGroups is how many groups have savepoints after one that should have had them.
	carefulGroups = 8

	// maxRuns is how often an Update runs alone after it lost against another one. Two nodes that apply the same
	// definitions again and again lock the same rows crosswise; with 5 runs one of some thousand Updates failed.
	// It stops after maxRunTime, too.
	maxRuns    = 10
	maxRunTime = 25 * time.Second
)

// writer hands Updates to its workers. Each worker has a session; it takes what waits,
// runs it in one transaction, and then answers.
type writer struct {
	*dialect.Queue[*worker]
	commits atomic.Int64
	stopped sync.WaitGroup
}

// worker is used by its own goroutine only.
type worker struct {
	writer   *writer
	texts    *texts
	maxGroup int
	ahead    bool // see conn: with more than one worker, numbers would not ascend with time
	session  *session
	careful  int                      // groups to run with savepoints from the beginning
	open     func() (*session, error) // for a worker without a session
	mark     mark
	hasRow   bool // its row is there
	resolve  func(mark) (committed, known bool)
	inDoubt  func(mark)    // called when an outcome stays unknown
	idle     func(*worker) // called every now and then; nil: never
	interval time.Duration // of idle
}

func newWriter() *writer { return &writer{Queue: dialect.NewQueue[*worker]()} }

func (w *writer) start(one *worker) {
	one.writer = w
	w.stopped.Go(one.loop)
}

// close lets what is queued finish and closes the sessions.
func (w *writer) close() {
	w.Queue.Close()
	w.stopped.Wait()
}

func (w *worker) loop() {
	defer w.drop()
	var tick <-chan time.Time
	if w.idle != nil {
		ticker := time.NewTicker(w.interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	group := make([]*request, 0, w.maxGroup)
	for {
		select {
		case <-tick:
			w.idle(w)
		case first, ok := <-w.writer.Waiting:
			if !ok {
				return
			}
			// Let those who were just answered hand in their next Update.
			runtime.Gosched()
			var last *request // maintenance: it runs behind the group
			group, last = w.writer.Gather(group[:0], first, w.maxGroup)
			if len(group) > 0 {
				w.run(group)
				dialect.AnswerAll(group)
			}
			if last != nil {
				last.Answer(last.Maintain(w))
			}
		}
	}
}

// drop gives up the session, and with it an open transaction.
func (w *worker) drop() {
	if w.session != nil {
		w.session.close()
		w.session = nil
	}
}

// run executes a group and sets the err of every request in it.
func (w *worker) run(requests []*request) {
	w.transact(requests, "")
	for _, r := range requests {
		began := time.Now()
		for runs := 0; errors.Is(r.Err, errAgain) && runs < maxRuns && time.Since(began) < maxRunTime; runs++ {
			time.Sleep(rand.N(time.Duration(runs+1) * 20 * time.Millisecond)) // the other one may be trying again, too
			w.transact([]*request{r}, aloneLock)
		}
		if errors.Is(r.Err, errAgain) {
			r.Err = unavailable(r.Err)
		}
	}
}

// transact runs requests in one transaction. A session that turns out to be dead before
// COMMIT is replaced once: nothing was written, so that the requests can run again.
func (w *worker) transact(requests []*request, setting string) {
	careful := w.careful > 0
	w.careful = max(0, w.careful-1)
	for attempt := 0; ; attempt++ {
		for _, r := range requests {
			r.Err = nil
		}
		if w.session == nil {
			s, err := w.open()
			if err != nil {
				dialect.FailWritten(requests, unavailable(err))
				return
			}
			w.session = s
		}
		if err := w.insertMark(); err != nil {
			w.drop()
			dialect.FailWritten(requests, unavailable(err))
			return
		}
		w.mark.commits++
		w.mark.atMs = time.Now().UnixMilli()
		g := &group{session: w.session, texts: w.texts, requests: requests, mark: w.mark, ahead: w.ahead}
		g.alone = len(requests) == 1
		g.careful = careful && !g.alone
		err := g.run(setting)
		if err == nil {
			w.writer.commits.Add(1)
			return
		}
		if errors.Is(err, errCareful) && g.session.reset() == nil {
			careful, w.careful = true, carefulGroups
			attempt--
			continue
		}
		w.drop()
		switch {
		case g.sent:
			w.resolveCommit(g, err)
			return
		case lost(err) && attempt == 0:
			continue
		}
		dialect.FailWritten(requests, unavailable(fmt.Errorf("transaction undone: %w", err)))
		return
	}
}

// insertMark makes sure that there is a row for the marks.
func (w *worker) insertMark() error {
	if w.hasRow {
		return nil
	}
	_, err := w.session.ask(insertMark, w.mark.writer, time.Now().UnixMilli())
	w.hasRow = err == nil
	return err
}

// resolveCommit finds out what became of a transaction whose COMMIT was not answered.
func (w *worker) resolveCommit(g *group, err error) {
	committed, known := w.resolve(g.mark)
	switch {
	case known && committed:
		w.writer.commits.Add(1)
	case known:
		dialect.FailWritten(g.requests, unavailable(fmt.Errorf("transaction undone: %w", err)))
	default:
		dialect.FailWritten(g.requests, store.InDoubt(fmt.Errorf("the connection was lost during the commit: %w", err)))
		w.inDoubt(g.mark)
	}
}
