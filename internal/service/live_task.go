package service

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
)

// Of the task events of an execution, the newest are kept for its readers. One who is further behind gets its events
// from the timeline, some at a time, until it has reached those. The details of errors can be large: with them, events
// are also bounded in bytes, those that are kept and those that are sent at a time, but for one.
const (
	keptTaskEvents = 2_000
	taskEventPage  = 500
	taskEventBytes = 512 << 10
)

// taskLog is the newest task events of a topic. Its fields are guarded by live.mu.
type taskLog struct {
	due     bool
	reading bool
	readAt  time.Time
	cost    time.Duration
	read    bool        // at least once
	final   bool        // it was read after the execution had ended
	list    []taskEvent // the newest, by their last number, without holes
	floor   int64       // the number before the first of list
}

// taskEvent is a task event, or the gap in place of some.
type taskEvent struct {
	from, to int64 // numbers
	task     *TaskEvent
}

// bytes is about the room that an event takes.
func (e *taskEvent) bytes() int {
	n := 256
	if e.task != nil && e.task.Error != nil {
		f := e.task.Error
		n += len(f.Type) + len(f.Title) + len(f.Detail) + len(f.Instance)
	}
	return n
}

// newest is how many events at the end of a list are kept.
func newest(list []taskEvent) (n int) {
	for size := 0; n < min(len(list), keptTaskEvents); n++ {
		if size += list[len(list)-1-n].bytes(); n > 0 && size > taskEventBytes {
			break
		}
	}
	return n
}

// firstPage is how many events at the beginning of a list are sent at a time.
func firstPage(list []taskEvent) (n int) {
	for size := 0; n < min(len(list), taskEventPage); n++ {
		if size += list[n].bytes(); n > 0 && size > taskEventBytes {
			break
		}
	}
	return n
}

// taskReader is how far a reader has read. It belongs to the goroutine of its stream.
type taskReader struct{ after int64 }

// readTasksOf starts to read the timeline of a topic if that is due, and returns the time until it may be. It needs
// live.mu.
func (h *live) readTasksOf(t *topic, now time.Time) (next time.Duration) {
	log := t.tasks
	if !log.due || log.reading || log.final {
		return liveCheck
	}
	if wait := max(liveGap, log.cost*liveShare) - now.Sub(log.readAt); wait > 0 {
		return wait
	}
	log.due, log.reading, log.readAt = false, true, now
	final := t.final
	go h.readTasks(t, final)
	return liveCheck
}

// readTasks reads the timeline of a topic for all its readers. It does not read that of a topic that its last reader
// has left while other timelines were read: no reader waits for it, and those of others would have to.
func (h *live) readTasks(t *topic, final bool) {
	h.timelines <- struct{}{}
	defer func() { <-h.timelines }()
	h.mu.Lock()
	left := len(t.readers) == 0 // a new reader has a new topic
	h.mu.Unlock()
	if left {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	began := time.Now()
	list, err := h.s.taskEvents(ctx, t.no, final)
	h.mu.Lock()
	defer h.mu.Unlock()
	log := t.tasks
	log.reading, log.cost = false, time.Since(began)
	if err != nil {
		// An execution that is gone has no timeline: its row says so. Else once more, but not at once.
		log.due, log.readAt = true, time.Now().Add(livePoll)
		h.s.log.Warn("read a timeline for streams", "error", err)
	} else {
		log.read, log.final = true, final
		log.floor = 0
		if n := len(list) - newest(list); n > 0 {
			log.floor = list[n-1].to
			list = slices.Clone(list[n:])
		}
		log.list = list
	}
	h.wakeUp()
	t.tell()
}

// taskEvents reads all task events that are kept of an execution, by number. Where some are missing there is a gap,
// unless they may be there later. final says that the execution had ended before, so nothing comes later.
func (s *Service) taskEvents(ctx context.Context, no int64, final bool) ([]taskEvent, error) {
	timeline, err := s.engine.Timeline(ctx, no)
	if err != nil {
		return nil, err
	}
	entries := timeline.Records
	numbered := make([]taskEvent, 0, 2*len(entries))
	for i := range entries {
		e := &entries[i]
		if e.StartedNo > 0 {
			numbered = append(numbered, taskEventOf(e, false))
		}
		if e.EndedNo > 0 {
			numbered = append(numbered, taskEventOf(e, true))
		}
	}
	slices.SortFunc(numbered, func(a, b taskEvent) int { return int(a.to - b.to) })
	lost := final || !timeline.Moving
	list := make([]taskEvent, 0, len(numbered))
	var last int64
	for _, e := range numbered {
		if e.from > last+1 {
			if !lost {
				break // the next reading has them, or knows that they are lost
			}
			list = append(list, taskEvent{from: last + 1, to: e.from - 1})
		}
		list, last = append(list, e), e.to
	}
	return list, nil
}

func taskEventOf(e *machine.Record, ended bool) taskEvent {
	t := &TaskEvent{
		No: int64(e.StartedNo), At: atMs(e.StartedMs), Seq: int64(e.Seq), Parent: int64(e.Parent),
		Name: e.Name, Kind: e.Kind().String(), Reference: e.Reference, Iterations: e.Iterations, Attempt: e.Attempt, Phase: openPhase,
	}
	if ended {
		t.No, t.At, t.Ended, t.Phase = int64(e.EndedNo), atMs(e.EndedMs), true, e.Phase
		if e.Fault != nil {
			t.Error = shownFault(engine.DescribeFault(e.Fault))
		}
	}
	return taskEvent{from: t.No, to: t.No, task: t}
}

// taskNews is the next task events. done says that the execution has ended and all were sent.
func (l *liveReader) taskNews(ctx context.Context) (events []StreamEvent, done bool, err error) {
	t := l.topics[0]
	l.live.mu.Lock()
	log := *t.tasks // its list is not changed any more
	l.live.mu.Unlock()
	if !log.read {
		return nil, false, nil
	}
	list := log.list
	if l.tasks.after < log.floor {
		if list, err = l.live.olderTasks(ctx, t, log.final); err != nil {
			return nil, false, err
		}
	}
	list = list[sort.Search(len(list), func(i int) bool { return list[i].to > l.tasks.after }):]
	page := list[:firstPage(list)]
	for _, e := range page {
		shown := StreamEvent{Topic: t.Topic, Task: e.task}
		if e.task == nil {
			shown.Gap = &Gap{From: max(e.from, l.tasks.after+1), To: e.to}
		}
		events = append(events, shown)
		l.tasks.after = e.to
	}
	return events, log.final && len(page) == len(list) && l.tasks.after >= log.floor, nil
}

// olderTasks reads all task events again, for a reader that is behind those that are kept in memory.
func (h *live) olderTasks(ctx context.Context, t *topic, final bool) ([]taskEvent, error) {
	select {
	case h.timelines <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-h.timelines }()
	list, err := h.s.taskEvents(ctx, t.no, final)
	var unavailable *unavailableError
	if err = storageError(err); errors.As(err, &unavailable) {
		err = &StreamEnd{Reason: EndUnavailable, Detail: unavailable.shown.Detail, Reconnect: true}
	}
	return list, err
}
