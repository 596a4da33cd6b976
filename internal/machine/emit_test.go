package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
)

const emitHeader = "document: {dsl: 1.0.3, namespace: test, name: emit, version: 1.0.0}\n"

// endOfEmit starts a workflow that needs nobody and returns its last command.
func endOfEmit(t *testing.T, definition string, revision int) Command {
	t.Helper()
	id := testIdentity(t)
	id.Revision = revision
	m := New(compilePlan(t, definition), id)
	commands := m.Apply(Event{Kind: Started, TimeMs: 1, Output: map[string]any{}})
	for len(commands) > 0 && commands[len(commands)-1].Kind == Yield {
		commands = m.Apply(Event{Kind: Continued, TimeMs: 1, Command: commands[len(commands)-1].ID})
	}
	if len(commands) == 0 || commands[len(commands)-1].Kind != Finish {
		t.Fatalf("it does not end: %v", commands)
	}
	return commands[len(commands)-1]
}

// TestRevision1Emits: an execution of revision 1 goes on as it began, with events that are no CloudEvents now.
func TestRevision1Emits(t *testing.T) {
	definition := emitHeader + "do: [{tell: {emit: {event: {with: {type: paid, orderId: '1'}}}}}]\n"
	if end := endOfEmit(t, definition, 1); end.Phase != chargehand.Completed {
		t.Errorf("revision 1 ends %s", commandText(end))
	}
	end := endOfEmit(t, definition, 2)
	if end.Fault == nil || !strings.Contains(end.Fault.Detail, `emit.event.with.orderId: The name of the attribute "orderId" must be`) {
		t.Errorf("revision 2 ends %s", commandText(end))
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
		end := endOfEmit(t, definition(deep), Revision)
		if end.Fault == nil || !strings.Contains(end.Fault.Detail, "levels") {
			t.Errorf("%s ends %s", deep, commandText(end))
		}
	}
	for _, part := range []string{"$workflow.definition.document", "$task.definition", "$workflow.definition.do[0] | keys"} {
		if end := endOfEmit(t, definition(part), Revision); end.Phase != chargehand.Completed {
			t.Errorf("%s ends %s", part, commandText(end))
		}
	}
}
