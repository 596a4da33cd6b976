package service

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
)

// TestReservedTypes: no event from outside is a forged fact of the service.
func TestReservedTypes(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	event := func(id, kind string) map[string]any {
		return map[string]any{"specversion": "1.0", "id": id, "source": "/forge", "type": kind}
	}
	publish := func(body any) error {
		_, batch := body.([]any)
		_, err := fx.PublishEvents(t.Context(), fx.p, PublishEvents{Body: body, Batch: batch})
		return err
	}
	refused := func(body any, pointers ...string) {
		t.Helper()
		err := wantCode(t, publish(body), chargehand.CodeInvalidBody)
		if len(err.Fields) != len(pointers) {
			t.Fatalf("%+v, want %v", err.Fields, pointers)
		}
		for i, f := range err.Fields {
			if f.Pointer != pointers[i] || f.Code != "reserved_type" {
				t.Errorf("%+v, want %s", f, pointers[i])
			}
		}
	}
	for _, kind := range []string{
		"io.chargehand.human.requested.v1", "io.chargehand.task.answered", "io.chargehand.", "IO.Chargehand.task.opened", answerEvent + "x",
		"io.chargehand.human.completed.v2", "io.chargehand.human.Completed.v1",
	} {
		refused(event("1", kind), "/type")
	}
	refused([]any{event("1", "order"), event("2", "io.chargehand.task.opened"), event("3", "io.chargehand.x")}, "/1/type", "/2/type")
	for i, kind := range []string{"io.chargehand", "io.chargehands.order", "x.io.chargehand.y"} {
		if err := publish(event(string(rune('a'+i)), kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// The lifecycle events of other runtimes are welcome, as long as those of this one are not among them.
	for i, kind := range []string{"io.serverlessworkflow.workflow.completed.v1", "io.serverlessworkflow.task.started.v1"} {
		if err := publish(event(string(rune('p'+i)), kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	fx.lifecycle = "org.example"
	for _, kind := range []string{"org.example.workflow.completed.v1", "org.example.task.faulted.v1", "ORG.example.Task.faulted.v1"} {
		refused(event("4", kind), "/type")
	}
	for i, kind := range []string{"org.example.order", "org.example.workflows", "io.serverlessworkflow.workflow.completed.v1"} {
		if err := publish(event(string(rune('u'+i)), kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
