package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// function is one entry of use.functions while it is being linked.
type function struct {
	list  *List
	calls []functionCall // of other functions, by its tasks
}

type functionCall struct {
	pointer, name string
}

// target gives the list that will hold the body of a function.
func (c *compiler) target(name string) *function {
	f := c.functions[name]
	if f == nil {
		f = &function{list: &List{}}
		c.functions[name] = f
	}
	return f
}

// functionBody compiles a function once, for all its callers. It sees none of the callers'
// loop variables (T37).
func (c *compiler) functionBody(e *dsl.Entry[*dsl.Task]) {
	f := c.target(e.Name)
	body := *e.Value
	body.Then = dsl.Directive{} // T37
	task := c.task(&body, location{}, nil)
	task.Name, task.Function = e.Name, e.Name
	f.list.Tasks = []*Task{task}
}

// call compiles a call. It reports whether one of its arguments reads $authorization.
func (c *compiler) call(compiled *Task, d *dsl.Call, at location) bool {
	switch {
	case d.Custom():
		c.customCall(compiled, d, at)
		return false
	case d.HTTP != nil:
		compiled.Activity = c.httpCall(d.HTTP, at)
	case d.OpenAPI != nil:
		compiled.Activity = c.openAPICall(d.OpenAPI, at)
	case d.GRPC != nil:
		compiled.Activity = c.grpcCall(d.GRPC, at)
	case d.MCP != nil:
		compiled.Activity = c.mcpCall(d.MCP, at)
	case d.A2A != nil:
		compiled.Activity = c.a2aCall(d.A2A, at)
	case d.AsyncAPI != nil:
		compiled.Activity = c.asyncAPICall(compiled, d.AsyncAPI, at)
	}
	if compiled.Activity == nil { // package dsl has refused it
		return false
	}
	return compiled.Activity.uses("authorization")
}

func has[T any](t *dsl.Table[T], name string) bool {
	_, ok := t.Get(name)
	return ok
}

// functionOf is the name of the function that a task belongs to, "" if it belongs to none.
func functionOf(pointer string) string {
	rest, ok := strings.CutPrefix(pointer, "/use/functions/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return jsonpointer.Unescape(name)
}

// checkCalls refuses functions that call themselves: they are inlined (T37).
func (c *compiler) checkCalls() {
	const (
		unseen = iota
		open
		closed
	)
	state := map[string]int{}
	var visit func(name string)
	visit = func(name string) {
		state[name] = open
		for _, next := range c.functions[name].calls {
			switch state[next.name] {
			case unseen:
				visit(next.name)
			case open:
				c.fail(next.pointer, CodeRecursion,
					fmt.Sprintf("The function %q calls itself; functions are inlined and cannot be recursive.", next.name), "")
			}
		}
		state[name] = closed
	}
	for _, e := range c.doc.Use.Functions.Entries {
		if state[e.Name] == unseen {
			visit(e.Name)
		}
	}
}

func (c *compiler) httpCall(d *dsl.HTTPCall, at location) *Activity {
	a := &Activity{
		Kind:      dsl.CallHTTP,
		Endpoint:  c.endpoint(d.Endpoint, at),
		Constants: map[string]value.Value{"output": d.Output, "redirect": d.Redirect},
	}
	c.field(a, "method", d.Method, Text, at)
	c.field(a, "headers", d.Headers, Object, at)
	c.field(a, "query", d.Query, Object, at)
	c.field(a, "body", d.Body, Any, at)
	return a
}

func (c *compiler) openAPICall(d *dsl.OpenAPICall, at location) *Activity {
	a := &Activity{
		Kind:           dsl.CallOpenAPI,
		Authentication: c.authentication(d.Authentication, at),
		Constants:      map[string]value.Value{"output": d.Output, "redirect": d.Redirect},
	}
	if d.Document != nil {
		c.address(a, "document", d.Document.Endpoint, at)
	}
	c.field(a, "operationId", d.OperationID, Text, at)
	c.field(a, "parameters", d.Parameters, Object, at)
	return a
}

// field adds an argument.
func (c *compiler) field(a *Activity, name string, s dsl.Operand, t Type, at location) {
	a.add(name, c.value(s, at), t)
}

func (a *Activity) add(name string, operand *Operand, t Type) {
	if operand == nil {
		if t == Object {
			a.Constants[name] = map[string]any{}
		}
		return
	}
	a.Fields = append(a.Fields, Field{Name: name, Operand: operand, Type: t})
}

// uses reports whether an argument reads $name. Authentication does not count: it is what
// $authorization is made of.
func (a *Activity) uses(name string) bool {
	return slices.ContainsFunc(a.Fields, func(f Field) bool { return f.Operand.Uses(name) })
}

// addIn adds a property of an argument that is an object.
func (a *Activity) addIn(in, name string, operand *Operand, t Type) {
	if operand != nil {
		a.Fields = append(a.Fields, Field{In: in, Name: name, Operand: operand, Type: t})
	}
}

// endpoint compiles an address: an expression, or a URI template (T42).
func (c *compiler) endpoint(e *dsl.Endpoint, at location) *Endpoint {
	if e == nil || !e.URI.Present() {
		return nil
	}
	compiled := &Endpoint{Path: at.path(e.URI.Pointer), Authentication: c.authentication(e.Authentication, at)}
	operand := c.value(e.URI, at)
	text, constant := operand.Constant()
	if !constant {
		compiled.Expression = operand
		return compiled
	}
	address, _ := text.(string)
	if strings.TrimSpace(address) == "" {
		return nil // package dsl has refused it: one problem for one mistake
	}
	template, err := expr.CompileURITemplate(address)
	if err != nil {
		c.fail(e.URI.Pointer, CodeTemplate, err.Error(), "")
		return compiled
	}
	compiled.Template, compiled.text = template, address
	return compiled
}
