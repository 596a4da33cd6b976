package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// MaxFollowedTasks bounds the human tasks that MyTasks tells of one by one: those that are due first.
const MaxFollowedTasks = 50

// taskShare says that the human tasks of those who follow theirs are read for a quarter of the time at most, in equal
// parts for the accounts that have some to be read. Where many people of an account follow, and its tasks change all
// the time, each of these hears of changes later. Readers that have just come do not wait for that. The accounts are
// served round robin, so that none keeps another waiting for longer than one reading takes.
const taskShare = 4

// TaskNews is what a reader of MyTasks does not know yet.
type TaskNews struct {
	Counts  TaskCounts
	Changed []HumanTask              // that are new, or have changed; in the first event all
	Removed []chargehand.HumanTaskID // that are not among them any more
	More    bool                     // there are more than MaxFollowedTasks
}

// taskTopics reads the topics of human tasks, one after the other. Whether there is something to read, it asks once for
// all of them: how often the tasks of their environments have changed (store.Reader.TaskChanges). Its fields are
// guarded by live.mu.
type taskTopics struct {
	following atomic.Int64 // topics
	moved     atomic.Bool  // this process has changed tasks since the changes were read
	wake      chan struct{}
	running   bool
	changes   map[store.TaskScope]int64 // as they were read last
	checkedAt time.Time                 // when
	accounts  map[int64]*taskAccount    // those that have topics
	readings  uint64                    // counts them
	busy      int                       // accounts that had something to be read when it was looked last
}

// taskAccount is what an account has had of the readings.
type taskAccount struct {
	last uint64    // the number of its last reading, or of that before its first topic came
	rest time.Time // until when only readers that have just come are served
}

// mine is what a topic of human tasks is about. Its fields are guarded by live.mu.
type mine struct {
	scope     store.TaskScope
	principal *Principal
	asked     bool       // a reader has come since the last reading
	since     time.Time  // since when there is something to be read; zero: there is nothing
	changes   int64      // of the scope, before the last reading
	state     *taskState // nil: it was not read yet
}

// taskState is never changed.
type taskState struct {
	counts TaskCounts
	tasks  []topicTask // those that are due first
	more   bool
}

type topicTask struct {
	HumanTask
	round uint64 // in which it was read as it is now
}

// tasksTopic is MyTasks of a principal. Readers with the same rights share it.
func tasksTopic(p *Principal) Topic {
	sum := sha256.Sum256([]byte(fmt.Sprint(p.Environment, " ", p.actor(), " ", rightsOf(p))))
	return Topic{Kind: TopicTasks, ID: [16]byte(sum[:16])}
}

func (b *taskTopics) init() {
	b.wake, b.changes, b.accounts = make(chan struct{}, 1), make(map[store.TaskScope]int64), make(map[int64]*taskAccount)
}

// open begins a topic. It needs live.mu.
func (b *taskTopics) open(t *topic, p *Principal) {
	b.following.Add(1)
	t.mine = &mine{scope: store.TaskScope{Account: p.AccountNo, Environment: p.Environment}}
	t.stop = func() { b.following.Add(-1) }
}

// start has a topic read for a reader that has just come. It needs live.mu.
func (b *taskTopics) start(h *live, t *topic, p *Principal) {
	t.mine.principal = p // the newest one knows the newest workflows of its namespaces
	t.mine.asked = true
	if !b.running {
		b.running = true
		go h.readTaskTopics()
	}
	b.wakeUp()
}

func (b *taskTopics) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// tasksMoved notes that this process has changed human tasks. The store calls it, so it does not wait.
func (h *live) tasksMoved([]store.TaskScope) {
	if h.taskTopics.following.Load() > 0 && !h.taskTopics.moved.Swap(true) {
		h.taskTopics.wakeUp()
	}
}

