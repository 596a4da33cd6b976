package temporal

// budget bounds the questions that a run asks the machine beside its slices (Machine.Wants). Up to 500 events come at
// once, and each may cost one expensive expression per filter.
type budget struct {
	steps int // of expressions, less than a slice of them
}

// readSteps is the cost of reading a message, in steps of expressions.
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

// overBudget reports whether the remaining questions have to wait for another workflow task or for the next run. It
// then asks for that task, or begins to drain this run.
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
