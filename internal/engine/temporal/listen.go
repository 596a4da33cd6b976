package temporal

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// maxAskedAtOnce bounds the subscriptions of one look at events.
const maxAskedAtOnce = 50

// listens is what a run knows of the events that its execution listens to (DESIGN.md "Events").
// One look is on its way at most.
type listens struct {
	list    []*listening // open Subscribe commands, by command
	unheard []uint64     // commands whose rows are to go
	looking workflow.Future
	asked   []*listening // by that look
	told    int          // of unheard, by that look
	pages   []*heardPage // of the look before, that are not heard to their ends
}

// heardPage is what there is for a subscription, without what it has had.
type heardPage struct {
	of   *listening
	page eventPage
}

// listening is an open Subscribe command.
type listening struct {
	sub     machine.Subscription
	open    bool // the machine knows it
	placed  bool // it has a row, or is about to
	woken   bool // there may be something to look at
	through int64
}

func (l *listens) idle() bool { return l.looking == nil }

// trackListens brings what is listened to in line with the machine.
func (r *run) trackListens() {
	l := &r.listens
	if len(l.list) == 0 && r.machine.Load().Listens == 0 {
		return
	}
	for _, one := range l.list {
		one.open = false
	}
	for _, sub := range r.machine.Subscriptions() {
		at := slices.IndexFunc(l.list, func(one *listening) bool { return one.sub.Command == sub.Command })
		if at < 0 {
			at = len(l.list)
			l.list = append(l.list, &listening{woken: true})
		}
		l.list[at].sub, l.list[at].open = sub, true
	}
	l.list = slices.DeleteFunc(l.list, func(one *listening) bool {
		if !one.open && one.placed {
			l.unheard = append(l.unheard, uint64(one.sub.Command))
		}
		return !one.open
	})
}

// look asks for the events that subscriptions were woken for, and has the rows of new ones made.
func (r *run) look() {
	r.trackListens()
	l := &r.listens
	if l.looking != nil || len(l.pages) > 0 || r.drain.on || r.finish != nil {
		return
	}
	name, in := eventsType, looking{
		Execution: r.argument.Execution, No: r.argument.No, Unheard: l.unheard, Confidential: r.argument.Confidential,
	}
	l.asked = nil
	for _, one := range l.list {
		if !one.woken || one.sub.Paused || len(l.asked) == maxAskedAtOnce {
			continue
		}
		if !one.placed {
			name = listenType
		}
		one.placed, one.woken = true, false
		l.asked = append(l.asked, one)
		in.Asked = append(in.Asked, asked{
			Command: uint64(one.sub.Command), SinceMs: one.sub.SinceMs, After: max(one.through, one.sub.Position),
			Filters: filtersOf(one.sub.Filters),
		})
	}
	if len(l.asked) == 0 && len(l.unheard) == 0 {
		return
	}
	l.told = len(l.unheard)
	l.looking = r.write(name, in)
}

func filtersOf(list []machine.Filter) []filter {
	filters := make([]filter, len(list))
	for i := range list {
		filters[i] = filter{Type: list[i].Type, Exact: list[i].Exact, Path: list[i].Path}
		if list[i].Path != "" {
			filters[i].Key = list[i].Key[:]
		}
	}
	return filters
}

// wakeListens notes that there may be events.
func (r *run) wakeListens() {
	for _, one := range r.listens.list {
		one.woken = true
	}
}

// receiveLooked takes in the answer of the look that is on its way.
func (r *run) receiveLooked() {
	l := &r.listens
	if l.looking == nil || !l.looking.IsReady() {
		return
	}
	var answer eventPages
	err := l.looking.Get(r.ctx, &answer)
	asked := l.asked
	l.looking, l.asked, l.unheard = nil, nil, slices.Delete(l.unheard, 0, l.told)
	switch {
	case err != nil:
		r.failure = fmt.Errorf("look at events: %w", err)
	case answer.Final:
		r.endedElsewhere()
	case len(answer.Pages) != len(asked):
		r.failure = fmt.Errorf("look at events: %d asked, %d were answered", len(asked), len(answer.Pages))
	default:
		for i, one := range asked {
			one.woken = one.woken || !answer.Pages[i].Whole
			l.pages = append(l.pages, &heardPage{one, answer.Pages[i]})
		}
	}
}

// receiveHeard gives subscriptions what there is for them, as far as they take it.
func (r *run) receiveHeard() {
	for l := &r.listens; len(l.pages) > 0 && r.hear(l.pages[0]); {
		l.pages = l.pages[1:]
	}
}

// hear reports false if it has to go on in another workflow task.
func (r *run) hear(p *heardPage) (done bool) {
	one := p.of
	for i := range p.page.Events {
		ev := &p.page.Events[i]
		takes, open := r.takes(one.sub.Command)
		if !open {
			return true
		}
		if !takes {
			one.woken = true // when there is room again
			return true
		}
		if r.tired() {
			p.page.Events = p.page.Events[i:]
			return false
		}
		spent := r.machine.Spent()
		// One that cannot be read is for nobody.
		if envelope, err := value.Parse(ev.Event, value.Limits{Depth: value.MaxDepth}); err == nil && r.machine.Wants(one.sub.Command, envelope) {
			r.apply(machine.Event{Kind: machine.EventReceived, Command: one.sub.Command, Output: envelope, Number: ev.Number})
		}
		one.through = ev.Number
		r.charge(r.machine.Spent() - spent + readSteps(ev.Event))
	}
	one.through = max(one.through, p.page.Through)
	return true
}

// waiting reports whether there are events for a subscription that it has not had.
func (l *listens) waiting(one *listening) bool {
	return slices.ContainsFunc(l.pages, func(p *heardPage) bool { return p.of == one })
}

// takes reports whether a subscription may be given more, and whether it is open.
func (r *run) takes(command machine.CommandID) (takes, open bool) {
	for _, sub := range r.machine.Subscriptions() {
		if sub.Command == command {
			return !sub.Paused, true
		}
	}
	return false, false
}

// endedElsewhere takes in that the row has ended without this workflow.
func (r *run) endedElsewhere() {
	if r.isFinal {
		return
	}
	r.isFinal = true
	r.apply(machine.Event{Kind: machine.CancelRequested, Detail: "The execution had already ended."})
}

// heardSoFar is what the next run has to know of the events.
func (r *run) heardSoFar() (list []heard) {
	r.trackListens()
	for _, one := range r.listens.list {
		if one.placed {
			list = append(list, heard{Command: uint64(one.sub.Command), Through: one.through, Woken: one.woken || r.listens.waiting(one)})
		}
	}
	return list
}

// resumeListens takes over what the run before has heard.
func (r *run) resumeListens(c *continued) {
	r.listens.unheard = c.Unheard
	for _, h := range c.Listens {
		r.listens.list = append(r.listens.list, &listening{
			sub: machine.Subscription{Command: machine.CommandID(h.Command)}, placed: true, woken: h.Woken, through: h.Through,
		})
	}
}

// knownSecrets reads the secrets that the argument brings.
func knownSecrets(a *argument) (*engine.Secrets, error) {
	if !a.Confidential {
		return nil, nil
	}
	v, err := value.Parse(a.Secrets, value.Limits{Depth: value.MaxDepth, Bytes: len(a.Secrets)})
	values, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, engine.ErrCorrupt
	}
	return engine.KnownSecrets(values), nil
}
