package machine

import (
	"encoding/base64"
	"fmt"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// maxInterruptions is the number of crashes that an activity survives (T91).
const maxInterruptions = 3

// runActivity evaluates the arguments and asks for the effect.
func (m *Machine) runActivity(n *node) *node {
	args, f := m.arguments(n, n.task.Activity)
	if f != nil {
		return m.fail(n, f)
	}
	if n.task.Detached {
		return m.detach(n, args)
	}
	p := &pending{node: n, use: useActivity, args: args, askedMs: m.nowMs}
	p.id = m.lastCommand + 1
	p.key = n.formerKey()
	m.issue(m.commandOf(p))
	n.activity = p.id
	m.pending.add(p)
	return nil
}

// activityEnded is the outcome of an activity.
func (m *Machine) activityEnded(p *pending, ev Event) *node {
	n := p.node
	n.activity = 0
	if e := n.entryOf(); e != nil && ev.Detail != "" {
		e.Document = ev.Detail
	}
	if ev.Fault != nil {
		if ev.Fault.NoResponse {
			m.keepKey(p)
		}
		f := *ev.Fault
		f.Instance = n.reference()
		if f.Title == "" {
			f.Title = titles[f.Type]
		}
		m.record(p, Outcome{Kind: ActivityEnded, Fault: &f})
		return m.fail(n, &f)
	}
	m.record(p, Outcome{Kind: ActivityEnded, Output: ev.Output, Files: ev.Files})
	if n.consumption != nil {
		return m.streamEnded(n)
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
	p.position = 0 // a stream starts again
	switch {
	case n.metadata()["onInterrupted"] == "fault":
		return m.failInterrupted(n, p.id, "The server stopped while this task ran, and the task must not run twice.")
	case p.interruptions > maxInterruptions:
		return m.failInterrupted(n, p.id, fmt.Sprintf("The server stopped %d times while this task ran.", p.interruptions))
	}
	m.out = append(m.out, m.commandOf(p))
	return nil
}

func (m *Machine) failInterrupted(n *node, id CommandID, detail string) *node {
	f := interruptedFault(detail, n.reference())
	if p := m.pending.take(id, isActivity); p != nil {
		m.keepKey(p)
		m.record(p, Outcome{Kind: ActivityEnded, Fault: f})
	}
	n.activity = 0
	return m.fail(n, f)
}

// arguments evaluates what an activity is given. The shapes are described in DESIGN.md.
func (m *Machine) arguments(n *node, a *plan.Activity) (value.Value, *Fault) {
	args := make(map[string]any, len(a.Constants)+len(a.Fields)+2)
	//workflowcheck:ignore copies into a map
	for name, value := range a.Constants {
		args[name] = value
	}
	if a.Endpoint != nil {
		if f := m.address(n, a.Endpoint, args); f != nil {
			return nil, f
		}
	}
	for i := range a.Resources {
		if f := m.resource(n, &a.Resources[i], args); f != nil {
			return nil, f
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
		field := &a.Fields[i]
		if f := m.field(n, field, inner(args, field.In)); f != nil {
			return nil, f
		}
	}
	for i := range a.Durations {
		d := &a.Durations[i]
		due, f := m.dueTime(n, d.Duration, inBody, n.input, "")
		if f != nil {
			return nil, f
		}
		args[d.Name] = int(due - m.nowMs)
	}
	return args, nil
}

// inner is the argument of the given name, an object that is made when it is asked for;
// the arguments themselves if the name is empty.
func inner(args map[string]any, name string) map[string]any {
	if name == "" {
		return args
	}
	object, ok := args[name].(map[string]any)
	if !ok {
		object = map[string]any{}
		args[name] = object
	}
	return object
}

// address puts the address of a call and its authentication into the arguments.
func (m *Machine) address(n *node, e *plan.Endpoint, args map[string]any) *Fault {
	address, f := m.endpoint(n, e)
	if f != nil {
		return f
	}
	authentication, f := m.authentication(n, e.Authentication)
	if f != nil {
		return f
	}
	args["endpoint"] = address
	if authentication != nil {
		args["authentication"] = authentication
	}
	return nil
}

// resource is an argument that is an object: an address, or what was pinned behind one (T69).
func (m *Machine) resource(n *node, r *plan.Resource, args map[string]any) *Fault {
	object := inner(args, r.Name)
	if r.Endpoint != nil {
		return m.address(n, r.Endpoint, object)
	}
	object["content"], object["digest"] = r.Content, r.Digest
	return nil
}

func (m *Machine) field(n *node, field *plan.Field, args map[string]any) *Fault {
	v, f := m.eval(n, field.Operand, inBody, n.input)
	if f != nil {
		return f
	}
	wrong := func(want string) *Fault {
		return expressionFault(field.Operand.Path, fmt.Sprintf("must be %s, but is %s", want, typeName(v)), n.reference())
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
	v, f := m.eval(n, e.Expression, inBody, n.input)
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
func (m *Machine) authentication(n *node, a *plan.Authentication) (value.Value, *Fault) {
	resolved, f := m.resolve(n, a)
	if f != nil || resolved == nil {
		return nil, f
	}
	return resolved, nil
}

// resolve is authentication with its type.
func (m *Machine) resolve(n *node, a *plan.Authentication) (map[string]any, *Fault) {
	if a == nil {
		return nil, nil
	}
	if a.Secret != "" {
		return m.secretPolicy(n, a)
	}
	resolved := a.Argument()
	for i := range a.Fields {
		field := &a.Fields[i]
		v, f := m.eval(n, field.Operand, inBody, n.input)
		if f != nil {
			return nil, f
		}
		if f := m.checkTexts(n, field, v); f != nil {
			return nil, f
		}
		field.Put(resolved, v)
	}
	if a.Authority != nil {
		authority, f := m.endpoint(n, a.Authority)
		if f != nil {
			return nil, f
		}
		resolved["authority"] = authority
	}
	return resolved, nil
}

// checkTexts refuses all but a text, or a list of them.
func (m *Machine) checkTexts(n *node, field *plan.Field, v value.Value) *Fault {
	list := []any{v}
	if field.Type == plan.TextList {
		list, _ = v.([]any)
	}
	for _, item := range list {
		if _, ok := item.(string); !ok {
			return expressionFault(field.Operand.Path, "must be a text, but is "+typeName(item), n.reference())
		}
	}
	return nil
}

// authorize makes $authorization of the policy that the task's call uses (docs/language/expressions.md).
// Tokens of OAuth2 are fetched by activities and never come here, and a digest is made for
// each request: their parameter is null.
func (m *Machine) authorize(n *node) *Fault {
	policy := policyOf(n.task.Activity)
	resolved, f := m.resolve(n, policy)
	if f != nil || resolved == nil {
		return f
	}
	scheme, parameter := "Bearer", value.Value(nil)
	switch policy.Scheme {
	case plan.SchemeBearer:
		parameter = resolved["token"]
	case plan.SchemeBasic:
		username, _ := resolved["username"].(string)
		password, _ := resolved["password"].(string)
		scheme, parameter = "Basic", base64.StdEncoding.EncodeToString([]byte(username+":"+password))
	case plan.SchemeDigest:
		scheme = "Digest"
	}
	n.authorization = map[string]any{"scheme": scheme, "parameter": parameter}
	return nil
}

// policyOf is the policy that authenticates the call itself, rather than the reading of a
// document, if there is one. Of the server and the card of an agent, it is the server's.
func policyOf(a *plan.Activity) *plan.Authentication {
	switch {
	case a == nil:
		return nil
	case a.Authentication != nil:
		return a.Authentication
	case a.Endpoint != nil:
		return a.Endpoint.Authentication
	}
	for i := range a.Resources {
		r := &a.Resources[i]
		switch r.Name {
		case "http", "server", "agentCard":
			if r.Endpoint != nil {
				return r.Endpoint.Authentication
			}
		}
	}
	return nil
}
