package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// MaxTopics is how many topics one stream follows.
const MaxTopics = 20

// idleStream is after how long a stream without news sends something nevertheless, so that both sides notice when the
// other one is gone.
const idleStream = 15 * time.Second

// TopicKind says what a topic is the state of.
type TopicKind uint8

// The kinds of topics.
const (
	TopicExecution TopicKind = 1 + iota
	TopicBatch
	TopicTasks
)

// Topic is something whose state a stream follows.
type Topic struct {
	Kind TopicKind
	ID   [16]byte // of the execution or batch; of TopicTasks whose they are, and what they may do (tasksTopic)
}

// MyTasks is the topic of the human tasks of the principal that follows it.
var MyTasks = Topic{Kind: TopicTasks}

// StreamEvent is one piece of news. One of the fields after Topic is set.
type StreamEvent struct {
	Topic     Topic
	Execution *Execution // its state, as in lists: without output
	Batch     *Batch     // its state, without entries
	Tasks     *TaskNews  // human tasks of the principal
	Task      *TaskEvent // a task of the execution has started or ended
	Gap       *Gap       // numbers of task events that are not kept
	Gone      bool       // it was deleted
}

// TaskEvent is the start or the end of a task. It is shared by all readers.
type TaskEvent struct {
	No         int64 // numbers the starts and ends of an execution from 1, without gaps
	At         time.Time
	Ended      bool
	Seq        int64 // of the entry in the timeline
	Parent     int64 // Seq of the task that it is a part of; 0: none
	Name       string
	Kind       string // keyword of the task
	Reference  string // JSON pointer of the task (T2)
	Iterations []int  // the index in each loop around the task, the outermost first; never changed
	Attempt    int
	Phase      chargehand.Phase // running at the start
	Error      *ExecutionError  // of a task that faulted
}

// Gap says that the task events with numbers from From to To are not kept any more.
type Gap struct{ From, To int64 }

// Why a stream ends.
const (
	EndComplete    = "complete"    // everything has ended that it follows
	EndGone        = "gone"        // what it follows was deleted
	EndRevoked     = "revoked"     // the key or session has ended, or its rights have changed
	EndSlow        = "slow"        // the reader is too slow
	EndStopping    = "stopping"    // the server stops
	EndUnavailable = "unavailable" // the storage cannot be used
)

// StreamEnd is the error with which every stream ends that has begun.
type StreamEnd struct {
	Reason    string
	Detail    string
	Reconnect bool // a new stream may continue where this one ends
}

func (e *StreamEnd) Error() string { return e.Detail }

// FollowExecution is the request to follow one execution with the starts and ends of its tasks.
type FollowExecution struct {
	Workflow  chargehand.WorkflowID
	Execution chargehand.ExecutionID
	After     int64 // the number of the task event before the first that is wanted; 0: from the first
	View      View
}

// FollowExecution calls send with the state of an execution, then with every task event after the one that is known,
// each once and in order, and with each change of the state, until the execution has ended. send is called without
// events when there was no news for a while; its error ends the stream. A stream that has begun ends with a *StreamEnd,
// with the error of send, or with the cause of ctx. It does not count as a use of the key or session.
// Codes: execution_not_found, quota_exceeded, unavailable.
func (s *Service) FollowExecution(ctx context.Context, p *Principal, r FollowExecution, send func([]StreamEvent) error) error {
	var row store.Execution
	err := s.view(ctx, func(reader *store.Reader) (err error) {
		row, err = s.findExecution(reader, p, r.Workflow, r.Execution)
		return err
	})
	if err != nil {
		return err
	}
	return s.follow(ctx, p, r.View, []followed{{Topic{TopicExecution, row.ID}, row.No}}, &taskReader{after: r.After}, send)
}

// FollowBatch is Follow of one batch under its workflow. Codes: batch_not_found, quota_exceeded, unavailable.
func (s *Service) FollowBatch(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID, v View, send func([]StreamEvent) error) error {
	var row store.Batch
	err := s.view(ctx, func(r *store.Reader) (err error) {
		row, err = s.findBatch(r, p, workflow, id)
		return err
	})
	if err != nil {
		return err
	}
	return s.follow(ctx, p, v, []followed{{Topic{TopicBatch, row.ID}, row.No}}, nil, send)
}

