package dsl

import (
	"fmt"
	"strings"
)

func (d *decoder) set(at location) Operand {
	switch {
	case at.shape == shapeText:
		return d.filledOperand(at)
	case at.shape != shapeObject:
		d.wrongType(at, "an object or an expression", quoteHint(at))
		return Operand{}
	case at.isEmpty():
		d.invalid(at, "must have at least one property.", "Write set: '${ {} }' for an empty object.")
	}
	return d.operand(at)
}

var caseObject = object{
	required: []string{"then"},
	hints:    map[string]string{"if": `Did you mean "when"?`, "do": "A case has no tasks: jump to a task with then:."},
	hint:     "Write {when: …, then: …}.",
}

func (d *decoder) switchCases(at location) []*Case {
	if at.shape != shapeList || len(at.items) == 0 {
		d.wrongType(at, "a list of at least one named case", "Write - myCase: {when: …, then: …}.")
		return nil
	}
	cases := make([]*Case, 0, len(at.items))
	lines := make(map[string]int32, len(at.items))
	var defaultCase *Case
	for i := range at.items {
		item := at.item(i)
		if !d.oneKey(item, "case") {
			continue
		}
		m := &item.members[0]
		if !d.checkName(item, m, "case") {
			continue
		}
		d.checkDuplicate(item, m, lines, "cases")
		value := item.property(m)
		c := &Case{Name: m.key, Pointer: value.pointer}
		d.object(value, &caseObject,
			field("when", &c.When, d.expressionOperand),
			field("then", &c.Then, d.directive),
		)
		if value.shape == shapeObject && !value.has("when") {
			if defaultCase != nil {
				d.problem(value, CodeDefaultCases,
					fmt.Sprintf("Case %s has no `when`, but %s is already the default case.", quote(c.Name), quote(defaultCase.Name)),
					"Give one of them a condition.")
			} else {
				defaultCase = c
			}
		}
		cases = append(cases, c)
	}
	return cases
}

var forObject = object{
	required: []string{"in"},
	hints: map[string]string{
		"do":    "Put `do` beside `for`, not into it.",
		"while": "Put `while` beside `for`, not into it.",
		"item":  `Did you mean "each"?`,
		"index": `Did you mean "at"?`,
	},
}

func (d *decoder) loop(task, at location) *For {
	result := &For{Pointer: at.pointer, Each: "item", At: "index"}
	d.object(at, &forObject,
		field("each", &result.Each, d.variable),
		field("in", &result.In, d.collection),
		field("at", &result.At, d.variable),
	)
	if result.Each == result.At && result.Each != "" {
		d.invalid(at, fmt.Sprintf("gives item and index the same name %s.", quote(result.Each)), "")
	}
	if condition, ok := task.get("while"); ok {
		result.While = d.expressionOperand(condition)
	}
	d.require(task, "do")
	if body, ok := task.get("do"); ok {
		result.Do = d.taskList(body)
	}
	return result
}

// collection reads `for.in`: an expression or an inline array of any items (T32).
func (d *decoder) collection(at location) Operand {
	switch at.shape {
	case shapeText:
		return d.filledOperand(at)
	case shapeList:
		return d.operand(at)
	}
	d.wrongType(at, "an expression or a list", "")
	return Operand{}
}

// variable reads the name of a variable, without its $.
func (d *decoder) variable(at location) string {
	name := d.text(at)
	if at.shape != shapeText || isVariable(name) {
		return name
	}
	hint := "Use letters, digits and underscores; the first character is not a digit."
	if bare := strings.TrimPrefix(name, "$"); isVariable(bare) {
		hint = "Write the name without $: " + bare + "."
	}
	d.problem(at, CodeName, fmt.Sprintf("%s is %s, which is no name for a variable.", label(at.pointer), quote(name)), hint)
	return name
}

func isVariable(name string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if name[i] != '_' && (name[i] == '-' || !isLabelByte(name[i])) {
			return false
		}
	}
	return true
}

var forkObject = object{required: []string{"branches"},
	hint: "Write fork: {branches: [...]}."}

