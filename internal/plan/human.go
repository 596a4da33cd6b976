package plan

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/value"
)

// humanFunction is the function of the default catalog that opens a human task instead of running its document
// (docs/language/call-human.md).
const humanFunction = "human:1.0.0"

// Human is a task for a person.
type Human struct {
	With *Operand // the request, see package human
}

// CodeAssigneeUnknown is a warning: a human task names a user or a group that there is not. It opens all the same.
const CodeAssigneeUnknown = "assignee_unknown"

// maxPeople bounds the assignees that a plan lists.
const maxPeople = 1_000

// Assignee is a user or a group that a human task names. It is in the words of the definition.
type Assignee struct {
	Pointer string
	Name    string
	Group   bool
}

// people lists whom a request names without an expression.
func (c *compiler) people(d *dsl.Call, dynamic func(text string) bool) {
	if c != c.shared.root { // a function from outside has positions of its own
		return
	}
	request, _ := d.With.Value.(map[string]any)
	assignees, _ := request["assignees"].(map[string]any)
	for _, kind := range []string{"users", "groups", "exclude"} {
		list, _ := assignees[kind].([]any)
		for i, v := range list {
			if name, ok := v.(string); ok && !dynamic(name) && len(c.plan.People) < maxPeople {
				c.plan.People = append(c.plan.People, Assignee{fmt.Sprintf("%s/assignees/%s/%d", d.With.Pointer, kind, i), name, kind == "groups"})
			}
		}
	}
}

// humanCall compiles a call of the human function. What is known of its request is held to its contract, with the
// place of each problem; the machine checks the rest when it opens the task.
func (c *compiler) humanCall(compiled *Task, d *dsl.Call, at location) {
	if !d.With.Present() {
		c.fail(d.Pointer, dsl.CodeRequired, fmt.Sprintf("A call of %s needs `with`.", d.Function), "Write at least with: {title: …}.")
		return
	}
	compiled.Human = &Human{With: c.value(d.With, at)}
	dynamic := c.expressions(at)
	c.people(d, dynamic)
	request, problems := human.Parse(d.With.Value, dynamic)
	for _, p := range problems {
		c.fail(d.With.Pointer+p.Pointer, p.Code, p.Detail, p.Hint)
	}
	if request.Form == nil || holdsText(request.Form, dynamic) {
		return
	}
	if _, err := CompileForm(request.Form); err != nil {
		c.badForm(d.With.Pointer+"/form", err)
	}
}

// expressions tells the texts of a value operand that are expressions: in loose mode, any may be one (T4).
func (c *compiler) expressions(at location) func(text string) bool {
	scope := at.scope()
	return func(text string) bool {
		if _, ok := expr.Unwrap(text); ok || c.mode != expr.Loose {
			return ok
		}
		_, err := expr.Compile(text, scope)
		return err == nil
	}
}

// holdsText reports whether a text in a value satisfies a condition.
func holdsText(v value.Value, is func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return is(v)
	case []any:
		for _, item := range v {
			if holdsText(item, is) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if holdsText(item, is) {
				return true
			}
		}
	}
	return false
}

// formRoot is the address of a form. It refers to no other document.
const formRoot = "form:///"

// CompileForm compiles the form of a human task: a JSON Schema that refers to no other document.
func CompileForm(form value.Value) (*Schema, error) {
	var size schemaSize
	size.add(form, formRoot)
	if what, _ := size.excess(); what != "" {
		return nil, errors.New("it has " + what)
	}
	compiled := &Schema{Path: "form", budget: &budget{limit: MaxSchemaSteps}}
	var err error
	compiled.compiled, compiled.titles, err = compileSchema(formRoot, form, compiled.budget, &schemaLoader{compiler: &compiler{}})
	if err != nil {
		return nil, err
	}
	return compiled, nil
}

// FormProblem says in a sentence why CompileForm has refused a form.
func FormProblem(err error) (pointer, detail string) {
	var invalid *jsonschema.SchemaValidationError
	var details *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &details) {
		if found := (&Schema{}).explain(details); len(found) > 0 {
			return found[0].Pointer, "the form is no valid JSON Schema: " + found[0].Detail
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return "", "the form refers to another document, " + load.URL + "; put what it needs into $defs"
	}
	return "", "the form is no valid JSON Schema: " + err.Error()
}

// badForm reports what is wrong with a form.
func (c *compiler) badForm(at string, err error) {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		_, detail := FormProblem(err)
		c.fail(at, CodeSchema, "In `with`, "+detail+".", "")
		return
	}
	c.badSchema(at, err)
}
