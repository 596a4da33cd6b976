package temporal

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// maxAskedAtOnce bounds the subscriptions of one read request.
const maxAskedAtOnce = 50

// listens is the state of the subscriptions of a run (DESIGN.md "Events"). At most one read request is in flight.
type listens struct {
	list         []*listening // open Subscribe commands, by command
	unsubscribed []uint64     // commands whose rows are to go
	reading      workflow.Future
	asked        []*listening  // of the request in flight
	sent         int           // how many of unsubscribed that request carries
	pages        []*unreadPage // of the last answer, with events that the machine has not had
}

// unreadPage holds the events of a page that the machine has not had yet.
type unreadPage struct {
	of   *listening
	page eventPage
}

// listening is an open Subscribe command.
type listening struct {
	sub     machine.Subscription
	stored  bool // it has a row, or is about to
	woken   bool // there may be events for it
	through int64
}

func (l *listens) idle() bool { return l.reading == nil }

// trackListens makes the list of subscriptions that of the machine.
func (r *run) trackListens() {
	l := &r.listens
	if len(l.list) == 0 && r.machine.Load().Listens == 0 {
		return
	}
	var closed []*listening
	l.list, closed = eventstream.Track(r.machine, l.list, func(one *listening) *machine.Subscription { return &one.sub },
		func(machine.CommandID) *listening { return &listening{woken: true} })
	for _, one := range closed {
		if one.stored {
			l.unsubscribed = append(l.unsubscribed, uint64(one.sub.Command))
		}
	}
}

// requestEvents asks for the events of woken subscriptions; the activity also makes the rows of new subscriptions.
func (r *run) requestEvents() {
	r.trackListens()
	l := &r.listens
	if l.reading != nil || len(l.pages) > 0 || r.drain.on || r.finish != nil {
		return
	}
	name, in := eventsType, readRequest{
		Execution: r.argument.Execution, No: r.argument.No, Unsubscribed: l.unsubscribed,
		Confidential: r.argument.Confidential,
	}
	l.asked = nil
	for _, one := range l.list {
		if !one.woken || one.sub.Paused || len(l.asked) == maxAskedAtOnce {
			continue
		}
		if !one.stored {
			name = listenType
		}
		one.stored, one.woken = true, false
		l.asked = append(l.asked, one)
		in.Asked = append(in.Asked, asked{
			Command: uint64(one.sub.Command), SinceMs: one.sub.SinceMs, After: max(one.through, one.sub.Position),
			Filters: filtersOf(one.sub.Filters),
		})
	}
	if len(l.asked) == 0 && len(l.unsubscribed) == 0 {
		return
	}
	l.sent = len(l.unsubscribed)
	l.reading = r.write(name, in)
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

// receivePages takes in the answer of the read request.
func (r *run) receivePages() {
	l := &r.listens
	if l.reading == nil || !l.reading.IsReady() {
		return
	}
	var answer eventPages
	err := l.reading.Get(r.ctx, &answer)
	asked := l.asked
	l.reading, l.asked, l.unsubscribed = nil, nil, slices.Delete(l.unsubscribed, 0, l.sent)
	switch {
	case err != nil:
		r.failure = fmt.Errorf("read events: %w", err)
	case answer.Final:
		r.endedElsewhere()
	case len(answer.Pages) != len(asked):
		r.failure = fmt.Errorf("read events: %d subscriptions asked, %d were answered", len(asked), len(answer.Pages))
	default:
		for i, one := range asked {
			one.woken = one.woken || !answer.Pages[i].CaughtUp
			l.pages = append(l.pages, &unreadPage{one, answer.Pages[i]})
		}
	}
}

// applyPages applies the events of the pages, as far as the subscriptions take them.
func (r *run) applyPages() {
	for l := &r.listens; len(l.pages) > 0 && r.applyPage(l.pages[0]); {
		l.pages = l.pages[1:]
	}
}

// applyPage applies the events of a page. It reports false if it has to continue in another workflow task.
func (r *run) applyPage(p *unreadPage) (done bool) {
	one := p.of
	for i := range p.page.Events {
		ev := &p.page.Events[i]
		sub, open := r.machine.Subscription(one.sub.Command)
		if !open {
			return true
		}
		if sub.Paused {
			one.woken = true // when there is room again
			return true
		}
		if r.overBudget() {
			p.page.Events = p.page.Events[i:]
			return false
		}
		spent := r.machine.Spent()
		// An event that cannot be read is skipped.
		envelope, err := value.Parse(ev.Event, value.Limits{Depth: value.MaxDepth})
		if err == nil && r.machine.Wants(one.sub.Command, envelope) {
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
	return slices.ContainsFunc(l.pages, func(p *unreadPage) bool { return p.of == one })
}

// endedElsewhere takes in that the row has ended without this workflow.
func (r *run) endedElsewhere() {
	if r.isFinal {
		return
	}
	r.isFinal = true
	r.apply(machine.Event{Kind: machine.CancelRequested, Detail: "The execution had already ended."})
}

// readPositions returns how far each subscription has read, for the next run.
func (r *run) readPositions() (list []readPosition) {
	r.trackListens()
	for _, one := range r.listens.list {
		if one.stored {
			woken := one.woken || r.listens.waiting(one)
			list = append(list, readPosition{Command: uint64(one.sub.Command), Through: one.through, Woken: woken})
		}
	}
	return list
}

// resumeListens restores the read positions of the run before.
func (r *run) resumeListens(c *continued) {
	r.listens.unsubscribed = c.Unsubscribed
	for _, h := range c.Listens {
		r.listens.list = append(r.listens.list, &listening{
			sub: machine.Subscription{Command: machine.CommandID(h.Command)}, stored: true, woken: h.Woken, through: h.Through,
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
