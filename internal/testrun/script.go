package testrun

import (
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
)

// idle is asked when nothing more happens at this moment: it does the steps that wait for a task, and ends a test that
// is to end while its execution waits.
func (p *play) idle(r *rehearse.Rehearsal) bool {
	if !p.planned {
		p.planned = true
		due := false
		for i, step := range p.merged.Script {
			if step.Waiting == "" {
				at := machine.AddSpan(p.startMs, step.After)
				r.At(at, func(r *rehearse.Rehearsal) { p.do(r, i, step) })
				due = due || at <= r.NowMs()
			}
		}
		if due {
			return true
		}
	}
	for i, step := range p.merged.Script {
		if step.Waiting != "" && !p.fired[i] && p.waits(r, p.named[step.Waiting].reference) {
			p.do(r, i, step)
			return true
		}
	}
	if p.merged.Expect.Phase == "waiting" && p.ends(r) {
		p.stopped = true
		r.Stop()
		return true
	}
	return false
}

// do carries out a step.
func (p *play) do(r *rehearse.Rehearsal, i int, step *testfile.Step) {
	p.fired[i] = true
	switch {
	case step.Event != nil:
		r.Publish(p.envelope(step.Event))
	case step.Cancel != nil:
		r.Cancel(*step.Cancel)
	case step.Flag == testfile.Suspend:
		r.Suspend()
	case step.Flag == testfile.Resume:
		r.Resume()
	}
}

// waits reports whether a task has started and not ended.
func (p *play) waits(r *rehearse.Rehearsal, reference string) bool {
	for _, e := range r.Executions() {
		if e.Ended() {
			continue
		}
		prefix := p.prefixes[e.Identity.Execution]
		for _, entry := range e.Machine().Timeline() {
			if !entry.Ended() && prefix+entry.Reference == reference {
				return true
			}
		}
	}
	return false
}

// ends reports whether a test that expects a waiting execution ends now: when the time that it expects has passed or,
// where it expects none, when nothing is to come but timers.
func (p *play) ends(r *rehearse.Rehearsal) bool {
	if elapsed := p.merged.Expect.Elapsed; elapsed != nil {
		next, any := r.NextMs()
		return !any || next > machine.AddSpan(p.startMs, elapsed.Span)
	}
	return r.Scheduled() == 0 && r.Root().Machine().Load().Retries == 0
}
