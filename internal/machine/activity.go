package machine

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
)

// maxInterruptions is the number of crashes that an activity survives (T91).
const maxInterruptions = 3

// runActivity evaluates the arguments and asks for the effect.
func (m *Machine) runActivity(n *node) *node {
	args, f := m.arguments(n, n.task.Activity)
	if f != nil {
		return m.fail(n, f)
	}
	p := &pending{node: n, use: useActivity, args: args}
	p.id = m.lastCommand + 1
	m.issue(m.commandOf(p))
	n.activity = p.id
	m.pending.add(p)
	return nil
}

// key is the idempotency key of an activity: the same however often a crash makes it run.
// The number of its command is part of it, because a jump back may run the same task again.
func (m *Machine) key(n *node, id CommandID) string {
	sum := m.derive(n, "key", int(id))
	return hex.EncodeToString(sum[:16])
}

// activityEnded is the outcome of an activity.
func (m *Machine) activityEnded(p *pending, ev Event) *node {
	n := p.node
	n.activity = 0
	if ev.Fault != nil {
		f := *ev.Fault
		f.Instance = n.reference()
		if f.Title == "" {
			f.Title = titles[f.Type]
		}
		return m.fail(n, &f)
	}
	m.grow(ev.Output)
	if len(ev.Files) > 0 {
		n.files = append(n.files, ev.Files...)
		if e := n.entryOf(); e != nil {
			e.Files = append(e.Files, ev.Files...)
		}
	}
	return m.complete(n, ev.Output, n.task.Then)
}

// interrupted asks for the same activity again, or gives up (T91).
func (m *Machine) interrupted(p *pending) *node {
	n := p.node
	p.interruptions++
	switch {
	case n.metadata()["onInterrupted"] == "fault":
		return m.giveUp(n, p.id, "The server stopped while this task ran, and the task must not run twice.")
	case p.interruptions > maxInterruptions:
		return m.giveUp(n, p.id, fmt.Sprintf("The server stopped %d times while this task ran.", p.interruptions))
	}
	m.out = append(m.out, m.commandOf(p))
	return nil
}

func (m *Machine) giveUp(n *node, id CommandID, detail string) *node {
	m.pending.take(id, isActivity)
	n.activity = 0
	return m.fail(n, interruptedFault(detail, n.reference()))
}

// arguments evaluates what an activity is given. The shapes are described in DESIGN.md.
func (m *Machine) arguments(n *node, a *plan.Activity) (expr.Value, *Fault) {
	args := make(map[string]any, len(a.Constants)+len(a.Fields)+2)
	//workflowcheck:ignore copies into a map
	for name, value := range a.Constants {
		args[name] = value
	}
	if a.Endpoint != nil {
		address, f := m.endpoint(n, a.Endpoint)
		if f != nil {
			return nil, f
		}
		authentication, f := m.authentication(n, a.Endpoint.Authentication)
		if f != nil {
			return nil, f
		}
		target := args
		if a.Kind == dsl.CallOpenAPI {
			target = make(map[string]any, 2)
			args["document"] = target
		}
		target["endpoint"] = address
		if authentication != nil {
			target["authentication"] = authentication
		}
	}
	if a.Authentication != nil {
		authentication, f := m.authentication(n, a.Authentication)
		if f != nil {
			return nil, f
		}
		args["authentication"] = authentication
	}
	for i := range a.Fields {
		if f := m.field(n, &a.Fields[i], args); f != nil {
			return nil, f
		}
	}
	return args, nil
}

func (m *Machine) field(n *node, field *plan.Field, args map[string]any) *Fault {
	v, f := m.eval(n, field.Slot, slotBody, n.input)
	if f != nil {
		return f
	}
	wrong := func(want string) *Fault {
		return expressionFault(field.Slot.Path, fmt.Sprintf("must be %s, but is %s", want, typeName(v)), n.reference())
	}
	switch field.Type {
	case plan.Text:
		if _, ok := v.(string); !ok {
			return wrong("a text")
		}
	case plan.Object:
		if v == nil {
			v = map[string]any{}
		}
		if _, ok := v.(map[string]any); !ok {
			return wrong("an object")
		}
	case plan.ListOrMap:
		switch v.(type) {
		case nil:
			return nil
		case []any, map[string]any:
		default:
			return wrong("a list or an object")
		}
	case plan.Optional:
		if v == nil {
			return nil
		}
	}
	args[field.Name] = v
	return nil
}

// endpoint is the address of a call: an expression's result as it is, or a URI template
// expanded with the task's transformed input (T42).
func (m *Machine) endpoint(n *node, e *plan.Endpoint) (string, *Fault) {
	if e.Template != nil {
		address, err := e.Template.Expand(n.input)
		if err != nil {
			return "", m.evalFault(err, e.Path, n.reference())
		}
		return address, nil
	}
	v, f := m.eval(n, e.Expression, slotBody, n.input)
	if f != nil {
		return "", f
	}
	address, ok := v.(string)
	if !ok {
		return "", expressionFault(e.Path, "an address must be a text, but is "+typeName(v), n.reference())
	}
	return address, nil
}

// authentication evaluates a policy; nil if there is none.
func (m *Machine) authentication(n *node, a *plan.Authentication) (expr.Value, *Fault) {
	if a == nil {
		return nil, nil
	}
	text := func(s *plan.Slot) (string, *Fault) {
		v, f := m.eval(n, s, slotBody, n.input)
		if f != nil {
			return "", f
		}
		value, ok := v.(string)
		if !ok {
			return "", expressionFault(s.Path, "must be a text, but is "+typeName(v), n.reference())
		}
		return value, nil
	}
	if a.Scheme == "bearer" {
		token, f := text(a.Token)
		if f != nil {
			return nil, f
		}
		return map[string]any{"scheme": a.Scheme, "token": token}, nil
	}
	username, f := text(a.Username)
	if f != nil {
		return nil, f
	}
	password, f := text(a.Password)
	if f != nil {
		return nil, f
	}
	return map[string]any{"scheme": a.Scheme, "username": username, "password": password}, nil
}

// authorize makes $authorization of the policy that the task's call uses (language.md 1.6).
func (m *Machine) authorize(n *node) *Fault {
	a := n.task.Activity
	if a == nil {
		return nil
	}
	policy := a.Authentication
	if policy == nil && a.Endpoint != nil {
		policy = a.Endpoint.Authentication
	}
	v, f := m.authentication(n, policy)
	if f != nil || v == nil {
		return f
	}
	resolved := v.(map[string]any)
	if policy.Scheme == "bearer" {
		n.authorization = map[string]any{"scheme": "Bearer", "parameter": resolved["token"]}
		return nil
	}
	pair := resolved["username"].(string) + ":" + resolved["password"].(string)
	n.authorization = map[string]any{
		"scheme": "Basic", "parameter": base64.StdEncoding.EncodeToString([]byte(pair)),
	}
	return nil
}
