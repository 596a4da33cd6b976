package schedule

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// pageRows bounds the rows that are read at once, startsAtOnce what is started at once.
	pageRows     = 256
	startsAtOnce = 32
	// checkEvery is how often ends and events are looked for that something waits for, and
	// sharedEvery how often a node looks whether another one has published something.
	checkEvery  = 250 * time.Millisecond
	sharedEvery = 2 * time.Second
	// maxSleep bounds how long the scheduler sleeps, so that a step of the wall clock is noticed.
	maxSleep = time.Minute
	// leaseTime is how long other nodes wait for one that has died; leaseRest is when it is prolonged.
	leaseTime = 6 * time.Second
	leaseRest = 4 * time.Second
	// releaseTime bounds how long a node that stops takes to release its lease.
	releaseTime = time.Second
	// What could not be started is tried again after minRetry, doubled up to maxRetry.
	minRetry = 500 * time.Millisecond
	maxRetry = 30 * time.Second
)

// metaZone is the name under which the database keeps the time zone of the times of `cron`.
const metaZone = "schedule_zone"

// Firing is one start of a workflow that its schedule asks for.
type Firing struct {
	Schedule store.Schedule
	Plan     *plan.Plan
	Input    value.Value
	Starter  int64 // of the execution (store.Execution): of the events that start it
	Cause    store.Cause
	// InTx must be done in the transaction that accepts the execution. Its error undoes the
	// acceptance and must be returned.
	InTx func(tx *store.Tx, executionNo int64) error
}

// Starter starts executions in the live environment.
type Starter interface {
	StartFiring(ctx context.Context, r Firing) error
}

// Config configures a Scheduler. Store, Plans, Blobs and Starter are required.
type Config struct {
	Store   *store.Store
	Plans   engine.Plans
	Blobs   engine.Blobs // of large events
	Starter Starter
	Zone    *time.Location // of `cron`; default: UTC
	// Unread is the form of events where the definition does not say `read` (T61); default: data.
	Unread string
	// Shared tells that other nodes work on the same database.
	Shared bool
	Now    func() time.Time // default: time.Now
	Log    *slog.Logger     // default: discards
}

// Scheduler starts what is due. Make it with New. Notify is safe for concurrent use; everything
// else is for one goroutine.
type Scheduler struct {
	config   Config
	calendar calendar
	log      *slog.Logger
	node     [16]byte
	changed  chan struct{}

	zoned   bool // the times of `cron` are of our zone
	leaseMs int64
	// checkedMs is the time of the clock for which the last Step started what was due.
	checkedMs int64
	events    *follower

	mu       sync.Mutex
	troubles map[int64]*trouble // by number of the schedule
}

// trouble is a schedule that could not be handled.
type trouble struct {
	untilMs int64
	wait    time.Duration
}

// errLost says that another node, or a publication, was first.
var errLost = errors.New("the schedule was changed by another process")

// New returns a Scheduler that does nothing yet.
func New(c Config) *Scheduler {
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.Unread == "" {
		c.Unread = dsl.ReadData
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{
		config: c, calendar: calendar{c.Zone}, log: c.Log, changed: make(chan struct{}, 1), troubles: map[int64]*trouble{},
	}
	s.events = newFollower(s)
	rand.Read(s.node[:])
	return s
}

// Notify makes Run look at once: something was published, or an event was stored.
func (s *Scheduler) Notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Run starts what is due until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	clock := time.NewTimer(0)
	defer clock.Stop()
	failing := false
	for ctx.Err() == nil {
		wait, err := s.Step(ctx)
		if err != nil && ctx.Err() == nil {
			if !failing {
				s.log.Warn("schedules cannot be looked at; what is due is started later", "error", err)
			}
			wait = minRetry
		}
		failing = err != nil
		clock.Reset(wait)
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-clock.C:
		}
	}
	s.releaseLease(context.WithoutCancel(ctx))
}