// Follow calls send with the states of some topics, and then with each change of one, until all have ended. Of changes
// that follow each other fast, some are left out. The rest is as in FollowExecution.
// The first event of MyTasks holds all of them, the others what has changed.
// Codes: execution_not_found, batch_not_found, insufficient_scope, quota_exceeded, unavailable.
func (s *Service) Follow(ctx context.Context, p *Principal, topics []Topic, v View, send func([]StreamEvent) error) error {
	var found []followed
	err := s.view(ctx, func(r *store.Reader) error {
		found = found[:0]
		for _, t := range topics {
			if t.Kind == TopicTasks {
				if _, err := s.viewTasks(r, p); err != nil {
					return err
				}
				found = append(found, followed{Topic: tasksTopic(p)})
				continue
			}
			no, err := s.findTopic(r, p, t)
			if err != nil {
				return err
			}
			found = append(found, followed{t, no})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.follow(ctx, p, v, found, nil, send)
}

// followed is a topic and the number of its row.
type followed struct {
	Topic
	no int64
}

// findTopic finds the row of a topic that the principal may see. Codes: execution_not_found, batch_not_found.
func (s *Service) findTopic(r *store.Reader, p *Principal, t Topic) (no int64, err error) {
	var workflow, by int64
	notFound := executionNotFound
	if t.Kind == TopicBatch {
		notFound = batchNotFound
		row, err := r.BatchByID(p.AccountNo, p.Environment, t.ID)
		if err != nil {
			return 0, notFoundIs(err, notFound)
		}
		no, workflow, by = row.No, row.Workflow, row.StartedBy
	} else {
		row, err := r.ExecutionByID(p.AccountNo, p.Environment, t.ID)
		if err != nil {
			return 0, notFoundIs(err, notFound)
		}
		no, workflow, by = row.No, row.Workflow, row.StartedBy
	}
	id, err := s.names.workflow(r, workflow)
	if err == nil && !p.seesStarted(id, by) {
		err = notFound()
	}
	return no, err
}

// follow serves one reader until its stream ends.
func (s *Service) follow(ctx context.Context, p *Principal, v View, topics []followed, tasks *taskReader, send func([]StreamEvent) error) error {
	leave, err := s.live.admit(p)
	if err != nil {
		return err
	}
	defer leave()
	ctx, release := s.Hold(ctx, p)
	defer release()
	l := s.live.join(p, topics, tasks, v)
	defer s.live.leave(l)
	idle := time.NewTimer(idleStream)
	defer idle.Stop()
	for {
		events, end, err := l.news(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if len(events) > 0 {
			began := time.Now()
			if err := send(events); err != nil {
				return err
			}
			if end == nil && time.Since(began) > s.live.slow {
				return errSlow
			}
			idle.Reset(idleStream)
		}
		if end != nil {
			return end
		}
		if len(events) > 0 && ctx.Err() == nil {
			continue // there may be more
		}
		select {
		case <-l.notify:
		case <-idle.C:
			if err := send(nil); err != nil {
				return err
			}
			idle.Reset(idleStream)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// slowSend is how long a reader takes at most for what is sent at once.
const slowSend = 10 * time.Second

// errSlow ends the stream of a reader that took longer.
var errSlow = &StreamEnd{Reason: EndSlow, Detail: "The stream was read too slowly. Connect again to continue where it ends.", Reconnect: true}

// streamOwner is who a stream counts for: the person, or the key.
type streamOwner struct{ account, actor int64 }

// streamAccount is an account in an environment. It has streamShare times as many streams as are free at most, so that
// others always find some.
type streamAccount struct {
	account     int64
	environment chargehand.Environment
}

const streamShare = 3

// admit counts a stream. Codes: quota_exceeded, unavailable.
func (h *live) admit(p *Principal) (leave func(), err error) {
	limits, owner, share := h.s.limits, streamOwner{p.AccountNo, p.actor()}, streamAccount{p.AccountNo, p.Environment}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.open[owner] >= limits.EventStreamsPerKey:
		return nil, &chargehand.Error{
			Code: chargehand.CodeQuotaExceeded, RetryAfter: 5,
			Detail: "The API key or person has as many streams of events open as it may have (event_streams_per_key). Close one, or follow several topics with one stream.",
		}
	case h.total >= limits.EventStreams:
		return nil, &chargehand.Error{
			Code: chargehand.CodeUnavailable, RetryAfter: 5,
			Detail: "The server has as many streams of events open as it may have (event_streams).",
		}
	case h.shares[share] >= streamShare*(limits.EventStreams-h.total):
		return nil, &chargehand.Error{
			Code: chargehand.CodeQuotaExceeded, RetryAfter: 5,
			Detail: "The account has as many streams of events open in this environment as leave room for others: three quarters of what others leave (event_streams).",
		}
	}
	h.open[owner]++
	h.shares[share]++
	h.total++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.total--
		if h.shares[share]--; h.shares[share] == 0 {
			delete(h.shares, share)
		}
		if h.open[owner]--; h.open[owner] == 0 {
			delete(h.open, owner)
		}
	}, nil
}
