package service

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// MaxBulkAnswers bounds the tasks that one request answers.
	MaxBulkAnswers = 1_000
	// bulkAnswersAtOnce are answered at the same time, each in a transaction of its own.
	bulkAnswersAtOnce = 8
)

// AnswerHumanTasks is the request to give many tasks the same answer. Body: ids or filter, outcome, data, comment.
type AnswerHumanTasks struct {
	Body value.Value
	// Filter is what the field `filter` says; nil: there is none.
	Filter      *ListHumanTasks
	Idempotency *Idempotency
}

// BulkAnswers is what came of it.
type BulkAnswers struct {
	Answered int            `json:"answered"`
	Failed   []FailedAnswer `json:"failed"` // in the order of the request
}

// FailedAnswer is a task that was not answered, and the code with which its answer was refused.
type FailedAnswer struct {
	ID   chargehand.HumanTaskID `json:"id"`
	Code chargehand.Code        `json:"code"`
}

// AnswerHumanTasks gives the tasks of a list, or those that a filter selects now, the same answer, each as
// AnswerHumanTask does, in a transaction of its own. When the storage fails between them, some are answered. A request
// that is repeated is about the tasks of the first one: it answers what the first has not come to.
// Codes: insufficient_scope, invalid_body, unknown_field, invalid_parameter, too_many_tasks (nothing was answered),
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) AnswerHumanTasks(ctx context.Context, p *Principal, q AnswerHumanTasks) (done BulkAnswers, replayed bool, err error) {
	return guarded(ctx, s, p, q.Idempotency,
		func(c *idempotencyGuard) (BulkAnswers, error) {
			given, tasks, err := s.bulkAnswer(ctx, p, &q)
			if err != nil {
				return BulkAnswers{}, err
			}
			if c == nil {
				return s.answerAll(ctx, p, given, tasks)
			}
			bulk := store.BulkAnswer{ID: newID[chargehand.HumanTaskID](s.nowMs()), Tasks: tasks, CreatedMs: c.row.CreatedMs}
			err = s.update(ctx, func(tx *store.Tx) error {
				if err := tx.InsertBulkAnswer(&bulk); err != nil {
					return err
				}
				return c.record(tx, statusOK, "bulk_answer", bulk.ID)
			})
			if err != nil {
				return BulkAnswers{}, err
			}
			return s.finishBulk(ctx, p, given, &bulk)
		},
		func(c *idempotencyGuard) (BulkAnswers, error) {
			given, _, err := readBulkAnswer(&q)
			if err != nil {
				return BulkAnswers{}, err
			}
			var bulk store.BulkAnswer
			err = s.view(ctx, func(r *store.Reader) (err error) {
				bulk, err = r.BulkAnswer(chargehand.HumanTaskID(c.found.Resource))
				return err
			})
			if err != nil {
				return BulkAnswers{}, err
			}
			if bulk.Result == nil {
				return s.finishBulk(ctx, p, given, &bulk)
			}
			err = json.Unmarshal(bulk.Result, &done)
			return done, err
		})
}

// bulkAnswer reads a request and finds its tasks.
func (s *Service) bulkAnswer(ctx context.Context, p *Principal, q *AnswerHumanTasks) (given givenAnswer, tasks []chargehand.HumanTaskID, err error) {
	if given, tasks, err = readBulkAnswer(q); err == nil && q.Filter != nil {
		tasks, err = s.selectTasks(ctx, p, q.Filter)
	}
	return given, tasks, err
}

// readBulkAnswer reads the body of a request. Codes: invalid_body, unknown_field, too_many_tasks.
func readBulkAnswer(q *AnswerHumanTasks) (given givenAnswer, tasks []chargehand.HumanTaskID, err error) {
	f, err := openBody(q.Body, "ids", "filter", "outcome", "data", "comment")
	if err != nil {
		return given, nil, err
	}
	given = f.answer()
	if list, _ := f.values["ids"].([]any); len(list) > MaxBulkAnswers {
		return given, nil, tooManyTasks("The request names " + strconv.Itoa(len(list)) + " tasks.")
	}
	tasks = f.taskIDs("ids")
	switch {
	case f.has("ids") && q.Filter != nil:
		f.fail("ids", "with_filter", `The fields "filter" and "ids" exclude each other: name tasks, or say which ones are meant.`)
	case !f.has("ids") && q.Filter == nil:
		f.fail("filter", "missing", `One of the fields "filter" and "ids" is needed. An empty filter stands for all open and claimed tasks.`)
	}
	if q.Filter != nil {
		for _, status := range q.Filter.Statuses {
			if status > store.TaskClaimed {
				f.failAt([]string{"filter", "status"}, "wrong_value", `The filter "status" can be open or claimed: other tasks have ended.`)
			}
		}
	}
	return given, tasks, f.err()
}

