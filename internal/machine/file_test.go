package machine

import (
	"fmt"
	"testing"

	"github.com/chargehand/chargehand"
)

// The files that the output of the workflow refers to are bounded, each counted once.
func TestFilesOfTheOutputAreBounded(t *testing.T) {
	for files, want := range map[int]chargehand.Phase{MaxFiles: chargehand.Completed, MaxFiles + 1: chargehand.Faulted} {
		var list []any
		for i := range files + 5 {
			list = append(list, map[string]any{"uri": fmt.Sprintf("%s00000000-0000-7000-8000-%012d", chargehand.FilesPath, i%files)})
		}
		m := New(compilePlan(t, testHeader+"do: [{a: {set: {list: '${ $input }'}}}]"), testIdentity(t))
		commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: list})
		end := commands[len(commands)-1]
		if end.Kind != Finish || end.Phase != want || want == chargehand.Faulted && end.Fault.Code != CodeFileLimit {
			t.Errorf("with %d files it ends as %s: %+v", files, end.Phase, end.Fault)
		}
	}
}
