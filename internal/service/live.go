package service

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
)

// How often a topic is read: at most once in liveGap, and never more than a tenth of the time. Where other processes
// move executions on, once in livePoll; else when the engine tells, and once in liveCheck, to notice deletions.
const (
	liveGap   = 100 * time.Millisecond
	livePoll  = time.Second
	liveCheck = 15 * time.Second
	liveShare = 10
	liveRest  = 10 * time.Millisecond // between two looks at all topics
)

// liveTimelines is how many timelines are read at once for streams.
const liveTimelines = 4

// live reads what streams follow: every topic once for all its readers, and the rows of all topics of a kind together.
type live struct {
	s         *Service
	slow      time.Duration // slowSend, less in tests
	timelines chan struct{} // a permit for each timeline that is read

	mu         sync.Mutex
	topics     map[Topic]*topic
	open       map[streamOwner]int // streams
	shares     map[streamAccount]int
	total      int    // streams
	round      uint64 // counts the readings
	running    bool
	taskTopics taskTopics
	wake       chan struct{} // has room for one: a topic is due
}

// topic is what is known of a topic. Its fields are guarded by live.mu.
type topic struct {
	followed
	readers  map[*liveReader]struct{}
	stop     func()      // of engine.Follow
	notifies bool        // the engine reports changes
	moved    atomic.Bool // it has reported one since topics were looked through

	due    bool // something may have changed since the last reading began
	readAt time.Time
	cost   time.Duration
	readIn uint64 // the last round in which it was read; 0: it was not

	version   uint64 // counts the changes
	row       any    // what was read, to compare
	execution *snapshot
	batch     *Batch
	gone      bool
	final     bool // nothing will change any more

	tasks *taskLog // nil: no reader wants task events
	mine  *mine    // of TopicTasks
}

// liveReader is one stream. Its fields belong to the goroutine of the stream.
type liveReader struct {
	live   *live
	view   View
	notify chan struct{} // has room for one: there may be news
	topics []*topic
	seen   []uint64 // the version of each topic that was sent last; 0: none
	first  uint64   // the round from which on states are fresh
	tasks  *taskReader
	// sent are the human tasks that the reader knows of, and of each the round in which it was read so; by the number of
	// the topic.
	sent map[int]map[chargehand.HumanTaskID]uint64
}

func (h *live) init(s *Service) {
	h.slow = slowSend
	h.s, h.timelines, h.wake = s, make(chan struct{}, liveTimelines), make(chan struct{}, 1)
	h.topics, h.open = make(map[Topic]*topic), make(map[streamOwner]int)
	h.shares = make(map[streamAccount]int)
	h.taskTopics.init()
	s.store.OnTasks(h.tasksMoved)
}

// join makes a reader of some topics, which p has found.
func (h *live) join(p *Principal, topics []followed, tasks *taskReader, v View) *liveReader {
	l := &liveReader{live: h, view: v, notify: make(chan struct{}, 1), seen: make([]uint64, len(topics)), tasks: tasks}
	h.mu.Lock()
	defer h.mu.Unlock()
	l.first = h.round + 1
	for _, f := range topics {
		t := h.topics[f.Topic]
		if t == nil {
			t = &topic{followed: f, readers: make(map[*liveReader]struct{})}
			h.topics[f.Topic] = t
			if f.Kind == TopicTasks {
				h.taskTopics.open(t, p)
			} else {
				t.stop, t.notifies = h.s.engine.Follow(f.ID, func() { h.moved(t) })
			}
		}
		t.readers[l] = struct{}{}
		t.due = true
		if t.mine != nil {
			h.taskTopics.start(h, t, p)
		}
		if tasks != nil && t.tasks == nil {
			t.tasks = &taskLog{due: true}
		}
		l.topics = append(l.topics, t)
	}
	if !h.running {
		h.running = true
		go h.run()
	}
	h.wakeUp()
	return l
}

func (h *live) leave(l *liveReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range l.topics {
		if delete(t.readers, l); len(t.readers) == 0 {
			t.stop()
			delete(h.topics, t.Topic)
		}
	}
	h.wakeUp()
	h.taskTopics.wakeUp()
}

// moved notes that something of a topic may have changed. The engine calls it, so it does not wait.
func (h *live) moved(t *topic) {
	if !t.moved.Swap(true) {
		h.wakeUp()
	}
}

