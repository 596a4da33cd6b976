package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/value"
)

// TestBoundsOfAnswers: each field of an answer, and of what else is said about a task, has a bound and a clear error
// at its place, which does not repeat what was too long.
func TestBoundsOfAnswers(t *testing.T) {
	fx := newHumanFixture(t)
	id := fx.open(map[string]any{"form": map[string]any{"type": "object"}, "upload": map[string]any{"max": 100}, "answer_by_event": true})
	long := strings.Repeat("x", 300<<10)
	list := func(n int, of string) []any {
		l := make([]any, n)
		for i := range l {
			l[i] = of
		}
		return l
	}
	ctx := t.Context()
	answer := func(body value.Value) error {
		_, _, err := fx.AnswerHumanTask(ctx, fx.p, AnswerHumanTask{Task: id, Body: body})
		return err
	}
	event := func(data value.Value) error {
		_, err := fx.PublishEvents(ctx, fx.p, answering("1", id.String(), data))
		return err
	}
	bulk := func(body map[string]any) error {
		body["ids"] = []any{id.String()}
		_, _, err := fx.AnswerHumanTasks(ctx, fx.p, AnswerHumanTasks{Body: body})
		return err
	}
	draft := func(body value.Value) error {
		_, err := fx.PutHumanTaskDraft(ctx, fx.p, id, body)
		return err
	}
	link := func(body value.Value) error {
		_, _, err := fx.LinkHumanTask(ctx, fx.p, LinkHumanTask{Task: id, Body: body})
		return err
	}
	comment := func(body value.Value) error {
		_, _, err := fx.CommentHumanTask(ctx, fx.p, id, body, nil)
		return err
	}
	reassign := func(body value.Value) error {
		_, err := fx.ReassignHumanTask(ctx, fx.p, id, body)
		return err
	}
	take := func(body value.Value) error {
		_, err := fx.ClaimHumanTask(ctx, fx.p, id, body)
		return err
	}
	type body = map[string]any
	for name, c := range map[string]struct {
		err     error
		pointer string
	}{
		"outcome":                  {answer(body{"outcome": long}), "/outcome"},
		"data":                     {answer(body{"outcome": "done", "data": body{"a": long}}), "/data"},
		"comment":                  {answer(body{"outcome": "done", "comment": long}), "/comment"},
		"file":                     {answer(body{"outcome": "done", "data": body{}, "files": []any{"x", long}}), "/files/1"},
		"files":                    {answer(body{"outcome": "done", "files": list(human.MaxFiles+1, "x")}), "/files"},
		"on_behalf_of":             {answer(body{"outcome": "done", "on_behalf_of": long}), "/on_behalf_of"},
		"a name":                   {answer(body{"outcome": "done", long: 1}), ""},
		"outcome of an event":      {event(body{"outcome": long}), "/data/outcome"},
		"data of an event":         {event(body{"outcome": "done", "data": long}), "/data/data"},
		"comment of an event":      {event(body{"outcome": "done", "comment": long}), "/data/comment"},
		"file of an event":         {event(body{"outcome": "done", "files": []any{long}}), "/data/files/0"},
		"outcome of many":          {bulk(body{"outcome": long}), "/outcome"},
		"data of many":             {bulk(body{"outcome": "done", "data": long}), "/data"},
		"comment of many":          {bulk(body{"outcome": "done", "comment": long}), "/comment"},
		"outcome of a draft":       {draft(body{"outcome": long}), "/outcome"},
		"data of a draft":          {draft(body{"data": long}), ""},
		"file of a draft":          {draft(body{"files": []any{long}}), "/files/0"},
		"a comment":                {comment(body{"text": long}), "/text"},
		"name of a link":           {link(body{"name": long}), "/name"},
		"address of a link":        {link(body{"name": "A", "email": long + "@example.org"}), "/email"},
		"life of a link":           {link(body{"name": "A", "expires_in": long}), "/expires_in"},
		"user of a reassignment":   {reassign(body{"users": []any{long}}), "/users"},
		"users of a reassignment":  {reassign(body{"users": list(101, "a@example.org")}), "/users"},
		"groups of a reassignment": {reassign(body{"groups": []any{long}}), "/groups"},
		"to take it":               {take(body{"force": long}), "/force"},
		"unknown field":            {take(body{long: true}), ""},
	} {
		var refused *chargehand.Error
		if !errors.As(c.err, &refused) {
			t.Errorf("%s: %v", name, c.err)
			continue
		}
		switch refused.Code {
		case chargehand.CodeInvalidBody, chargehand.CodeUnknownField, chargehand.CodePayloadTooLarge:
		default:
			t.Errorf("%s: %s", name, refused.Code)
		}
		if c.pointer != "" && (len(refused.Fields) == 0 || refused.Fields[0].Pointer != c.pointer) {
			t.Errorf("%s: %+v, want %s", name, refused.Fields, c.pointer)
		}
		size := len(refused.Detail)
		for _, f := range refused.Fields {
			size += len(f.Detail) + len(f.Pointer)
		}
		if size > 2_000 {
			t.Errorf("%s: the error has %d bytes", name, size)
		}
	}
}