func (d *decoder) fork(at location) *Fork {
	result := &Fork{Pointer: at.pointer}
	d.object(at, &forkObject,
		property{"branches", func(value location) {
			if len(value.items) > MaxBranches {
				d.problem(value, CodeTooManyBranches,
					fmt.Sprintf("The fork has %s branches; at most %s are allowed.", thousands(len(value.items)), thousands(MaxBranches)),
					"Use a batch, or a loop.")
			}
			result.Branches = d.namedTasks(value, true)
		}},
		field("compete", &result.Compete, d.boolean(false)),
	)
	return result
}

var raiseObject = object{required: []string{"error"},
	hints: map[string]string{
		"type": "Put type, status and the rest into `error`.", "status": "Put type, status and the rest into `error`.",
	},
	hint: "Write raise: {error: …}."}

func (d *decoder) raise(at location) *Raise {
	result := &Raise{Pointer: at.pointer}
	d.object(at, &raiseObject, property{"error", func(value location) {
		result.Pointer = value.pointer
		switch value.shape {
		case shapeText:
			result.Name = d.filled(value)
		case shapeObject:
			result.Error = d.errorDefinition(value)
		default:
			d.wrongType(value, "an error (an object) or the name of one of `use.errors`", "")
		}
	}})
	return result
}

var errorObject = object{required: []string{"type", "status"},
	hints: map[string]string{"message": `Did you mean "detail"?`, "code": `Did you mean "status"?`}}

func (d *decoder) errorDefinition(at location) *Error {
	result := &Error{Pointer: at.pointer}
	d.object(at, &errorObject,
		field("type", &result.Type, d.uri),
		field("status", &result.Status, d.status),
		field("instance", &result.Instance, d.instance),
		field("title", &result.Title, d.textOperand),
		field("detail", &result.Detail, d.textOperand),
	)
	return result
}

// maxStatus bounds the status of an error; HTTP's are below 600.
const maxStatus = 999

func (d *decoder) status(at location) Operand {
	number, ok := d.integer(at, 0, maxStatus)
	if !ok {
		return Operand{}
	}
	return Operand{Pointer: at.pointer, Value: number}
}

// instance reads a JSON pointer or an expression.
func (d *decoder) instance(at location) Operand {
	operand := d.textOperand(at)
	if text := operand.Text(); text != "" && text[0] != '/' && !d.isExpression(text) {
		d.invalid(at, fmt.Sprintf("is %s; it must be a JSON pointer, which begins with a slash, or an expression.", quote(text)), "")
	}
	return operand
}

var catchObject = object{
	hint: "Write catch: {} to catch every error."}

func (d *decoder) try(task, at location) *Try {
	result := &Try{Do: d.taskList(at)}
	d.require(task, "catch")
	if value, ok := task.get("catch"); ok {
		result.Catch = d.catch(value)
	}
	return result
}

func (d *decoder) catch(at location) *Catch {
	result := &Catch{Pointer: at.pointer, As: "error"}
	d.object(at, &catchObject,
		field("errors", &result.Errors, d.catchErrors),
		field("as", &result.As, d.variable),
		field("when", &result.When, d.expressionOperand),
		field("exceptWhen", &result.ExceptWhen, d.expressionOperand),
		field("retry", &result.Retry, d.retryOrName),
		property{"do", func(value location) {
			result.HasDo = true
			result.Do = d.taskList(value)
		}},
		field("then", &result.Then, d.directive),
	)
	return result
}

var catchErrorsObject = object{hints: map[string]string{
	"type": "Put it into `with`.", "status": "Put it into `with`.",
}}

func (d *decoder) catchErrors(at location) *ErrorFilter {
	var result *ErrorFilter
	d.object(at, &catchErrorsObject, property{"with", func(value location) { result = d.errorFilter(value) }})
	return result
}