func (h *live) wakeUp() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run reads topics that are due, while there are any topics.
func (h *live) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for last := (time.Time{}); ; last = time.Now() {
		select {
		case <-h.wake:
			if rest := liveRest - time.Since(last); rest > 0 {
				time.Sleep(rest)
			}
		case <-timer.C:
		}
		due, next, more := h.dueTopics(time.Now())
		if !more {
			return
		}
		if len(due) > 0 {
			h.read(due)
		}
		timer.Reset(next)
	}
}

// dueTopics returns the topics that are to be read now, and the time until others may be due. It starts to read the
// timelines that are due. more is false if there are no topics; then the goroutine ends.
func (h *live) dueTopics(now time.Time) (due []*topic, next time.Duration, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) == 0 {
		h.running = false
		return nil, 0, false
	}
	h.round++
	next = liveCheck
	for _, t := range h.topics {
		if t.mine != nil {
			continue // readTaskTopics reads these
		}
		if t.moved.Swap(false) {
			t.due = true
			if t.tasks != nil {
				t.tasks.due = true
			}
		}
		every := livePoll
		if t.notifies {
			every = liveCheck
		}
		if !t.final && now.Sub(t.readAt) >= every {
			t.due = true
			if t.tasks != nil && !t.notifies {
				t.tasks.due = true
			}
		}
		if wait := max(liveGap, t.cost*liveShare) - now.Sub(t.readAt); t.due && wait <= 0 {
			t.due = false
			t.readAt = now
			due = append(due, t)
		} else if t.due {
			next = min(next, wait)
		}
		if !t.final {
			next = min(next, every-now.Sub(t.readAt))
		}
		if t.tasks != nil {
			next = min(next, h.readTasksOf(t, now))
		}
	}
	return due, max(next, time.Millisecond), true
}

// publish hands over what was read, and wakes the readers.
func (h *live) publish(due []*topic, known map[Topic]found, err error, round uint64, cost time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range due {
		if err != nil {
			t.due = true // once more
			continue
		}
		f, exists := known[t.Topic]
		t.readIn, t.cost = round, cost
		switch {
		case !exists && !t.gone:
			t.gone, t.final = true, true
			t.version++
		case exists && (t.version == 0 || !reflect.DeepEqual(t.row, f.row)):
			t.row, t.execution, t.batch = f.row, f.execution, f.batch
			t.version++
			if f.final && !t.final && t.tasks != nil {
				t.tasks.due = true // for the last ones
			}
			t.final = f.final
		}
		t.tell()
	}
}

// tell wakes the readers of a topic. It needs live.mu.
func (t *topic) tell() {
	for l := range t.readers {
		select {
		case l.notify <- struct{}{}:
		default:
		}
	}
}

// changed reports whether a reader has not sent the state of its topic i. It needs live.mu.
func (l *liveReader) changed(i int) bool {
	t := l.topics[i]
	return t.readIn >= l.first && t.version != l.seen[i]
}

// news is what the reader has not sent yet. end says that nothing else will come.
func (l *liveReader) news(ctx context.Context) (events []StreamEvent, end *StreamEnd, err error) {
	var shown []found
	var which []Topic
	l.live.mu.Lock()
	over, gone := true, true
	for i, t := range l.topics {
		if l.changed(i) {
			l.seen[i] = t.version
			f := found{execution: t.execution, batch: t.batch}
			if t.mine != nil {
				f.mine, f.at = t.mine.state, i
			}
			if t.gone {
				f = found{}
			}
			shown, which = append(shown, f), append(which, t.Topic)
		}
		over = over && t.final && l.seen[i] == t.version
		gone = gone && t.gone
	}
	l.live.mu.Unlock()
	for i, f := range shown {
		if f.mine != nil {
			events = append(events, StreamEvent{Topic: which[i], Tasks: l.newsOfTasks(f.at, f.mine)})
			continue
		}
		e := StreamEvent{Topic: which[i], Batch: f.batch, Gone: f.execution == nil && f.batch == nil}
		if f.execution != nil {
			if e.Execution, err = l.live.s.show(f.execution, l.view); err != nil {
				return nil, nil, err
			}
		}
		events = append(events, e)
	}
	if over && gone {
		return events, &StreamEnd{Reason: EndGone, Detail: "It was deleted."}, nil
	}
	if l.tasks != nil && l.seen[0] != 0 {
		more, done, err := l.taskNews(ctx)
		if err != nil {
			return nil, nil, err
		}
		if events = append(events, more...); !done {
			over = false
		}
	}
	if over {
		end = &StreamEnd{Reason: EndComplete, Detail: "Nothing else will happen."}
	}
	return events, end, nil
}

// openPhase is that of a task that has started.
const openPhase = chargehand.Running
