package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// TestChildEnd: what a child has ended with reaches its parent, and what cannot be read any more is an
// error of the system there.
func TestChildEnd(t *testing.T) {
	v := newVault(t)
	for name, one := range map[string]struct {
		outcome store.Outcome
		output  string // as JSON
		code    string // of the fault
	}{
		"output": {outcome: store.Outcome{Output: store.Payload{Inline: []byte(`{"x":1}`), Size: 7}}, output: `{"x":1}`},
		"too large": {
			outcome: store.Outcome{Output: store.Payload{Inline: []byte(`"twenty-one byteslong"`), Size: 22}}, code: CodeOutputTooLarge,
		},
		"fault":        {outcome: store.Outcome{Fault: EncodeFault(SystemFault(CodeRevision, "no"))}, code: CodeRevision},
		"broken":       {outcome: store.Outcome{Output: store.Payload{Inline: []byte(`{"x":`), Size: 5}}, code: CodeInternal},
		"broken fault": {outcome: store.Outcome{Fault: []byte(`{`)}, code: CodeInternal},
		"gone":         {code: CodeInternal},
	} {
		row := store.Execution{
			ID: chargehand.ExecutionID([]byte(name + "................")[:16]), Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1,
			Status: chargehand.Finished, Phase: chargehand.Completed, State: store.StateEnded,
		}
		if name != "gone" {
			err := v.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertFinished(&row, &one.outcome) })
			if err != nil {
				t.Fatal(err)
			}
		} else {
			row.No = 1 << 40
		}
		ev, err := childEnd(context.Background(), v.Store, nil, store.Child{Execution: row.No, Command: 7}, 20)
		if err != nil || ev.Command != 7 {
			t.Errorf("%s: command %d, %v", name, ev.Command, err)
			continue
		}
		code := ""
		if ev.Fault != nil {
			code = ev.Fault.Code
		}
		if code != one.code || code == "" && string(value.Marshal(ev.Output)) != one.output {
			t.Errorf("%s: %+v", name, ev)
		}
		if code == CodeInternal && !strings.Contains(ev.Fault.Detail, "cannot be read") {
			t.Errorf("%s: it says %q", name, ev.Fault.Detail)
		}
	}
}
