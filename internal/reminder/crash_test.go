package reminder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

// leaseOver is longer than the lease of a mail that a process was sending when it died.
const leaseOver = 5 * time.Minute

// TestCrashAfterEveryCommit: a task is opened, its people are reminded, one claims it, it becomes overdue, and is
// answered or withdrawn. Whichever commit the process dies at, before or after it was written, each of this happens
// once, and no mail is lost; only the one that was being sent may come twice, and then with the same Message-ID.
func TestCrashAfterEveryCommit(t *testing.T) {
	each(t, func(f *fixture) {
		l := &lives{fixture: f, ada: f.person("Ada")}
		first, step := sample.Every(f.T, 4)
		for _, ending := range []string{"answered", "withdrawn"} {
			for _, written := range []bool{false, true} {
				for k := first; ; k += step {
					whole := l.live(ending, k, written)
					if f.Failed() {
						f.Fatalf("at commit %d of a task that is %s, written: %t", k, ending, written)
					}
					if !whole {
						continue
					}
					if k < 15 {
						f.Errorf("there were only %d commits", k-1)
					}
					break
				}
			}
		}
		l.processes.Wait()
		l.wantMails()
		f.Logf("%d lives of tasks, %d mails", len(l.titles), len(f.server.Mails()))
	})
}

// lives are those of tasks, one after the other, each with a crash.
type lives struct {
	*fixture
	ada       store.Person
	titles    []string
	processes sync.WaitGroup // also those that have died: what they were sending may still arrive
}

// process is one of the installation. When it has died, it writes nothing more.
type process struct {
	db     *brokenDB
	store  *store.Store
	worker *Worker
	stop   context.CancelFunc
}

// start starts a process that dies at its k-th commit (0: never) and sends mail by itself.
func (l *lives) start(k int, written bool) *process {
	l.Helper()
	p := &process{db: &brokenDB{DB: l.raw}}
	p.db.breakAt(int64(k), written)
	p.store = store.New(p.db)
	outbox := l.outboxOn(p.store)
	p.worker = New(Config{Store: p.store, Mail: outbox, Now: l.now, Log: slog.New(slog.NewTextHandler(&l.log, nil))})
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	l.processes.Go(func() { outbox.Run(ctx) })
	return p
}

// work does all that is to be done now, until the mail server has every mail.
func (l *lives) work(p *process) error {
	l.Helper()
	if err := l.stepAll(p.worker); err != nil {
		return err
	}
	l.eventually("the outbox is empty, or the process has died", func() bool { return p.db.died.Load() || l.inOutbox() == 0 })
	if p.db.died.Load() {
		return store.ErrUnavailable
	}
	return nil
}

