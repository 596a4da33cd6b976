package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
)

const emitHeader = "document: {dsl: 1.0.3, namespace: test, name: emit, version: 1.0.0}\n"

// endOfEmit starts a workflow that waits for nothing and returns its last command.
func endOfEmit(t *testing.T, definition string) Command {
	t.Helper()
	m := New(compilePlan(t, definition), testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: 1, Output: map[string]any{}})
	for len(commands) > 0 && commands[len(commands)-1].Kind == Yield {
		commands = m.Apply(Event{Kind: Continued, TimeMs: 1, Command: commands[len(commands)-1].ID})
	}
	if len(commands) == 0 || commands[len(commands)-1].Kind != Finish {
		t.Fatalf("it does not end: %v", commands)
	}
	return commands[len(commands)-1]
}

// TestEmitNoCloudEvent: an event with a name that CloudEvents does not allow is a fault that says where.
func TestEmitNoCloudEvent(t *testing.T) {
	end := endOfEmit(t, emitHeader+"do: [{tell: {emit: {event: {with: {type: paid, orderId: '1'}}}}}]\n")
	if end.Fault == nil || !strings.Contains(end.Fault.Detail, `emit.event.with.orderId: The name of the attribute "orderId" must be`) {
		t.Errorf("it ends %s", commandText(end))
	}
}

// TestDeepDefinitionIsNoValue: tasks may stand deeper inside each other than data may be nested.
func TestDeepDefinitionIsNoValue(t *testing.T) {
	definition := func(expression string) string {
		var b strings.Builder
		b.WriteString(emitHeader + "do:\n")
		for i := range 120 {
			fmt.Fprintf(&b, "%s- n%d:\n%s    do:\n", strings.Repeat("    ", i), i, strings.Repeat("    ", i))
		}
		fmt.Fprintf(&b, "%s- last: {set: '${ %s }'}\n", strings.Repeat("    ", 120), expression)
		return b.String()
	}
	for _, deep := range []string{"$workflow.definition", "$workflow", ". as $x | $workflow.definition | {a: .do[0]}"} {
		end := endOfEmit(t, definition(deep))
		if end.Fault == nil || !strings.Contains(end.Fault.Detail, "levels") {
			t.Errorf("%s ends %s", deep, commandText(end))
		}
	}
	for _, part := range []string{"$workflow.definition.document", "$task.definition", "$workflow.definition.do[0] | keys"} {
		if end := endOfEmit(t, definition(part)); end.Phase != chargehand.Completed {
			t.Errorf("%s ends %s", part, commandText(end))
		}
	}
}
