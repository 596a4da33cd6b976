package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// AnswerByLink is the answer to a task by the holder of a link.
type AnswerByLink struct {
	Secret           string
	Outcome, Comment string
	Data             value.Value // nil: there is no form
	Files            []string    // ids of uploads, for the files of the answer
	Uploads          []string    // texts of all uploads that the answer may refer to
}

// body is the answer as one of the API. Codes: invalid_body.
func (q *AnswerByLink) body() (givenAnswer, error) {
	fields := map[string]any{"outcome": q.Outcome}
	if q.Comment != "" {
		fields["comment"] = q.Comment
	}
	if q.Data != nil {
		fields["data"] = q.Data
	}
	files := make([]any, len(q.Files))
	for i, id := range q.Files {
		files[i] = id
	}
	if len(files) > 0 {
		fields["files"] = files
	}
	return readAnswer(fields)
}

// AnswerTaskByLink answers a task as the addressee of a link. The same answer by the same link again changes nothing.
// Codes: task_link_not_found, not_assigned, excluded, claimed_by_other, invalid_body, answer_invalid, answer_conflict,
// task_withdrawn, state_conflict (the link was revoked, has expired, or its addressee may not answer any more).
func (s *Service) AnswerTaskByLink(ctx context.Context, q AnswerByLink) error {
	body, err := q.body()
	if err != nil {
		return err
	}
	for range maxAnswerTries {
		if err := s.answerByLink(ctx, &q, body); !errors.Is(err, errTaskChanged) {
			return err
		}
	}
	return &chargehand.Error{Code: chargehand.CodeUnavailable, Detail: "The task changes too often at the moment. Nothing was answered.", RetryAfter: 1}
}

// answerByLink tries once to answer a task. Errors: errTaskChanged: read the task again.
func (s *Service) answerByLink(ctx context.Context, q *AnswerByLink, body givenAnswer) error {
	o, err := s.openLink(ctx, q.Secret)
	if err != nil {
		return err
	}
	switch o.state {
	case LinkRevoked, LinkReplaced, LinkExpired, LinkRefused:
		return linkEnded()
	case LinkTaken: // the holder of a link does not learn by whom
		return chargehand.NewError(chargehand.CodeClaimedByOther, "Another person works on the task.")
	case LinkAnswered: // nor by whom, or what the answer was
		return chargehand.NewError(chargehand.CodeAnswerConflict, "The task was answered in another way, at "+o.at.Format(time.RFC3339)+".")
	}
	p, _, err := s.linkAnswerer(ctx, &o, q)
	if err != nil {
		return err
	}
	return s.answerAs(ctx, p, o.task, &o.who, body, func(tx *store.Tx) error {
		again := openedLink{task: o.task} // as it was before the answer
		if again.link, err = tx.TaskLinkByID(o.task.No, o.link.ID); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		if err := s.judgeLink(&tx.Reader, &again); err != nil {
			return err
		}
		if again.state != LinkOpen {
			return linkEnded()
		}
		return nil
	})
}

// linkAnswerer is the holder of a link. The holder may use the files of the execution that the form is filled with, and
// those of an answer that were uploaded by the link.
func (s *Service) linkAnswerer(ctx context.Context, o *openedLink, q *AnswerByLink) (*Principal, human.Request, error) {
	request, err := s.taskRequest(ctx, &o.task)
	if err != nil {
		return nil, request, err
	}
	var files []chargehand.FileID
	err = s.view(ctx, func(r *store.Reader) error {
		known, err := filesOfExecution(r, &o.task, request.Data)
		files = slices.Collect(maps.Keys(known))
		return err
	})
	if err != nil {
		return nil, request, err
	}
	for id := range s.uploadsOf(o, q.Uploads) {
		files = append(files, id)
	}
	return o.principal(files), request, nil
}

// CheckAnswerByLink says whether an answer would be valid, and changes nothing. Without an outcome, those are not
// looked at. Codes: task_link_not_found, invalid_body, answer_invalid, state_conflict (the task cannot be answered by
// the link, not even when another person has released it).
func (s *Service) CheckAnswerByLink(ctx context.Context, q AnswerByLink) error {
	o, err := s.openLink(ctx, q.Secret)
	if err != nil {
		return err
	}
	if o.state != LinkOpen && o.state != LinkTaken {
		return linkEnded()
	}
	p, request, err := s.linkAnswerer(ctx, &o, &q)
	if err != nil {
		return err
	}
	if q.Outcome == "" {
		q.Outcome = request.Outcomes[0].Name
	}
	body, err := q.body()
	if err != nil {
		return err
	}
	_, _, err = s.checkAnswer(ctx, p, &request, body)
	return err
}

func linkEnded() error {
	return stateConflict("The task cannot be answered by this link any more.")
}
