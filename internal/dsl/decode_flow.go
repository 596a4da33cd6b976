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
	known:    []string{"when", "then"},
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
		for key, part := range d.fields(value, &caseObject) {
			switch key {
			case "when":
				c.When = d.expressionOperand(part)
			case "then":
				c.Then = d.directive(part)
			}
		}
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
	known:    []string{"each", "in", "at"},
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
	for key, value := range d.fields(at, &forObject) {
		switch key {
		case "each":
			result.Each = d.variable(value)
		case "at":
			result.At = d.variable(value)
		case "in":
			result.In = d.collection(value)
		}
	}
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

var forkObject = object{known: []string{"branches", "compete"}, required: []string{"branches"},
	hint: "Write fork: {branches: [...]}."}

func (d *decoder) fork(at location) *Fork {
	result := &Fork{Pointer: at.pointer}
	for key, value := range d.fields(at, &forkObject) {
		switch key {
		case "branches":
			if len(value.items) > MaxBranches {
				d.problem(value, CodeTooManyBranches,
					fmt.Sprintf("The fork has %s branches; at most %s are allowed.", thousands(len(value.items)), thousands(MaxBranches)),
					"Use a batch, or a loop.")
			}
			result.Branches = d.namedTasks(value, true)
		case "compete":
			result.Compete = d.boolean(value, false)
		}
	}
	return result
}

var raiseObject = object{known: []string{"error"}, required: []string{"error"},
	hints: map[string]string{
		"type": "Put type, status and the rest into `error`.", "status": "Put type, status and the rest into `error`.",
	},
	hint: "Write raise: {error: …}."}

func (d *decoder) raise(at location) *Raise {
	result := &Raise{Pointer: at.pointer}
	for _, value := range d.fields(at, &raiseObject) {
		result.Pointer = value.pointer
		if value.shape == shapeText {
			result.Name = d.filled(value)
			continue
		}
		if value.shape != shapeObject {
			d.wrongType(value, "an error (an object) or the name of one of `use.errors`", "")
			continue
		}
		result.Error = d.errorDefinition(value)
	}
	return result
}

var errorObject = object{known: []string{"type", "status", "instance", "title", "detail"}, required: []string{"type", "status"},
	hints: map[string]string{"message": `Did you mean "detail"?`, "code": `Did you mean "status"?`}}

func (d *decoder) errorDefinition(at location) *Error {
	result := &Error{Pointer: at.pointer}
	for key, value := range d.fields(at, &errorObject) {
		switch key {
		case "type":
			result.Type = d.uri(value)
		case "status":
			result.Status = d.status(value)
		case "instance":
			result.Instance = d.instance(value)
		case "title":
			result.Title = d.textOperand(value)
		case "detail":
			result.Detail = d.textOperand(value)
		}
	}
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

var catchObject = object{known: []string{"errors", "as", "when", "exceptWhen", "retry", "do", "then"},
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
	for key, value := range d.fields(at, &catchObject) {
		switch key {
		case "errors":
			result.Errors = d.catchErrors(value)
		case "as":
			result.As = d.variable(value)
		case "when":
			result.When = d.expressionOperand(value)
		case "exceptWhen":
			result.ExceptWhen = d.expressionOperand(value)
		case "retry":
			result.Retry = d.retryOrName(value)
		case "do":
			result.HasDo = true
			result.Do = d.taskList(value)
		case "then":
			result.Then = d.directive(value)
		}
	}
	return result
}

var catchErrorsObject = object{known: []string{"with"}, hints: map[string]string{
	"type": "Put it into `with`.", "status": "Put it into `with`.",
}}

func (d *decoder) catchErrors(at location) *ErrorFilter {
	var result *ErrorFilter
	for _, value := range d.fields(at, &catchErrorsObject) {
		result = d.errorFilter(value)
	}
	return result
}

var errorFilterObject = object{known: []string{"type", "status", "instance", "title", "detail", "details"}}

func (d *decoder) errorFilter(at location) *ErrorFilter {
	result := &ErrorFilter{Pointer: at.pointer}
	if at.isEmpty() {
		d.invalid(at, "must have at least one property.", "Leave `errors` out to catch every error.")
	}
	for key, value := range d.fields(at, &errorFilterObject) {
		switch key {
		case "type":
			result.Type = d.textOperand(value)
		case "status":
			result.Status = d.status(value)
		case "instance":
			result.Instance = d.textOperand(value)
		case "title":
			result.Title = d.textOperand(value)
		case "details":
			// Versions up to 1.0.3 spelt it so.
			d.warning(value, CodeDeprecated, `"details" is the old name of "detail".`, `Write "detail".`)
			if at.has("detail") {
				d.problem(value, CodeConflict, `"detail" and "details" are the same property.`, "Remove one of them.")
				continue
			}
			fallthrough
		case "detail":
			result.Detail = d.textOperand(value)
		}
	}
	return result
}

var retryObject = object{known: []string{"when", "exceptWhen", "delay", "backoff", "limit", "jitter"},
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
	for key, value := range d.fields(at, &retryObject) {
		switch key {
		case "when":
			result.When = d.expressionOperand(value)
		case "exceptWhen":
			result.ExceptWhen = d.expressionOperand(value)
		case "delay":
			result.Delay = d.duration(value)
		case "backoff":
			result.Backoff = d.backoff(value)
		case "limit":
			result.Limit = d.retryLimit(value)
		case "jitter":
			result.JitterFrom, result.JitterTo = d.jitter(value)
		}
	}
	return result
}

var (
	backoffNames  = []string{"constant", "linear", "exponential"}
	backoffObject = object{known: backoffNames, hint: "Write for example backoff: {exponential: {}}."}
)

func (d *decoder) backoff(at location) Backoff {
	result := BackoffConstant
	for key, value := range d.fields(at, &backoffObject) {
		d.strategyOfBackoff(value)
		switch key {
		case "linear":
			result = BackoffLinear
		case "exponential":
			result = BackoffExponential
		}
	}
	d.exactlyOne(at, backoffNames...)
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

var (
	retryLimitObject   = object{known: []string{"attempt", "duration"}, hints: map[string]string{"count": "Write attempt: {count: …}."}}
	attemptLimitObject = object{known: []string{"count", "duration"}}
)

// maxRetries bounds `limit.attempt.count`.
const maxRetries = 1_000_000

func (d *decoder) retryLimit(at location) RetryLimit {
	result := RetryLimit{Pointer: at.pointer}
	for key, value := range d.fields(at, &retryLimitObject) {
		if key == "duration" {
			result.Duration = d.duration(value)
			continue
		}
		for key, value := range d.fields(value, &attemptLimitObject) {
			if key == "duration" {
				result.AttemptDuration = d.duration(value)
			} else if count, ok := d.integer(value, 0, maxRetries); ok {
				result.AttemptCount = &count
			}
		}
	}
	return result
}

var jitterObject = object{known: []string{"from", "to"}, required: []string{"from", "to"}}

func (d *decoder) jitter(at location) (from, to *Duration) {
	for key, value := range d.fields(at, &jitterObject) {
		if key == "from" {
			from = d.duration(value)
		} else {
			to = d.duration(value)
		}
	}
	if from != nil && to != nil && from.Constant() && to.Constant() &&
		from.Span.Months == to.Span.Months && from.Span.Milliseconds > to.Span.Milliseconds {
		d.invalid(at, `must not have a "from" above its "to".`, "")
	}
	return from, to
}
