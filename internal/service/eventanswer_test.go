package service

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// answering is an event that answers a task, and the request to publish it.
func answering(id, subject string, data value.Value) PublishEvents {
	return PublishEvents{Body: map[string]any{
		"specversion": "1.0", "id": id, "source": "/desk", "type": answerEvent, "subject": subject, "data": data,
	}}
}

// TestAnswersByEvents: what decides about an answer is the same as by the API; the event is only the way.
func TestAnswersByEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		form := map[string]any{"type": "object", "required": []any{"total"}}
		id := fx.open(map[string]any{"answer_by_event": true, "form": form, "outcomes": []any{"approve", "reject"}})
		deaf := fx.open(map[string]any{})
		publish := func(p *Principal, q PublishEvents) error {
			_, err := fx.PublishEvents(t.Context(), p, q)
			return err
		}
		yes := map[string]any{"outcome": "approve", "data": map[string]any{"total": 5}}
		poor := *fx.p
		poor.Scopes = ScopeEventsWrite
		moved := fx.open(map[string]any{"answer_by_event": true})
		if _, err := fx.ReassignHumanTask(t.Context(), fx.p, moved, map[string]any{"users": []any{"bob@example.org"}}); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			p       *Principal
			q       PublishEvents
			want    chargehand.Code
			pointer string
		}{
			"wrong data":             {fx.p, answering("1", id.String(), map[string]any{"outcome": "approve", "data": map[string]any{}}), chargehand.CodeAnswerInvalid, "/data/data/total"},
			"no outcome":             {fx.p, answering("1", id.String(), map[string]any{}), chargehand.CodeInvalidBody, "/data/outcome"},
			"another outcome":        {fx.p, answering("1", id.String(), map[string]any{"outcome": "maybe", "data": yes["data"]}), chargehand.CodeAnswerInvalid, "/data/outcome"},
			"no data":                {fx.p, answering("1", id.String(), nil), chargehand.CodeInvalidBody, "/data/outcome"},
			"a text":                 {fx.p, answering("1", id.String(), "yes"), chargehand.CodeInvalidBody, "/data"},
			"in the name of another": {fx.p, answering("1", id.String(), map[string]any{"outcome": "approve", "on_behalf_of": "a@example.org"}), chargehand.CodeUnknownField, "/data/on_behalf_of"},
			"without tasks:respond":  {&poor, answering("1", id.String(), yes), chargehand.CodeInsufficientScope, ""},
			"not said so":            {fx.p, answering("1", deaf.String(), map[string]any{"outcome": "done"}), chargehand.CodeNotAssigned, ""},
			"reassigned":             {fx.p, answering("1", moved.String(), map[string]any{"outcome": "done"}), chargehand.CodeNotAssigned, ""},
			"of another environment": {fx.test, answering("1", id.String(), yes), chargehand.CodeHumanTaskNotFound, ""},
			"among others":           {fx.p, PublishEvents{Batch: true, Body: []any{answering("1", "else", 1).Body, answering("2", id.String(), yes).Body}}, chargehand.CodeInvalidBody, "/1/type"},
		} {
			err := wantCode(t, publish(c.p, c.q), c.want)
			if c.pointer != "" && (len(err.Fields) == 0 || err.Fields[0].Pointer != c.pointer) {
				t.Errorf("%s: %+v, want %s", name, err.Fields, c.pointer)
			}
		}
		if shown, err := fx.GetHumanTask(t.Context(), fx.p, id); err != nil || shown.Status != "open" {
			t.Fatalf("%+v, %v", shown, err)
		}
		for _, event := range []string{"7", "7", "8"} { // the same again changes nothing
			if err := publish(fx.p, answering(event, id.String(), yes)); err != nil {
				t.Fatal(err)
			}
		}
		shown, err := fx.GetHumanTask(t.Context(), fx.p, id)
		if err != nil || shown.Status != "answered" {
			t.Fatalf("%+v, %v", shown, err)
		}
		if by := shown.Full.Answer.By; by.ID != fx.p.ActorID() || by.Via.Kind != "event" || by.Via.ID != "7" {
			t.Errorf("answered by %+v", by)
		}
		wantCode(t, publish(fx.p, answering("9", id.String(), map[string]any{"outcome": "reject", "data": yes["data"]})), chargehand.CodeAnswerConflict)

		// A person who publishes is the one that answers: the exclusion of the answer is that of the person.
		ada := fx.as("ada", "operator")
		id = fx.open(map[string]any{"answer_by_event": true})
		if err := publish(ada, answering("10", id.String(), map[string]any{"outcome": "done"})); err != nil {
			t.Fatal(err)
		}
		next := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(id)})})
		wantCode(t, fx.answer(ada, next, map[string]any{}), chargehand.CodeExcluded)

		// Without an id as subject it is an event like any other.
		if err := publish(&poor, answering("11", fx.e.ID.String()+"/do/0/ask", yes)); err != nil {
			t.Error(err)
		}
		gone := fx.open(map[string]any{"answer_by_event": true})
		err = fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, gone)
			if err == nil {
				_, err = tx.WithdrawTask(row.Execution, row.Command, 1, fx.nowMs())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, publish(fx.p, answering("12", gone.String(), map[string]any{"outcome": "done"})), chargehand.CodeTaskWithdrawn)
	})
}
