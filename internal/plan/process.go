package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// Child is another workflow to run (T51).
type Child struct {
	Namespace string
	Name      string
	Version   string   // "latest": the published one (T85)
	Input     *Operand // nil: the transformed input
	NoOutput  bool     // `return: none`: the output is null
}

// run compiles a process or the run of another workflow.
func (c *compiler) run(compiled *Task, r *dsl.Run, at location) {
	if r == nil {
		return
	}
	compiled.Detached = !r.Await
	switch {
	case r.Workflow != nil:
		w := r.Workflow
		compiled.Child = &Child{
			Namespace: w.Namespace, Name: w.Name, Version: w.Version,
			Input: c.value(w.Input, at), NoOutput: r.Return == dsl.ReturnNone,
		}
		return
	case r.Container != nil:
		compiled.Activity = c.container(r.Container, at)
	case r.Shell != nil:
		compiled.Activity = c.shell(r.Shell, at)
	case r.Script != nil:
		compiled.Activity = c.script(r.Script, at)
	default: // package dsl has refused it
		return
	}
	compiled.Activity.Constants["return"] = r.Return
}

func (c *compiler) shell(s *dsl.Shell, at location) *Activity {
	if !slices.Contains(c.options.Run, "shell") {
		c.runNotAllowed(s.Pointer, "run.shell", "shell")
	}
	a := &Activity{Kind: "shell", Constants: map[string]value.Value{}}
	a.add("command", c.command(s.Command, "command", at), Text)
	c.processFields(a, s.Arguments, s.Environment, s.Stdin, at)
	if !slices.IsSorted(s.ArgumentOrder) { // else the order of its keys is that of the definition
		order := make([]any, len(s.ArgumentOrder))
		for i, key := range s.ArgumentOrder {
			order[i] = key
		}
		a.Constants["argumentOrder"] = order
	}
	c.unusedArguments(s)
	c.secretArguments(s.Arguments)
	return a
}

func (c *compiler) script(s *dsl.Script, at location) *Activity {
	language := s.Language
	switch language {
	case "javascript":
		language = "js"
	case "js", "python":
	default:
		c.notSupported(s.Pointer+"/language", fmt.Sprintf("The script language %q", language))
	}
	if !slices.Contains(c.options.Run, "script") && !slices.Contains(c.options.Run, language) {
		c.runNotAllowed(s.Pointer, "run.script in "+language, language)
	}
	a := &Activity{Kind: "script", Constants: map[string]value.Value{"language": language}}
	a.add("code", c.command(s.Code, "code", at), Text)
	if c.self != nil && isLogFunction(c.self.key) {
		root := c.shared.root.doc
		a.Constants["serverLog"] = root.Namespace + "/" + root.Name
	}
	c.resource(a, "source", ResourceScript, s.Source, at)
	for i, r := range a.Resources {
		if r.Endpoint == nil { // pinned: the activity needs not know where it came from
			a.Constants["code"] = r.Content
			a.Resources = slices.Delete(a.Resources, i, i+1)
			break
		}
	}
	c.processFields(a, s.Arguments, s.Environment, s.Stdin, at)
	if language == "python" { // JavaScript has no command line
		c.secretArguments(s.Arguments)
	}
	return a
}

// isLogFunction tells the function of the server's own catalog whose line goes to the server's log
// by the key of its document, which no other document can have.
func isLogFunction(key string) bool {
	return strings.HasPrefix(key, "log:") && strings.HasSuffix(key, "@"+defaultCatalog)
}

func (c *compiler) container(d *dsl.Container, at location) *Activity {
	if !slices.Contains(c.options.Run, "container") {
		c.runNotAllowed(d.Pointer, "run.container", "container")
	}
	definition := c.shared.root.doc // a function from outside runs in the workflow that calls it
	a := &Activity{Kind: "container", Constants: map[string]value.Value{
		"pullPolicy": d.PullPolicy, "cleanup": d.Cleanup,
		"workflow": map[string]any{"namespace": definition.Namespace, "name": definition.Name},
	}}
	c.field(a, "image", d.Image, Text, at)
	a.add("name", c.containerName(d.Name, at), Text)
	a.add("command", c.command(d.Command, "command", at), Text)
	c.secretArguments(d.Arguments)
	c.field(a, "ports", d.Ports, Object, at)
	c.field(a, "volumes", d.Volumes, Object, at)
	c.processFields(a, d.Arguments, d.Environment, d.Stdin, at)
	if d.CleanupAfter != nil {
		a.Durations = append(a.Durations, DurationField{Name: "cleanupAfterMs", Duration: c.duration(d.CleanupAfter, at)})
	}
	return a
}

// containerName is an expression, or plainly a name: the reference calls it an expression,
// and most names are none.
func (c *compiler) containerName(s dsl.Operand, at location) *Operand {
	if text := strings.TrimSpace(s.Text()); strings.HasPrefix(text, ".") || strings.HasPrefix(text, "$") {
		return c.expression(s, at)
	}
	return c.value(s, at)
}

func (c *compiler) processFields(a *Activity, arguments, environment, stdin dsl.Operand, at location) {
	c.field(a, "arguments", arguments, ListOrMap, at)
	c.field(a, "environment", environment, Object, at)
	c.field(a, "stdin", stdin, Optional, at)
}

func (c *compiler) runNotAllowed(pointer, what, kind string) {
	c.fail(pointer, CodeRunNotAllowed, fmt.Sprintf("`%s` is not allowed on this server.", what),
		"The operator of the server can allow it with --allow-run "+kind+".")
}
