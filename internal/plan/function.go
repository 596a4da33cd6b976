package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
)

// defaultCatalog is the name of the catalog that is part of the server, unless the
// definition has one of that name.
const defaultCatalog = "default"

// remoteFunction is a function from a catalog or a URL. It is compiled once for all callers,
// after everything else, so that the tasks of the definition itself keep their numbers.
type remoteFunction struct {
	key     string // the resource's, or the call of the default catalog
	name    string // for people
	content []byte
	caller  string // pointer of the first call in the definition
	list    *List
	calls   []*remoteFunction
}

// customCall resolves a name in the order of T36.
func (c *compiler) customCall(compiled *Task, d *dsl.Call, at location) {
	name := d.Function
	call := &FunctionCall{With: c.value(d.With, at)}
	switch {
	case strings.Contains(name, "://"):
		call.Body = c.remoteBody(d, rawURI(name, false), name)
	case has(&c.doc.Use.Functions, name):
		call.Body = c.target(name).list
		if owner := functionOf(at.base); owner != "" {
			f := c.target(owner)
			f.calls = append(f.calls, functionCall{d.Pointer, name})
		}
	case name == humanFunction+"@"+defaultCatalog && !has(&c.shared.root.doc.Use.Catalogs, defaultCatalog):
		c.humanCall(compiled, d, at)
	case strings.Contains(name, "@"):
		call.Body = c.cataloged(d)
	default:
		c.unknownFunction(d)
	}
	if call.Body != nil {
		compiled.Call = call
	}
}

func (c *compiler) unknownFunction(d *dsl.Call) {
	if c.shared.broken {
		return // it may be what could not be read
	}
	known := []string{dsl.CallHTTP, dsl.CallOpenAPI, dsl.CallGRPC, dsl.CallAsyncAPI, dsl.CallA2A, dsl.CallMCP}
	for _, e := range c.doc.Use.Functions.Entries {
		known = append(known, e.Name)
	}
	hint := dsl.Suggest(d.Function, known)
	if name, _, versioned := strings.Cut(d.Function, ":"); hint == "" && !strings.Contains(d.Function, "@") {
		for _, known := range CatalogNames() {
			if d.Function == known || !versioned && strings.HasPrefix(known, name+":") {
				hint = fmt.Sprintf("Did you mean %q?", known+"@"+defaultCatalog)
			}
		}
	}
	if hint == "" {
		hint = "Built in are http, openapi, grpc, asyncapi, a2a and mcp; others are described in use.functions, or named as name:version@catalog or by their URL."
	}
	c.fail(d.Pointer, CodeUnknownCall, fmt.Sprintf("There is no function named %q.", d.Function), hint)
}