func (d *decoder) errorFilter(at location) *ErrorFilter {
	result := &ErrorFilter{Pointer: at.pointer}
	if at.isEmpty() {
		d.invalid(at, "must have at least one property.", "Leave `errors` out to catch every error.")
	}
	d.object(at, &object{},
		field("type", &result.Type, d.textOperand),
		field("status", &result.Status, d.status),
		field("instance", &result.Instance, d.textOperand),
		field("title", &result.Title, d.textOperand),
		field("detail", &result.Detail, d.textOperand),
		property{"details", func(value location) { // versions up to 1.0.3 spelt it so
			d.warning(value, CodeDeprecated, `"details" is the old name of "detail".`, `Write "detail".`)
			if at.has("detail") {
				d.problem(value, CodeConflict, `"detail" and "details" are the same property.`, "Remove one of them.")
				return
			}
			result.Detail = d.textOperand(value)
		}},
	)
	return result
}

var retryObject = object{
	hints: map[string]string{"count": "Write limit: {attempt: {count: …}}.", "attempts": "Write limit: {attempt: {count: …}}."}}

// retryOrName reads a retry policy or the name of one.
func (d *decoder) retryOrName(at location) *Retry {
	switch at.shape {
	case shapeText:
		return &Retry{Pointer: at.pointer, Name: d.filled(at)}
	case shapeObject:
		return d.retry(at)
	}
	d.wrongType(at, "a retry policy (an object) or the name of one of `use.retries`", "")
	return nil
}

func (d *decoder) retry(at location) *Retry {
	result := &Retry{Pointer: at.pointer}
	d.object(at, &retryObject,
		field("when", &result.When, d.expressionOperand),
		field("exceptWhen", &result.ExceptWhen, d.expressionOperand),
		field("delay", &result.Delay, d.duration),
		field("backoff", &result.Backoff, d.backoff),
		field("limit", &result.Limit, d.retryLimit),
		property{"jitter", func(value location) { result.JitterFrom, result.JitterTo = d.jitter(value) }},
	)
	return result
}

var backoffObject = object{hint: "Write for example backoff: {exponential: {}}."}

func (d *decoder) backoff(at location) Backoff {
	result := BackoffConstant
	strategy := func(name string, backoff Backoff) property {
		return property{name, func(value location) {
			d.strategyOfBackoff(value)
			result = backoff
		}}
	}
	d.object(at, &backoffObject,
		strategy("constant", BackoffConstant),
		strategy("linear", BackoffLinear),
		strategy("exponential", BackoffExponential),
	)
	d.exactlyOne(at, "constant", "linear", "exponential")
	return result
}

// strategyOfBackoff reads the empty object of a strategy. The schema leaves it open, so that
// other runtimes may have properties there; none of them means anything here (T95).
func (d *decoder) strategyOfBackoff(at location) {
	if at.shape != shapeObject {
		d.wrongType(at, "an object", "Write {}.")
		return
	}
	for i := range at.members {
		m := &at.members[i]
		value := keyLocation(at, m)
		d.checkDepth(value)
		d.warning(value, CodeUnused, fmt.Sprintf("%s has no properties here; %s is ignored.", label(at.pointer), quote(m.key)),
			"Remove it; the delay grows from `delay`, with `jitter` beside `backoff`.")
	}
}

var retryLimitObject = object{hints: map[string]string{"count": "Write attempt: {count: …}."}}

// maxRetries bounds `limit.attempt.count`.
const maxRetries = 1_000_000

func (d *decoder) retryLimit(at location) RetryLimit {
	result := RetryLimit{Pointer: at.pointer}
	d.object(at, &retryLimitObject,
		property{"attempt", func(value location) {
			d.object(value, &object{},
				property{"count", func(value location) {
					if count, ok := d.integer(value, 0, maxRetries); ok {
						result.AttemptCount = &count
					}
				}},
				field("duration", &result.AttemptDuration, d.duration),
			)
		}},
		field("duration", &result.Duration, d.duration),
	)
	return result
}

func (d *decoder) jitter(at location) (from, to *Duration) {
	d.object(at, &object{required: []string{"from", "to"}},
		field("from", &from, d.duration),
		field("to", &to, d.duration),
	)
	if from != nil && to != nil && from.Constant() && to.Constant() &&
		from.Span.Months == to.Span.Months && from.Span.Milliseconds > to.Span.Milliseconds {
		d.invalid(at, `must not have a "from" above its "to".`, "")
	}
	return from, to
}