// Step starts what is due now and tells how long there is nothing to do. Errors:
// store.ErrUnavailable.
func (s *Scheduler) Step(ctx context.Context) (time.Duration, error) {
	// What becomes due from here on is looked at next time.
	s.checkedMs = s.nowMs()
	agenda, err := s.agenda(ctx)
	if err != nil {
		return 0, err
	}
	if !agenda.Any {
		return s.sleep(agenda), nil
	}
	if mine, err := s.lease(ctx); err != nil || !mine {
		return sharedEvery, err
	}
	if err := s.useZone(ctx); err != nil {
		return 0, err
	}
	if agenda.Awaits {
		if err := s.checkEnds(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.startDue(ctx); err != nil {
		return 0, err
	}
	// The first check of a row may have shown that it listens.
	if agenda, err = s.agenda(ctx); err != nil {
		return 0, err
	}
	if agenda.Listens {
		if err := s.events.step(ctx); err != nil {
			return 0, err
		}
		if agenda, err = s.agenda(ctx); err != nil {
			return 0, err
		}
	}
	return s.sleep(agenda), nil
}

func (s *Scheduler) nowMs() int64 { return s.config.Now().UnixMilli() }

func (s *Scheduler) agenda(ctx context.Context) (a store.Agenda, err error) {
	err = s.config.Store.View(ctx, func(r *store.Reader) (err error) {
		a, err = r.Agenda(s.checkedMs)
		return err
	})
	return a, err
}

// sleep is how long there is nothing to do.
func (s *Scheduler) sleep(a store.Agenda) time.Duration {
	wait, nowMs := maxSleep, s.nowMs()
	if s.config.Shared {
		wait = sharedEvery
	}
	if a.Awaits || a.Listens {
		wait = checkEvery
	}
	until := a.NextMs
	if s.events.behind {
		until = nowMs
	}
	s.mu.Lock()
	for no, t := range s.troubles {
		switch {
		case t.untilMs > nowMs:
			until = min(until, t.untilMs)
		case nowMs-t.untilMs > 2*maxRetry.Milliseconds():
			delete(s.troubles, no) // its schedule is gone
		default:
			wait = min(wait, checkEvery)
		}
	}
	s.mu.Unlock()
	if until-nowMs < wait.Milliseconds() {
		wait = time.Duration(max(until-nowMs, 1)) * time.Millisecond
	}
	return wait
}

// lease keeps other nodes from doing the same work, and reports whether it is this one's.
func (s *Scheduler) lease(ctx context.Context) (mine bool, err error) {
	if !s.config.Shared {
		return true, nil
	}
	nowMs := s.nowMs()
	if rest := s.leaseMs - nowMs; rest > leaseRest.Milliseconds() && rest <= leaseTime.Milliseconds() {
		return true, nil
	}
	untilMs := nowMs + leaseTime.Milliseconds()
	err = s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.TakeLease("schedule", s.node, nowMs, untilMs) })
	if errors.Is(err, store.ErrConflict) {
		s.leaseMs = 0
		s.events.forget() // another node moves the rows now
		return false, nil
	}
	if err == nil {
		s.leaseMs = untilMs
	}
	return err == nil, err
}

// releaseLease lets another node continue at once.
func (s *Scheduler) releaseLease(ctx context.Context) {
	if s.leaseMs == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	nowMs := s.nowMs()
	err := s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.TakeLease("schedule", s.node, nowMs, nowMs-1) })
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		s.log.Warn("let another node look after schedules", "error", err)
	}
}

// useZone makes the times of `cron` be those of our time zone.
func (s *Scheduler) useZone(ctx context.Context) error {
	if s.zoned {
		return nil
	}
	zone := []byte(s.config.Zone.String())
	err := s.config.Store.Update(ctx, func(tx *store.Tx) error {
		known, err := tx.Meta(metaZone)
		if err == nil && string(known) == string(zone) {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := tx.ForgetCronTimes(); err != nil {
			return err
		}
		return tx.SetMeta(metaZone, zone)
	})
	s.zoned = err == nil
	return err
}

// checkEnds continues with `after` where its run has ended.
func (s *Scheduler) checkEnds(ctx context.Context) error {
	for {
		var ended []store.ScheduleEnd
		err := s.config.Store.View(ctx, func(r *store.Reader) (err error) {
			ended, err = r.EndedSchedules(pageRows)
			return err
		})
		if err != nil {
			return err
		}
		moved := 0
		for i := range ended {
			if s.troubled(ended[i].No) {
				continue
			}
			err := s.end(ctx, &ended[i])
			if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
				return err
			}
			s.record(&ended[i].Schedule, err)
			if err == nil {
				moved++
			}
		}
		if moved == 0 || len(ended) < pageRows {
			return nil
		}
	}
}

func (s *Scheduler) end(ctx context.Context, e *store.ScheduleEnd) error {
	p, err := s.config.Plans.Plan(ctx, e.Revision)
	if err != nil {
		return err
	}
	next := s.calendar.ended(e.Schedule, scheduleOf(p), e.EndedMs, s.nowMs())
	return lost(s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.MoveSchedule(&next) }))
}

// scheduleOf is the schedule of a plan; one without times if there is none.
func scheduleOf(p *plan.Plan) *plan.Schedule {
	if p.Schedule == nil {
		return &plan.Schedule{}
	}
	return p.Schedule
}
