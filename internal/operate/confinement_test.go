package operate

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// Doctor reports what the machine cannot confine, but nothing is wrong with the installation.
func TestDoctorTellsOfTheConfinement(t *testing.T) {
	d := &doctor{}
	d.confinement()
	facts := process.Capabilities().Facts()
	if len(d.findings) != len(facts) || len(facts) < 5 {
		t.Fatalf("%d findings of %d facts", len(d.findings), len(facts))
	}
	for i, f := range d.findings {
		noted := strings.HasPrefix(f.Detail, "note: ") && strings.Contains(f.Detail, facts[i].Remedy)
		if !f.OK || f.What != facts[i].What || noted == facts[i].OK {
			t.Errorf("finding %+v of %+v", f, facts[i])
		}
	}
}