// live runs a task through its life. The process dies at its k-th commit, and another one continues. It reports that
// there was no k-th commit.
func (l *lives) live(ending string, k int, written bool) (whole bool) {
	l.Helper()
	before := len(l.facts())
	execution := l.newExecution(l.workflow, chargehand.Live)
	task := l.task(execution, users("ada@example.org"))
	task.Title = fmt.Sprintf("Task %d", len(l.titles))
	l.titles = append(l.titles, task.Title)
	start := l.now()
	remind := start.Add(time.Hour).UnixMilli()
	task.DueMs = start.Add(2 * time.Hour).UnixMilli()
	claimant := -l.ada.No // as store.Execution.StartedBy
	p := l.start(k, written)
	defer func() { p.stop() }()
	// act changes the task, unless it has ended: that was before the crash.
	act := func(do func(tx *store.Tx, h *store.HumanTask) error) func() error {
		return func() error {
			err := p.store.Update(context.Background(), func(tx *store.Tx) error {
				h, err := tx.HumanTaskOf(execution.No, task.Command)
				if err != nil {
					return err
				}
				return do(tx, &h)
			})
			if errors.Is(err, store.ErrConflict) {
				return nil
			}
			return err
		}
	}
	work := func() error { return l.work(p) }
	after := func(d time.Duration) func() error {
		return func() error { l.clock.Store(int64(start.Add(d).Sub(epoch))); return nil }
	}
	end := act(func(tx *store.Tx, h *store.HumanTask) error {
		return tx.AnswerTask(h, claimant, engine.Inline("yes"), l.now().UnixMilli(), true)
	})
	if ending == "withdrawn" {
		end = act(func(tx *store.Tx, h *store.HumanTask) error {
			_, err := tx.WithdrawTask(execution.No, h.Command, 2, l.now().UnixMilli())
			return err
		})
	}
	opens := func() error {
		err := p.store.Update(context.Background(), func(tx *store.Tx) error {
			h := task
			return tx.OpenTask(&h, engine.Candidates(h.Assignees), remind)
		})
		if errors.Is(err, store.ErrConflict) {
			return nil
		}
		return err
	}
	claims := act(func(tx *store.Tx, h *store.HumanTask) error {
		if h.Claimant == claimant {
			return nil
		}
		return tx.ClaimTask(h, claimant, l.ada.ID.String())
	})
	// Each step does nothing where it was done before the crash.
	steps := []func() error{
		opens, work, after(90 * time.Minute), work, claims, work, after(150 * time.Minute), work, end, work,
	}
	whole = true
	for i := 0; i < len(steps); {
		err := steps[i]()
		if err == nil {
			i++
			continue
		}
		if !whole || !errors.Is(err, store.ErrUnavailable) {
			l.Fatal(err)
		}
		whole = false
		p.stop()
		l.advance(leaseOver)
		p = l.start(0, false)
	}
	l.wantLife(task, ending, l.facts()[before:])
	return whole && !p.db.died.Load()
}

// wantLife: the task has ended, and each fact was published once.
func (l *lives) wantLife(task store.HumanTask, ending string, facts []string) {
	l.Helper()
	var row store.HumanTask
	l.view(func(r *store.Reader) (err error) {
		row, err = r.HumanTaskOf(task.Execution, task.Command)
		return err
	})
	want, claimant := store.TaskAnswered, -l.ada.No
	if ending == "withdrawn" {
		want, claimant = store.TaskWithdrawn, 0
	}
	if row.Status != want || row.Claimant != claimant {
		l.Errorf("the task is %v, claimed by %d", row.Status, row.Claimant)
	}
	slices.Sort(facts)
	var all []string
	for _, kind := range []string{ending, "opened", "overdue", "reminded"} {
		all = append(all, fmt.Sprintf("task.%s %d", kind, row.No))
	}
	slices.Sort(all)
	if !slices.Equal(facts, all) {
		l.Errorf("facts are %q, want %q", facts, all)
	}
	if n := l.waiting(); n != 0 {
		l.Errorf("%d mails wait\n%s", n, l.log.String())
	}
}

// wantMails: of each task, the three mails came. At most one of them came twice.
func (l *lives) wantMails() {
	l.Helper()
	came := map[string]map[string][]string{} // subjects by title, with the ids of the mails
	for _, m := range l.server.Mails() {
		kind, title, _ := strings.Cut(subject(l.fixture, &m), ": ")
		if came[title] == nil {
			came[title] = map[string][]string{}
		}
		came[title][kind] = append(came[title][kind], m.Header.Get("Message-Id"))
	}
	twice := 0
	for _, title := range l.titles {
		mails := 0
		for kind, ids := range came[title] {
			if mails += len(ids); len(slices.Compact(slices.Clone(ids))) != 1 {
				l.Errorf("of %s, mails %q have the ids %q", title, kind, ids)
			}
		}
		if len(came[title]) != 3 || mails > 4 {
			l.Errorf("of %s came %q", title, came[title])
		}
		twice += mails - len(came[title])
	}
	if twice == 0 && sample.Full() { // the crash between the answer of the mail server and the note of it
		l.Error("no mail was sent twice: was none being sent when a process died?")
	}
	if len(came) != len(l.titles) {
		l.Errorf("mails came about %d tasks, want %d", len(came), len(l.titles))
	}
}
