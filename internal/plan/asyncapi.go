package plan

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/asyncapidoc"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// Stream says how the messages of an AsyncAPI subscription are handled.
type Stream struct {
	Filter *Operand // nil: every message
	Amount int      // messages to consume; 0: While or Until decides
	While  *Operand // after each message
	Until  *Operand // before each message
	For    *Duration
	Timed  bool // Filter may look at the clock
}

// asyncAPICall compiles a call by a description of channels: one message to send, or a
// subscription, whose messages the machine takes in as they come.
func (c *compiler) asyncAPICall(compiled *Task, d *dsl.AsyncAPICall, at location) *Activity {
	a := &Activity{
		Kind: dsl.CallAsyncAPI, Constants: map[string]value.Value{},
		Authentication: c.authentication(d.Authentication, at),
	}
	if d.Document != nil {
		c.address(a, "document", d.Document.Endpoint, at)
	}
	if d.Channel != "" {
		a.Constants["channel"] = d.Channel
	}
	if d.Operation != "" {
		a.Constants["operation"] = d.Operation
	}
	if d.Protocol != "" {
		protocol := asyncapidoc.Family(d.Protocol)
		if protocol == "" {
			c.notSupported(d.Pointer+"/protocol", fmt.Sprintf("The protocol %q of `call: asyncapi`", d.Protocol))
		}
		a.Constants["protocol"] = protocol
	}
	if d.ServerName != "" {
		a.addIn("server", "name", &Operand{constant: d.ServerName, isConstant: true}, Text)
		a.addIn("server", "variables", c.value(d.ServerVariables, at), Object)
	}
	if m := d.Message; m != nil {
		if !m.Payload.Present() && !m.Headers.Present() {
			a.Constants["message"] = map[string]any{}
		}
		a.addIn("message", "payload", c.value(m.Payload, at), Any)
		a.addIn("message", "headers", c.value(m.Headers, at), Object)
	}
	if d.Subscription != nil {
		a.Constants["subscription"] = map[string]any{}
		c.subscription(compiled, d.Subscription, at)
	}
	return a
}

func (c *compiler) subscription(compiled *Task, d *dsl.Subscription, at location) {
	inside := at
	if d.Foreach != nil {
		inside = at.bind(d.Foreach.Item, d.Foreach.At)
	}
	s := &Stream{
		Filter: c.condition(d.Filter, at),
		While:  c.condition(d.While, inside),
		Until:  c.condition(d.Until, inside),
		For:    c.duration(d.For, at),
	}
	s.Timed = s.Filter != nil && clock.MatchString(s.Filter.source)
	if d.Amount != nil {
		s.Amount = *d.Amount
	}
	compiled.Stream = s
	c.foreach(compiled, d.Foreach, inside)
}
