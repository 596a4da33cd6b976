package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
)

// noted notes which method a command came to.
type noted []string

func (n *noted) note(name string, id machine.CommandID) { *n = append(*n, fmt.Sprint(name, " ", id)) }

func (n *noted) RunActivity(c *machine.Command)    { n.note("run activity", c.ID) }
func (n *noted) StopActivity(id machine.CommandID) { n.note("stop activity", id) }
func (n *noted) StartTimer(c *machine.Command)     { n.note("start timer", c.ID) }
func (n *noted) StopTimer(id machine.CommandID)    { n.note("stop timer", id) }
func (n *noted) Publish(c *machine.Command)        { n.note("publish", c.ID) }
func (n *noted) StartChild(c *machine.Command)     { n.note("start child", c.ID) }
func (n *noted) StopChild(id machine.CommandID)    { n.note("stop child", id) }
func (n *noted) OpenTask(c *machine.Command)       { n.note("open task", c.ID) }
func (n *noted) WithdrawTask(c *machine.Command)   { n.note("withdraw task", c.ID) }
func (n *noted) Yield()                            { n.note("yield", 0) }
func (n *noted) Finish(c *machine.Command)         { n.note("finish", c.ID) }

// Every kind of command comes to its method, in order. Subscriptions are read from the machine instead.
func TestSort(t *testing.T) {
	var commands []machine.Command
	for kind := machine.RunActivity; kind <= machine.WithdrawTask; kind++ {
		commands = append(commands, machine.Command{Kind: kind, ID: machine.CommandID(kind)})
	}
	var got noted
	engine.Sort(commands, &got)
	want := noted{
		"run activity 1", "stop activity 2", "start timer 3", "stop timer 4", "publish 5", "yield 0", "finish 7",
		"start child 10", "stop child 11", "open task 12", "withdraw task 13",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the commands came to %q, want %q", got, want)
	}
}

// A kind that the engines do not know is never dropped in silence.
func TestSortUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a command of an unknown kind was dropped")
		}
	}()
	engine.Sort([]machine.Command{{Kind: machine.WithdrawTask + 1}}, new(noted))
}
