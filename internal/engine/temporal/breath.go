package temporal

// breath bounds what is asked of the machine beside its slices (Wants): up to 500 events may come at once, and each
// may cost an expression that takes a while for every filter.
type breath struct {
	steps int // of expressions, less than a slice of them
}

// readSteps is what reading a message costs, in steps of expressions.
func readSteps(message []byte) int { return 1_000 + len(message)/5 }

// charge counts steps towards the slices of this workflow task and run.
func (r *run) charge(steps int) {
	b := &r.breath
	b.steps += steps
	n := b.steps / r.pace.sliceSteps
	b.steps %= r.pace.sliceSteps
	r.slices += n
	r.taskSlices += n
}

// tired reports whether what is left to ask has to wait for another workflow task, or for the next run, and sees to it that there
// is one.
func (r *run) tired() bool {
	switch {
	case r.slices >= r.pace.runSlices:
		r.drain.on = true
		return true
	case r.taskSlices >= r.pace.taskSlices:
		r.pause()
		return true
	}
	return false
}
