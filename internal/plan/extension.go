package plan

import "github.com/chargehand/chargehand/internal/dsl"

// Extension runs lists of tasks around others (T35).
type Extension struct {
	Name   string
	Extend string
	When   *Operand // nil: always
	Before *List    // nil if there is none
	After  *List    // nil if there is none
}

// extensions compiles use.extensions. Their tasks see none of the variables of the tasks
// that they extend.
func (c *compiler) extensions() {
	c.extending = true
	for _, e := range c.doc.Use.Extensions {
		compiled := &Extension{Name: e.Name, Extend: e.Extend, When: c.condition(e.When, location{})}
		if len(e.Before) > 0 {
			compiled.Before = c.list(e.Before, location{})
		}
		if len(e.After) > 0 {
			compiled.After = c.list(e.After, location{})
		}
		c.plan.Extensions = append(c.plan.Extensions, compiled)
	}
	c.extending = false
}

// extends reports whether the extension is for tasks like t. `composite` is `do` and `fork`.
func (e *Extension) extends(t *Task) bool {
	switch e.Extend {
	case "all":
		return t.Function == ""
	case "call":
		return t.Kind == dsl.KindCall && t.Function == ""
	case "composite":
		return t.Kind == dsl.KindDo || t.Kind == dsl.KindFork
	default:
		return e.Extend == t.Kind.String()
	}
}
