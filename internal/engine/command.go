package engine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/machine"
)

// Commands is what an engine does with each kind of command, in the step in which the machine issues it. Subscribe
// and Unsubscribe are not among them: machine.Subscriptions lists what is open, and both engines compare their rows
// with that list.
type Commands interface {
	RunActivity(c *machine.Command)
	StopActivity(id machine.CommandID)
	StartTimer(c *machine.Command)
	StopTimer(id machine.CommandID)
	Publish(c *machine.Command)
	StartChild(c *machine.Command)
	StopChild(id machine.CommandID)
	OpenTask(c *machine.Command)
	WithdrawTask(c *machine.Command)
	Yield()
	Finish(c *machine.Command)
}

// Sort hands commands to an engine, in their order.
func Sort(commands []machine.Command, to Commands) {
	for i := range commands {
		switch c := &commands[i]; c.Kind {
		case machine.RunActivity:
			to.RunActivity(c)
		case machine.StopActivity:
			to.StopActivity(c.ID)
		case machine.StartTimer:
			to.StartTimer(c)
		case machine.StopTimer:
			to.StopTimer(c.ID)
		case machine.Publish:
			to.Publish(c)
		case machine.StartChild:
			to.StartChild(c)
		case machine.StopChild:
			to.StopChild(c.ID)
		case machine.OpenTask:
			to.OpenTask(c)
		case machine.WithdrawTask:
			to.WithdrawTask(c)
		case machine.Yield:
			to.Yield()
		case machine.Finish:
			to.Finish(c)
		case machine.Subscribe, machine.Unsubscribe:
		default:
			panic(fmt.Sprintf("the engines do not know commands of kind %d", c.Kind))
		}
	}
}
