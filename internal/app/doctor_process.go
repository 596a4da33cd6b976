package app

import "github.com/chargehand/chargehand/internal/activity/process"

// confinement reports how far this machine can keep processes of workflows apart, as seen by the
// user and in the cgroup of doctor itself. What is missing is a note: the installation works without it.
func (d *doctor) confinement() {
	for _, fact := range process.Capabilities().Facts() {
		if !fact.OK {
			fact.Detail = "note: " + fact.Detail + "; " + fact.Remedy
		}
		d.add(fact.What, fact.Detail, nil)
	}
}
