package reminder

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// FactLife is how long facts are kept for their readers.
	FactLife = 7 * 24 * time.Hour
	// timesAtOnce bounds the times of one environment, factsAtOnce the facts, that one transaction takes.
	timesAtOnce, factsAtOnce = 100, 500
	// leaseTime is how long other nodes wait for one that has died; leaseRest is when it is prolonged.
	leaseTime, leaseRest = 6 * time.Second, 4 * time.Second
	// releaseTime bounds how long a node that stops takes to release its leases.
	releaseTime = time.Second
	// The names of the leases. A node without a mail server can have the first, and never has the second.
	timesLease, mailLease = "times of human tasks", "mail about human tasks"
)

// Config configures a Worker. Store is required.
type Config struct {
	Store *store.Store
	Mail  *mail.Outbox // nil: no mail is sent
	// Link makes the address at which a person acts on a task, within the Update that hands the mail to the outbox.
	// Default: that of its page, for members of the account.
	Link   Link
	Shared bool             // other nodes work on the same database
	Every  time.Duration    // between two looks; default 1 s
	Now    func() time.Time // default: time.Now
	Log    *slog.Logger     // default: discards
}

// Worker does the work of the package. Make it with New. Its methods are for one goroutine, but for Stats.
type Worker struct {
	config Config
	log    *slog.Logger
	node   [16]byte
	leases map[string]int64 // until when this node has them, in ms

	most     int64 // MaxWaiting, less in tests
	inAll    int64 // maxWaitingInAll, less in tests
	atOnce   int   // writtenAtOnce, less in tests
	followed bool  // mail is a reader of facts

	noted, mailed, left atomic.Int64
}

// Stats counts what this process has done since it started.
type Stats struct {
	Noted  int64 // reminders, and tasks that became overdue
	Mailed int64 // mails that were handed to the outbox
	Left   int64 // mails that were not written, because too many of their workflow or account waited
}

// Stats returns the counters. It is safe for concurrent use.
func (w *Worker) Stats() Stats { return Stats{w.noted.Load(), w.mailed.Load(), w.left.Load()} }

// New returns a Worker that does nothing yet.
func New(c Config) *Worker {
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Link == nil && c.Mail.On() {
		c.Link = pageOf(c.Mail.BaseURL())
	}
	w := &Worker{config: c, log: c.Log, leases: map[string]int64{}, most: MaxWaiting, inAll: maxWaitingInAll, atOnce: writtenAtOnce}
	rand.Read(w.node[:])
	return w
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	clock := time.NewTicker(w.config.Every)
	defer clock.Stop()
	failing := false
	for ctx.Err() == nil {
		more, err := w.Step(ctx)
		if full := errors.Is(err, errOutboxFull); full && !failing {
			w.log.Warn("mails about human tasks wait, because the outbox of mails is full")
		} else if err != nil && ctx.Err() == nil && !failing {
			w.log.Warn("the times of human tasks cannot be looked at; what is due is noted later", "error", err)
		}
		if failing = err != nil; more && !failing {
			continue
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
		}
	}
	w.release(context.WithoutCancel(ctx))
}

// Step does a part of what is to be done now, and reports whether there is more. Errors: store.ErrUnavailable.
func (w *Worker) Step(ctx context.Context) (more bool, err error) {
	for _, part := range [...]func(context.Context) (bool, error){w.follow, w.noteTimes, w.publish, w.readFacts, w.handOut} {
		again, err := part(ctx)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

func (w *Worker) nowMs() int64 { return w.config.Now().UnixMilli() }

func (w *Worker) view(ctx context.Context, fn func(r *store.Reader) error) error {
	return w.config.Store.View(ctx, fn)
}

func (w *Worker) update(ctx context.Context, fn func(tx *store.Tx) error) error {
	return w.config.Store.Update(ctx, fn)
}

// noteTimes notes the times that have come.
func (w *Worker) noteTimes(ctx context.Context) (more bool, err error) {
	for _, env := range [...]chargehand.Environment{chargehand.Live, chargehand.Test} {
		var due []store.TaskTime
		nowMs := w.nowMs()
		err := w.view(ctx, func(r *store.Reader) (err error) {
			due, err = r.TaskTimesDue(env, nowMs, timesAtOnce)
			return err
		})
		if err != nil {
			return false, err
		}
		if len(due) == 0 {
			continue
		}
		if mine, err := w.lease(ctx, timesLease); err != nil || !mine {
			return false, err
		}
		noted := 0
		err = w.update(ctx, func(tx *store.Tx) error {
			noted = 0
			for _, at := range due {
				taken, err := tx.TakeTaskTimes(at.Task, at.Kind, nowMs)
				if err != nil {
					return err
				}
				if taken {
					noted++
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		w.noted.Add(int64(noted))
		// What another transaction had locked is looked at again later.
		more = more || len(due) == timesAtOnce && noted > 0
	}
	return more, nil
}

// publish gives facts their numbers.
func (w *Worker) publish(ctx context.Context) (more bool, err error) {
	waits := false
	err = w.view(ctx, func(r *store.Reader) (err error) {
		waits, err = r.UnpublishedFacts()
		return err
	})
	if err != nil || !waits {
		return false, err
	}
	if mine, err := w.lease(ctx, timesLease); err != nil || !mine {
		return false, err
	}
	n := 0
	err = w.update(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.PublishFacts(factsAtOnce)
		return err
	})
	return n == factsAtOnce, err
}

// lease keeps other nodes from doing the same work, and reports whether it is this one's.
func (w *Worker) lease(ctx context.Context, name string) (mine bool, err error) {
	if !w.config.Shared {
		return true, nil
	}
	nowMs := w.nowMs()
	if rest := w.leases[name] - nowMs; rest > leaseRest.Milliseconds() && rest <= leaseTime.Milliseconds() {
		return true, nil
	}
	untilMs := nowMs + leaseTime.Milliseconds()
	err = w.update(ctx, func(tx *store.Tx) error { return tx.TakeLease(name, w.node, nowMs, untilMs) })
	if errors.Is(err, store.ErrConflict) {
		delete(w.leases, name)
		return false, nil
	}
	if err == nil {
		w.leases[name] = untilMs
	}
	return err == nil, err
}

// release lets another node continue at once.
func (w *Worker) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	for name := range w.leases {
		nowMs := w.nowMs()
		err := w.update(ctx, func(tx *store.Tx) error { return tx.TakeLease(name, w.node, nowMs, nowMs-1) })
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
			w.log.Warn("let another node look after human tasks", "error", err)
		}
	}
}
