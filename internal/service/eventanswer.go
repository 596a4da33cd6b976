package service

import (
	"context"
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/store"
)

// answerEvent is the type of events that answer human tasks, as the function of the default catalog names it. Where the
// subject is no id, the event is one like any other: the function has run as it is written then.
const answerEvent = "io.chargehand.human.completed.v1"

// AnsweredTask finds the human task that an event is an answer to.
func AnsweredTask(event map[string]any) (id chargehand.HumanTaskID, ok bool) {
	subject, _ := event["subject"].(string)
	return id, event["type"] == answerEvent && id.UnmarshalText([]byte(subject)) == nil
}

// answerByEvent answers a human task with the data of an event, instead of storing that. The principal answers, as it
// would by AnswerHumanTask. Codes: those of AnswerHumanTask.
func (s *Service) answerByEvent(ctx context.Context, p *Principal, id chargehand.HumanTaskID, event map[string]any, c *idempotencyGuard) error {
	f, err := openBody(event["data"], "outcome", "data", "comment", "files")
	if err != nil {
		return inData(err)
	}
	given := f.answer()
	given.files = f.shortTexts("files", human.MaxFiles)
	if err := f.err(); err != nil {
		return inData(err)
	}
	for range maxAnswerTries {
		if err := s.tryAnswerByEvent(ctx, p, id, event["id"].(string), given, c); !errors.Is(err, errTaskChanged) {
			return inData(err)
		}
	}
	return errTaskBusy
}

// tryAnswerByEvent tries once. Errors: errTaskChanged: read the task again.
func (s *Service) tryAnswerByEvent(
	ctx context.Context, p *Principal, id chargehand.HumanTaskID, event string, given givenAnswer, c *idempotencyGuard,
) error {
	row, who, err := s.taskFor(ctx, p, id, "")
	if err != nil {
		return err
	}
	request, err := s.taskRequest(ctx, &row)
	if err != nil {
		return err
	}
	if !request.AnswerByEvent || isRestricted(&row) { // it may have been reassigned
		return chargehand.NewError(chargehand.CodeNotAssigned, "The task takes no answers by events. Its definition would have to say answer_by_event, and it must be for all people.")
	}
	who.via = human.Via{Kind: human.ViaEvent, ID: event}
	return s.answerAs(ctx, p, row, &who, given, func(tx *store.Tx) error { return c.record(tx, statusAccepted, "events", [16]byte{}) })
}

// inData has an error about an answer point into the data of its event.
func inData(err error) error {
	var e *chargehand.Error
	if !errors.As(err, &e) || !slices.ContainsFunc(e.Fields, func(f chargehand.FieldError) bool { return f.Parameter == "" }) {
		return err
	}
	moved := *e
	moved.Fields = slices.Clone(e.Fields)
	for i := range moved.Fields {
		if f := &moved.Fields[i]; f.Parameter == "" {
			f.Pointer = "/data" + f.Pointer
		}
	}
	return &moved
}