// readTaskTopics reads topics of human tasks, while there are any.
func (h *live) readTaskTopics() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-h.taskTopics.wake:
		case <-timer.C:
		}
		for {
			h.checkTaskTopics(time.Now())
			t, next, more := h.dueTaskTopic(time.Now())
			if !more {
				return
			}
			if t == nil {
				timer.Reset(next)
				break
			}
			h.readTaskTopic(t)
		}
	}
}

// checkTaskTopics reads how often tasks have changed, if that is due, and notes which topics are.
func (h *live) checkTaskTopics(now time.Time) {
	b := &h.taskTopics
	h.mu.Lock()
	due := now.Sub(b.checkedAt) >= livePoll || b.moved.Load() && now.Sub(b.checkedAt) >= liveGap
	scopes := make([]store.TaskScope, 0, 2)
	for _, t := range h.topics {
		if t.mine == nil || slices.Contains(scopes, t.mine.scope) {
			continue
		}
		scopes = append(scopes, t.mine.scope)
		_, known := b.changes[t.mine.scope]
		due = due || !known
	}
	h.mu.Unlock()
	if !due || len(scopes) == 0 {
		return
	}
	b.moved.Store(false)
	var changes map[store.TaskScope]int64
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := h.s.view(ctx, func(r *store.Reader) (err error) {
		changes, err = r.TaskChanges(scopes)
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.checkedAt = now; err != nil {
		b.moved.Store(true) // once more
		return
	}
	clear(b.changes)
	for _, scope := range scopes {
		b.changes[scope] = changes[scope]
	}
	for _, t := range h.topics {
		if t.mine != nil && t.mine.state != nil && t.mine.changes != changes[t.mine.scope] {
			t.due = true
		}
	}
}

// of is what the account of a topic has had. It needs live.mu.
func (b *taskTopics) of(t *topic) *taskAccount {
	account := b.accounts[t.mine.scope.Account]
	if account == nil { // it comes after all others, also if it was here before
		account = &taskAccount{last: b.readings}
		b.accounts[t.mine.scope.Account] = account
	}
	return account
}

// dueTaskTopic returns the topic that is to be read now, as the reading that follows; if there is none, the time until
// another one may be. Of one account, those that have waited longest come first. more is false if there are no topics;
// then the goroutine ends.
func (h *live) dueTaskTopic(now time.Time) (found *topic, next time.Duration, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &h.taskTopics
	next = livePoll - now.Sub(b.checkedAt)
	if b.moved.Load() {
		next = liveGap - now.Sub(b.checkedAt)
	}
	here, busy := map[int64]bool{}, map[int64]bool{}
	for _, t := range h.topics {
		if t.mine == nil {
			continue
		}
		more = true
		account, owner := b.of(t), t.mine.scope.Account
		here[owner] = true
		if _, known := b.changes[t.mine.scope]; !known || !t.mine.asked && !t.due {
			continue // what is read before the changes are could miss one
		}
		busy[owner] = true
		if t.mine.since.IsZero() {
			t.mine.since = now
		}
		var wait time.Duration
		if !t.mine.asked {
			wait = max(liveGap-now.Sub(t.readAt), account.rest.Sub(now))
		}
		if wait > 0 {
			next = min(next, wait)
		} else if found == nil || cmp.Or(cmp.Compare(account.last, b.of(found).last), t.mine.since.Compare(found.mine.since)) < 0 {
			found = t
		}
	}
	maps.DeleteFunc(b.accounts, func(no int64, _ *taskAccount) bool { return !here[no] })
	if b.busy, b.running = len(busy), more; found != nil {
		b.readings++
		b.of(found).last = b.readings
	}
	return found, max(next, time.Millisecond), more
}

// begin notes that a topic is being read. It needs live.mu.
func (b *taskTopics) begin(t *topic) (asked bool) {
	asked = t.mine.asked
	t.due, t.mine.asked, t.mine.since = false, false, time.Time{}
	return asked
}

// end notes that a topic was read. Its account rests, unless it was read for a reader that had just come. It needs
// live.mu.
func (b *taskTopics) end(t *topic, asked bool, began, ended time.Time) {
	if t.readAt = ended; !asked {
		b.of(t).rest = ended.Add(time.Duration(taskShare*max(b.busy, 1)-1) * ended.Sub(began))
	}
}

// readTaskTopic reads the tasks of a topic and wakes its readers.
func (h *live) readTaskTopic(t *topic) {
	h.mu.Lock()
	h.round++
	round, was, p := h.round, t.mine.state, t.mine.principal
	changes := h.taskTopics.changes[t.mine.scope]
	asked := h.taskTopics.begin(t)
	h.mu.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var state *taskState
	err := h.s.view(ctx, func(r *store.Reader) (err error) {
		state, err = h.s.tasksFor(r, p, was, round)
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taskTopics.end(t, asked, began, time.Now())
	if err != nil {
		t.due = true // once more, but not at once
		t.readAt = t.readAt.Add(livePoll)
		var shown *chargehand.Error
		if !errors.As(err, &shown) {
			h.s.log.Warn("read human tasks for streams", "error", err)
		}
		return
	}
	t.readIn, t.mine.changes = round, changes
	if was == nil || !state.equal(was) {
		t.mine.state = state
		t.version++
	}
	t.tell()
}

// tasksFor reads the tasks that a principal may answer. Those that have not changed are as they were.
func (s *Service) tasksFor(r *store.Reader, p *Principal, was *taskState, round uint64) (*taskState, error) {
	v, err := s.viewTasks(r, p)
	if err != nil {
		return nil, err
	}
	state := &taskState{}
	if state.counts, err = s.countTasks(r, p, &v); err != nil {
		return nil, err
	}
	f := store.TaskFilter{Account: p.AccountNo, Environment: p.Environment, Candidates: v.who.candidates(), Sort: store.SortDue}
	rows, more, err := findTasks(r, &v, f, "", MaxFollowedTasks, s.examined)
	if err != nil {
		return nil, err
	}
	state.more = more != nil
	for i := range rows {
		t := topicTask{round: round}
		if known := was.find(rows[i].ID); known != nil && known.Step == rows[i].Step {
			t.HumanTask = known.HumanTask
			namespace, _, _ := strings.Cut(t.Name, "/")
			if t.Refused = v.who.refusal(p, t.Workflow, namespace, &rows[i]); t.Refused == known.Refused {
				t.round = known.round
			}
		} else if t.HumanTask, err = s.shownTask(r, p, &v.who, &rows[i]); err != nil {
			return nil, err
		}
		state.tasks = append(state.tasks, t)
	}
	return state, nil
}

func (s *taskState) find(id chargehand.HumanTaskID) *topicTask {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.tasks, func(t topicTask) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &s.tasks[i]
}

// equal reports whether two states of one topic are the same.
func (s *taskState) equal(o *taskState) bool {
	return s.counts == o.counts && s.more == o.more &&
		slices.EqualFunc(s.tasks, o.tasks, func(a, b topicTask) bool { return a.ID == b.ID && a.round == b.round })
}

// newsOfTasks is what the reader does not know of a state of its topic i, and notes that it does.
func (l *liveReader) newsOfTasks(i int, s *taskState) *TaskNews {
	news := &TaskNews{Counts: s.counts, More: s.more}
	known, now := l.sent[i], make(map[chargehand.HumanTaskID]uint64, len(s.tasks))
	for _, t := range s.tasks {
		if now[t.ID] = t.round; known[t.ID] != t.round {
			news.Changed = append(news.Changed, t.HumanTask)
		}
	}
	for id := range known {
		if _, there := now[id]; !there {
			news.Removed = append(news.Removed, id)
		}
	}
	if l.sent == nil {
		l.sent = make(map[int]map[chargehand.HumanTaskID]uint64, 1)
	}
	l.sent[i] = now
	return news
}