// functionName matches name:version@catalog.
var functionName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9-]*):([0-9A-Za-z][0-9A-Za-z.+-]*)@(.+)$`)

// cataloged resolves name:version@catalog. Catalogs are those of the definition, also in
// functions that come from one.
func (c *compiler) cataloged(d *dsl.Call) *List {
	found := functionName.FindStringSubmatch(d.Function)
	if found == nil {
		c.fail(d.Pointer, CodeUnknownCall, fmt.Sprintf("%q is no name of a function.", d.Function), "Write name:version@catalog, for example log:1.0.0@default.")
		return nil
	}
	name, version, from := found[1], found[2], found[3]
	catalogs := &c.shared.root.doc.Use.Catalogs
	if endpoint, ok := catalogs.Get(from); ok {
		return c.catalogBody(d, endpoint, "/functions/"+name+"/"+version+"/function.yaml")
	}
	if from != defaultCatalog {
		if c.shared.broken {
			return nil
		}
		known := []string{defaultCatalog}
		for _, e := range catalogs.Entries {
			known = append(known, e.Name)
		}
		hint := dsl.Suggest(from, known)
		if hint == "" {
			hint = "Catalogs are listed in use.catalogs; the server's own is named default."
		}
		c.fail(d.Pointer, CodeUnknownName, fmt.Sprintf("There is no catalog named %q.", from), hint)
		return nil
	}
	content, ok := CatalogFunction(name, version)
	if !ok {
		hint := dsl.Suggest(name+":"+version, CatalogNames())
		if hint == "" {
			hint = fmt.Sprintf("It has: %s.", listed(CatalogNames()))
		}
		c.fail(d.Pointer, CodeUnknownCall, fmt.Sprintf("The default catalog has no function %s:%s.", name, version), hint)
		return nil
	}
	return c.remote(d, d.Function, d.Function, content)
}

// catalogBody finds a function in a catalog that the definition names.
func (c *compiler) catalogBody(d *dsl.Call, endpoint *dsl.Endpoint, path string) *List {
	root := c.shared.root
	compiled := root.endpoint(endpoint, location{})
	if compiled == nil {
		return nil
	}
	address, ok := compiled.Constant()
	if !ok {
		return nil // it is refused where it stands
	}
	authentication, ok := compiled.Authentication.Constant()
	if !ok {
		return nil
	}
	uri := below(rawURI(address, true), path)
	content, state := c.fetchedURI(uri, ResourceFunction, d.Pointer, authentication)
	return c.fetchedBody(d, resourceKey(uri, authentication), d.Function, content, state)
}

// below puts a path after that of an address, in front of its query.
func below(address, path string) string {
	address, _, _ = strings.Cut(address, "#")
	address, query, found := strings.Cut(address, "?")
	if found {
		query = "?" + query
	}
	return strings.TrimRight(address, "/") + path + query
}

// remoteBody finds a function by its URL.
func (c *compiler) remoteBody(d *dsl.Call, uri, name string) *List {
	content, state := c.fetchedURI(uri, ResourceFunction, d.Pointer, nil)
	return c.fetchedBody(d, uri, name, content, state)
}

func (c *compiler) fetchedBody(d *dsl.Call, key, name string, content []byte, state availability) *List {
	if state != available {
		return nil
	}
	return c.remote(d, key, name, content)
}

// remote gives the list that will hold the body of a function from outside.
func (c *compiler) remote(d *dsl.Call, key, name string, content []byte) *List {
	s := c.shared
	f := s.remote[key]
	if f == nil {
		f = &remoteFunction{key: key, name: name, content: content, caller: c.rootPointer(d.Pointer), list: &List{}}
		s.remote[key] = f
		s.queue = append(s.queue, f)
	}
	if c.self != nil {
		c.self.calls = append(c.self.calls, f)
	}
	return f.list
}

// remoteFunctions compiles what was called, and what that calls in turn.
func (c *compiler) remoteFunctions() {
	s := c.shared
	for i := 0; i < len(s.queue); i++ {
		f := s.queue[i]
		inner := &compiler{
			options: c.options, plan: c.plan, shared: s, self: f, functions: map[string]*function{},
			used: map[string]bool{}, sizes: map[string]int{}, compiled: map[string]any{},
		}
		doc, problems := dsl.ParseFunction(f.content, f.name)
		if doc == nil {
			for _, p := range problems.Errors() {
				inner.tell(p.Line, p.Code, p.Detail, p.Hint)
			}
			continue
		}
		inner.doc = doc
		e := &doc.Use.Functions.Entries[0]
		task := inner.task(e.Value, location{}, nil)
		task.Name, task.Function = f.name, f.name
		f.list.Tasks = []*Task{task}
	}
	c.checkRemoteCalls()
}

// checkRemoteCalls refuses functions from outside that call themselves.
func (c *compiler) checkRemoteCalls() {
	state := map[*remoteFunction]int{} // 1: open, 2: closed
	var visit func(f *remoteFunction) bool
	visit = func(f *remoteFunction) bool {
		state[f] = 1
		for _, next := range f.calls {
			if state[next] == 1 || state[next] == 0 && !visit(next) {
				return false
			}
		}
		state[f] = 2
		return true
	}
	for _, f := range c.shared.queue {
		if state[f] == 0 && !visit(f) {
			c.fail(f.caller, CodeRecursion,
				fmt.Sprintf("The function %s calls itself; functions are inlined and cannot be recursive.", f.name), "")
			return
		}
	}
}

// rootPointer is where in the definition a place belongs to: in functions from outside, the
// call of the function.
func (c *compiler) rootPointer(pointer string) string {
	if c.self != nil {
		return c.self.caller
	}
	return pointer
}

// tell reports a problem in a function from outside at its call.
func (c *compiler) tell(line int, code, detail, hint string) {
	c.shared.root.fail(c.self.caller, code, fmt.Sprintf("In line %d of the function %s: %s", line, c.self.name, detail), hint)
}

// checkCatalogs refuses catalogs whose functions could not be fetched now.
func (c *compiler) checkCatalogs() {
	for _, e := range c.doc.Use.Catalogs.Entries {
		compiled := c.endpoint(e.Value, location{})
		if compiled == nil {
			continue
		}
		if _, ok := compiled.Constant(); !ok {
			c.notSupported(e.Pointer+"/endpoint", "A catalog whose address depends on the data")
		}
		if _, ok := compiled.Authentication.Constant(); !ok {
			c.notSupported(e.Pointer+"/endpoint", "A catalog whose authentication depends on the data or on secrets")
		}
	}
}

// linkExtensions tells the tasks which extensions apply to them (T35): not to those inside
// of extensions or of functions from outside. The body of a function is extended for what it
// does; as a call, its caller is.
func (c *compiler) linkExtensions() {
	if len(c.plan.Extensions) == 0 {
		return
	}
	for _, t := range c.plan.Tasks {
		if t.extending || t.Remote {
			continue
		}
		for _, e := range c.plan.Extensions {
			if e.extends(t) {
				t.Extensions = append(t.Extensions, e)
			}
		}
		t.Extensions = slices.Clip(t.Extensions)
	}
}
