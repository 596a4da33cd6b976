package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
)

// function is one entry of use.functions while it is being linked.
type function struct {
	list  *List
	calls []call // of other functions, by its tasks
}

type call struct {
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
	task := c.task(e.Value, place{}, nil)
	task.Name, task.Function = e.Name, e.Name
	f.list.Tasks = []*Task{task}
}

// call compiles a call. It reports whether one of its arguments reads $authorization.
func (c *compiler) call(compiled *Task, d *dsl.Call, at place) bool {
	switch {
	case d.Custom():
		c.customCall(compiled, d, at)
		return false
	case d.HTTP != nil:
		compiled.Activity = c.httpCall(d.HTTP, at)
	case d.OpenAPI != nil:
		compiled.Activity = c.openAPICall(d.OpenAPI, at)
	default:
		c.notSupported(d.Pointer, fmt.Sprintf("`call: %s`", d.Function))
		return false
	}
	for _, f := range compiled.Activity.Fields {
		if uses("authorization", f.Slot) {
			return true
		}
	}
	return false
}

// customCall resolves a name in the order of T36.
func (c *compiler) customCall(compiled *Task, d *dsl.Call, at place) {
	name := d.Function
	switch {
	case strings.Contains(name, "://"):
		c.notSupported(d.Pointer, "A function by URL (`call: "+name+"`)")
		return
	case !has(&c.doc.Use.Functions, name) && strings.Contains(name, "@"):
		c.notSupported(d.Pointer, "A function from a catalog (`call: "+name+"`)")
		return
	case !has(&c.doc.Use.Functions, name):
		c.fail(d.Pointer, CodeUnknownCall, fmt.Sprintf("There is no function named %q.", name),
			"Built in are http and openapi; others are described in use.functions.")
		return
	}
	compiled.Call = &FunctionCall{With: c.value(d.With, at), Body: c.target(name).list}
	owner := functionOf(at.base)
	if owner != "" {
		f := c.target(owner)
		f.calls = append(f.calls, call{d.Pointer, name})
	}
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
	return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
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

func (c *compiler) httpCall(d *dsl.HTTPCall, at place) *Activity {
	a := &Activity{
		Kind:      dsl.CallHTTP,
		Endpoint:  c.endpoint(d.Endpoint, at),
		Constants: map[string]expr.Value{"output": d.Output, "redirect": d.Redirect},
	}
	c.field(a, "method", d.Method, Text, at)
	c.field(a, "headers", d.Headers, Object, at)
	c.field(a, "query", d.Query, Object, at)
	c.field(a, "body", d.Body, Any, at)
	return a
}

func (c *compiler) openAPICall(d *dsl.OpenAPICall, at place) *Activity {
	a := &Activity{
		Kind:           dsl.CallOpenAPI,
		Authentication: c.authentication(d.Authentication, at),
		Constants:      map[string]expr.Value{"output": d.Output, "redirect": d.Redirect},
	}
	if d.Document != nil {
		a.Endpoint = c.endpoint(d.Document.Endpoint, at)
	}
	c.field(a, "operationId", d.OperationID, Text, at)
	c.field(a, "parameters", d.Parameters, Object, at)
	return a
}

// field adds an argument.
func (c *compiler) field(a *Activity, name string, s dsl.Slot, t Type, at place) {
	a.add(name, c.value(s, at), t)
}

func (a *Activity) add(name string, slot *Slot, t Type) {
	if slot == nil {
		if t == Object {
			a.Constants[name] = map[string]any{}
		}
		return
	}
	a.Fields = append(a.Fields, Field{Name: name, Slot: slot, Type: t})
}

// endpoint compiles an address: an expression, or a URI template (T42).
func (c *compiler) endpoint(e *dsl.Endpoint, at place) *Endpoint {
	if e == nil {
		return nil
	}
	compiled := &Endpoint{Path: at.path(e.URI.Pointer), Authentication: c.authentication(e.Authentication, at)}
	slot := c.value(e.URI, at)
	text, constant := slot.Constant()
	if !constant {
		compiled.Expression = slot
		return compiled
	}
	address, _ := text.(string)
	template, err := expr.CompileURITemplate(address)
	if err != nil {
		c.fail(e.URI.Pointer, CodeTemplate, err.Error(), "")
		return compiled
	}
	compiled.Template = template
	return compiled
}

// authentication resolves a policy; nil if there is none.
func (c *compiler) authentication(a *dsl.Authentication, at place) *Authentication {
	if a == nil {
		return nil
	}
	refuse := func(what string) *Authentication {
		c.notSupported(a.Pointer, what)
		return nil
	}
	switch {
	case a.Use != "":
		named, ok := lookUp(c, &c.doc.Use.Authentications, a.Use, a.Pointer+"/use", "authentication", "use.authentications")
		if !ok {
			return nil
		}
		return reuse(c, named.Pointer, place{}, func() *Authentication { return c.authentication(named, place{}) })
	case a.Basic != nil && a.Basic.Secret != "", a.Bearer != nil && a.Bearer.Secret != "":
		return refuse("Authentication by a secret")
	case a.Basic != nil:
		return &Authentication{
			Scheme:   "basic",
			Username: c.value(a.Basic.Username, at), Password: c.value(a.Basic.Password, at),
		}
	case a.Bearer != nil:
		return &Authentication{Scheme: "bearer", Token: c.value(a.Bearer.Token, at)}
	case a.Digest != nil:
		return refuse("`digest` authentication")
	case a.OAuth2 != nil:
		return refuse("`oauth2` authentication")
	default:
		return refuse("`oidc` authentication")
	}
}

// run compiles a process.
func (c *compiler) run(compiled *Task, r *dsl.Run, at place) {
	switch {
	case r.Container != nil:
		c.notSupported(r.Container.Pointer, "`run.container`")
		return
	case r.Workflow != nil:
		c.notSupported(r.Workflow.Pointer, "`run.workflow`")
		return
	case !r.Await:
		c.notSupported(r.Pointer+"/await", "`await: false`")
	}
	if r.Shell != nil {
		compiled.Activity = c.shell(r.Shell, at)
	} else {
		compiled.Activity = c.script(r.Script, at)
	}
	compiled.Activity.Constants["return"] = r.Return
}

func (c *compiler) shell(s *dsl.Shell, at place) *Activity {
	if !slices.Contains(c.options.Run, "shell") {
		c.runNotAllowed(s.Pointer, "run.shell")
	}
	a := &Activity{Kind: "shell", Constants: map[string]expr.Value{}}
	a.add("command", c.literal(s.Command, at), Text)
	c.processFields(a, s.Arguments, s.Environment, s.Stdin, at)
	return a
}

func (c *compiler) script(s *dsl.Script, at place) *Activity {
	language := s.Language
	switch language {
	case "javascript":
		language = "js"
	case "js", "python":
	default:
		c.notSupported(s.Pointer+"/language", fmt.Sprintf("The script language %q", language))
	}
	if !slices.Contains(c.options.Run, "script") && !slices.Contains(c.options.Run, language) {
		c.runNotAllowed(s.Pointer, "run.script in "+language)
	}
	if s.Source != nil {
		c.notSupported(s.Source.Pointer, "A script from an external `source`")
	}
	a := &Activity{Kind: "script", Constants: map[string]expr.Value{"language": language}}
	a.add("code", c.literal(s.Code, at), Text)
	c.processFields(a, s.Arguments, s.Environment, s.Stdin, at)
	return a
}

func (c *compiler) processFields(a *Activity, arguments, environment, stdin dsl.Slot, at place) {
	c.field(a, "arguments", arguments, ListOrMap, at)
	c.field(a, "environment", environment, Object, at)
	c.field(a, "stdin", stdin, Optional, at)
}

func (c *compiler) runNotAllowed(pointer, what string) {
	c.fail(pointer, CodeRunNotAllowed, fmt.Sprintf("`%s` is not allowed on this server.", what),
		"Whoever runs the server can allow it.")
}
