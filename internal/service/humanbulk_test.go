package service

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// bulk answers many tasks at once.
func (fx *humanFixture) bulk(p *Principal, q AnswerHumanTasks) (BulkAnswers, bool, error) {
	body := map[string]any{"outcome": "done"}
	given, _ := q.Body.(map[string]any)
	for name, v := range given {
		body[name] = v
	}
	q.Body = body
	return fx.AnswerHumanTasks(fx.t.Context(), p, q)
}

func idsOf(tasks ...chargehand.HumanTaskID) map[string]any {
	list := make([]any, len(tasks))
	for i, id := range tasks {
		list[i] = id.String()
	}
	return map[string]any{"ids": list}
}

// Each of many tasks is answered as if it were the only one.
func TestAnswerManyHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	ada, bob := fx.as("ada", "operator"), fx.as("bob", "operator")
	form := map[string]any{"type": "object", "required": []any{"total"}}
	free, another := fx.open(nil), fx.open(nil)
	claimed, asks := fx.open(nil), fx.open(map[string]any{"form": form})
	if _, err := fx.ClaimHumanTask(t.Context(), bob, claimed, nil); err != nil {
		t.Fatal(err)
	}
	answered := fx.open(map[string]any{"outcomes": []any{"done", "refused"}})
	if err := fx.answer(bob, answered, map[string]any{"outcome": "refused"}); err != nil {
		t.Fatal(err)
	}
	of := fx.open(map[string]any{"assignees": people([]any{"bob@example.org"}, nil, nil)})
	not := fx.open(map[string]any{"assignees": people(nil, nil, []any{"ada@example.org"})})
	none := newID[chargehand.HumanTaskID](1)
	want := BulkAnswers{Answered: 2, Failed: []FailedAnswer{
		{claimed, chargehand.CodeClaimedByOther}, {asks, chargehand.CodeAnswerInvalid}, {answered, chargehand.CodeAnswerConflict},
		{of, chargehand.CodeNotAssigned}, {not, chargehand.CodeExcluded}, {none, chargehand.CodeHumanTaskNotFound},
	}}
	for range 2 { // the same again changes nothing
		got, replayed, err := fx.bulk(ada, AnswerHumanTasks{Body: idsOf(claimed, free, asks, answered, of, not, another, none)})
		if err != nil || replayed || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %t, %v; want %+v", got, replayed, err, want)
		}
	}
	for _, id := range []chargehand.HumanTaskID{free, another} {
		if shown, err := fx.GetHumanTask(t.Context(), ada, id); err != nil || shown.Status != "answered" || shown.Full.Answer.By.Name != "ada" {
			t.Errorf("%+v, %v", shown, err)
		}
	}
	got, _, err := fx.bulk(ada, AnswerHumanTasks{Filter: &ListHumanTasks{Execution: fx.e.ID}, Body: map[string]any{"data": map[string]any{"total": 1}}})
	want = BulkAnswers{Answered: 1, Failed: []FailedAnswer{
		{claimed, chargehand.CodeClaimedByOther}, {of, chargehand.CodeNotAssigned}, {not, chargehand.CodeExcluded},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("by filter: %+v, %v; want %+v", got, err, want)
	}
	got, _, err = fx.bulk(bob, AnswerHumanTasks{Filter: &ListHumanTasks{Assignee: "me"}})
	if err != nil || got.Answered != 2 || len(got.Failed) != 0 {
		t.Errorf("mine: %+v, %v", got, err)
	}
	got, _, err = fx.bulk(bob, AnswerHumanTasks{Filter: &ListHumanTasks{Search: "none"}})
	if err != nil || got.Answered != 0 || got.Failed == nil {
		t.Errorf("none: %+v, %v", got, err)
	}
}

func TestRequestsToAnswerManyHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	fx.open(nil)
	id := newID[chargehand.HumanTaskID](1).String()
	for name, c := range map[string]struct {
		q       AnswerHumanTasks
		code    chargehand.Code
		pointer string
	}{
		"neither":         {AnswerHumanTasks{}, chargehand.CodeInvalidBody, "/filter"},
		"both":            {AnswerHumanTasks{Body: map[string]any{"ids": []any{id}}, Filter: &ListHumanTasks{}}, chargehand.CodeInvalidBody, "/ids"},
		"no ids":          {AnswerHumanTasks{Body: map[string]any{"ids": []any{}}}, chargehand.CodeInvalidBody, "/ids"},
		"an id twice":     {AnswerHumanTasks{Body: map[string]any{"ids": []any{id, strings.ToUpper(id)}}}, chargehand.CodeInvalidBody, "/ids/1"},
		"no id":           {AnswerHumanTasks{Body: map[string]any{"ids": []any{"x"}}}, chargehand.CodeInvalidBody, "/ids/0"},
		"an empty id":     {AnswerHumanTasks{Body: map[string]any{"ids": []any{id, ""}}}, chargehand.CodeInvalidBody, "/ids/1"},
		"a number":        {AnswerHumanTasks{Body: map[string]any{"ids": []any{id, 1}}}, chargehand.CodeInvalidBody, "/ids/1"},
		"no outcome":      {AnswerHumanTasks{Body: map[string]any{"ids": []any{id}, "outcome": 1}}, chargehand.CodeInvalidBody, "/outcome"},
		"files":           {AnswerHumanTasks{Body: map[string]any{"ids": []any{id}, "files": []any{}}}, chargehand.CodeUnknownField, "/files"},
		"ended ones":      {AnswerHumanTasks{Filter: &ListHumanTasks{Statuses: []store.TaskStatus{store.TaskAnswered}}}, chargehand.CodeInvalidBody, "/filter/status"},
		"two assignments": {AnswerHumanTasks{Filter: &ListHumanTasks{Assignee: "me", Unassigned: true}}, chargehand.CodeInvalidParameter, ""},
	} {
		_, _, err := fx.bulk(fx.p, c.q)
		refused := wantCode(t, err, c.code)
		if c.pointer != "" {
			wantPointers(t, refused, c.pointer)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// With more tasks than one request answers, none is answered.
func TestTooManyTasksToAnswer(t *testing.T) {
	fx := newHumanFixture(t)
	list := make([]any, MaxBulkAnswers+1)
	for i := range list {
		list[i] = newID[chargehand.HumanTaskID](int64(i + 1)).String()
	}
	for i := range list {
		fx.open(map[string]any{"title": fmt.Sprintf("%d of many", i)})
	}
	for name, q := range map[string]AnswerHumanTasks{
		"by ids":    {Body: map[string]any{"ids": list}},
		"by filter": {Filter: &ListHumanTasks{}},
		"by text":   {Filter: &ListHumanTasks{Search: "many"}},
	} {
		_, _, err := fx.bulk(fx.p, q)
		wantCode(t, err, chargehand.CodeTooManyTasks)
		if counts, err := fx.CountHumanTasks(t.Context(), fx.p); err != nil || counts.All.Count != MaxBulkAnswers+1 {
			t.Errorf("%s: %+v, %v", name, counts, err)
		}
	}
	fx.examined = 500
	_, _, err := fx.bulk(fx.p, AnswerHumanTasks{Filter: &ListHumanTasks{Search: "1000 of many"}})
	wantCode(t, err, chargehand.CodeTooManyTasks)
	fx.examined = 50_000
	got, _, err := fx.bulk(fx.p, AnswerHumanTasks{Filter: &ListHumanTasks{Search: "7 of many"}})
	if err != nil || got.Answered != 100 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A repeated request is about the tasks of the first one, which may not have come to all of them.
func TestRepeatedBulkAnswer(t *testing.T) {
	fx := newHumanFixture(t)
	for range 20 {
		fx.open(nil)
	}
	key := &Idempotency{Method: "POST", Path: "/human-tasks/answer", Key: "k", BodyHash: [32]byte{1}}
	q := AnswerHumanTasks{Filter: &ListHumanTasks{}, Idempotency: key}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	first := fx.open(map[string]any{"title": "first", "due": "PT1M"})
	fx.engine.answered = func() { cancel(gone) }
	_, _, err := fx.AnswerHumanTasks(ctx, fx.p, AnswerHumanTasks{Filter: q.Filter, Idempotency: key, Body: map[string]any{"outcome": "done"}})
	if !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
		t.Fatalf("the broken request: %v", err)
	}
	fx.engine.answered = nil
	if open := fx.titles(fx.p, ListHumanTasks{}); len(open) == 0 || len(open) > 20 {
		t.Fatalf("%d tasks are open after the broken request", len(open))
	}
	later := fx.open(map[string]any{"title": "later"})
	for range 2 {
		got, replayed, err := fx.bulk(fx.p, q)
		if err != nil || !replayed || got.Answered != 21 || len(got.Failed) != 0 {
			t.Errorf("repeated: %+v, %t, %v", got, replayed, err)
		}
	}
	if open := fx.titles(fx.p, ListHumanTasks{}); !slices.Equal(open, []string{"later"}) {
		t.Errorf("open: %q", open)
	}
	other := *key
	other.BodyHash = [32]byte{2}
	q.Idempotency = &other
	_, _, err = fx.bulk(fx.p, q)
	wantCode(t, err, chargehand.CodeIdempotencyKeyReused)

	got, replayed, err := fx.bulk(fx.p, AnswerHumanTasks{Body: idsOf(first, later), Idempotency: &Idempotency{Method: "POST", Path: "/human-tasks/answer", Key: "l"}})
	if err != nil || replayed || got.Answered != 2 {
		t.Errorf("with another key: %+v, %t, %v", got, replayed, err)
	}
	fx.pass(25 * time.Hour)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = fx.db.DB.View(t.Context(), func(c store.Conn) error {
		return c.Query(`SELECT COUNT(*) FROM bulk_answer`, func(r store.Row) error {
			if r.Int(0) != 0 {
				t.Errorf("%d bulk answers are kept", r.Int(0))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
