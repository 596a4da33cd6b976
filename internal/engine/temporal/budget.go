package temporal

// budget bounds what is asked of the machine beside its slices (Wants): up to 500 events may come at once, and each
// may cost an expression that takes a while for every filter.
type budget struct {
	steps int // of expressions, less than a slice of them
}

// readSteps is what reading a message costs, in steps of expressions.
func readSteps(message []byte) int { return 1_000 + len(message)/5 }

// charge counts steps towards the slices of this workflow task and run.
func (r *run) charge(steps int) {
	b := &r.budget
	b.steps += steps
	n := b.steps / r.limits.sliceSteps
	b.steps %= r.limits.sliceSteps
	r.slices += n
	r.taskSlices += n
}

// over budget reports whether what is left to ask has to wait for another workflow task, or for the next run, and
// sees to it that there
// is one.
func (r *run) overBudget() bool {
	switch {
	case r.slices >= r.limits.runSlices:
		r.drain.on = true
		return true
	case r.taskSlices >= r.limits.taskSlices:
		r.pause()
		return true
	}
	return false
}