// taskIDs reads an array of ids, each of which is in it once; nil if absent.
func (f *fields) taskIDs(name string) []chargehand.HumanTaskID {
	texts := f.texts(name, MaxBulkAnswers)
	if f.has(name) && len(texts) == 0 && f.err() == nil {
		f.fail(name, "empty", "The list "+excerpt.Quote(name)+" must not be empty.")
	}
	ids, known := make([]chargehand.HumanTaskID, len(texts)), map[chargehand.HumanTaskID]bool{}
	for i, text := range texts {
		if _, isText := f.values[name].([]any)[i].(string); !isText {
			continue // which texts has said
		}
		err := ids[i].UnmarshalText([]byte(text))
		switch at := []string{name, strconv.Itoa(i)}; {
		case err != nil:
			f.failAt(at, "wrong_value", "The entry "+excerpt.Quote(text)+" is not the id of a human task, which is a UUID.")
		case known[ids[i]]:
			f.failAt(at, "twice", "The task "+excerpt.Quote(text)+" is named twice.")
		}
		known[ids[i]] = true
	}
	return ids
}

func tooManyTasks(detail string) error {
	return chargehand.NewError(chargehand.CodeTooManyTasks, detail+" One request answers at most "+strconv.Itoa(MaxBulkAnswers)+". Nothing was answered.")
}

// selectTasks are the open and claimed tasks that a filter selects of those that the principal sees. Codes:
// insufficient_scope, invalid_parameter, too_many_tasks.
func (s *Service) selectTasks(ctx context.Context, p *Principal, q *ListHumanTasks) (tasks []chargehand.HumanTaskID, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		tasks = nil
		v, err := s.viewTasks(r, p)
		if err != nil {
			return err
		}
		f, possible, err := s.taskFilter(r, p, &v, q)
		if err != nil || !possible {
			return err
		}
		rows, more, err := findTasks(r, &v, f, q.Search, MaxBulkAnswers, s.examined)
		switch {
		case err != nil:
			return err
		case more != nil && len(rows) < MaxBulkAnswers:
			return tooManyTasks("There are too many tasks to look through for the text. Filter them by something else too.")
		case more != nil:
			return tooManyTasks("The filter selects more than " + strconv.Itoa(len(rows)) + " tasks.")
		}
		for i := range rows {
			tasks = append(tasks, rows[i].ID)
		}
		return nil
	})
	return tasks, err
}

// finishBulk answers the tasks of a bulk answer and keeps what came of it.
func (s *Service) finishBulk(ctx context.Context, p *Principal, given givenAnswer, bulk *store.BulkAnswer) (BulkAnswers, error) {
	done, err := s.answerAll(ctx, p, given, bulk.Tasks)
	if err != nil {
		return done, err
	}
	result, err := json.Marshal(done)
	if err != nil {
		return done, err
	}
	return done, s.update(ctx, func(tx *store.Tx) error { return tx.FinishBulkAnswer(bulk.ID, result) })
}

// answerAll answers tasks, some at a time. The error is that of the storage or of ctx, with which it ends early.
func (s *Service) answerAll(ctx context.Context, p *Principal, given givenAnswer, tasks []chargehand.HumanTaskID) (BulkAnswers, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	codes := make([]chargehand.Code, len(tasks)) // empty: answered
	next := make(chan int)
	var working sync.WaitGroup
	for range min(bulkAnswersAtOnce, len(tasks)) {
		working.Go(func() {
			for i := range next {
				var err error
				if codes[i], err = s.answerOne(ctx, p, given, tasks[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range tasks {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	working.Wait()
	if ctx.Err() != nil {
		return BulkAnswers{}, bulkEnded(context.Cause(ctx))
	}
	done := BulkAnswers{Failed: []FailedAnswer{}}
	for i, code := range codes {
		if code == "" {
			done.Answered++
		} else {
			done.Failed = append(done.Failed, FailedAnswer{tasks[i], code})
		}
	}
	return done, nil
}

// bulkEnded is the error of a request that has ended before all of its tasks were answered.
func bulkEnded(cause error) error {
	var shown *chargehand.Error
	if !errors.As(cause, &shown) {
		return cause
	}
	return &unavailableError{
		shown: &chargehand.Error{
			Code: shown.Code, RetryAfter: shown.RetryAfter,
			Detail: "The storage cannot be used at the moment. Some of the tasks may have been answered: repeat the request.",
		},
		cause: cause,
	}
}

// answerOne answers one of many tasks. code is why it was refused; the error is that of the storage or of ctx.
func (s *Service) answerOne(ctx context.Context, p *Principal, given givenAnswer, id chargehand.HumanTaskID) (code chargehand.Code, err error) {
	err = s.answerTask(ctx, p, id, given, nil)
	var refused *chargehand.Error
	switch {
	case errors.Is(err, errTaskBusy):
		return chargehand.CodeUnavailable, nil
	case errors.As(err, &refused) && refused.Code != chargehand.CodeUnavailable && refused.Code != chargehand.CodeInternal:
		return refused.Code, nil
	}
	return "", err
}
