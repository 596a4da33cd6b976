package dslschema

import "slices"

// kind is a kind of task: its keyword, what else belongs to it, and what of that must be there.
type kind struct {
	keyword  string
	second   []string
	required []string
}

var kinds = []kind{
	{keyword: "call", second: []string{"with"}},
	{keyword: "do"},
	{keyword: "emit"},
	{keyword: "for", second: []string{"while", "do"}, required: []string{"do"}},
	{keyword: "fork"},
	{keyword: "listen", second: []string{"foreach"}},
	{keyword: "raise"},
	{keyword: "run"},
	{keyword: "set"},
	{keyword: "switch"},
	{keyword: "try", second: []string{"catch"}, required: []string{"catch"}},
	{keyword: "wait"},
}

// common are the properties of tasks of every kind.
var common = schema{
	property("if", ref("expression", "The task runs only if this is true.")),
	property("input", ref("input", "What the task takes, and how it is prepared.")),
	property("output", ref("output", "What the task gives to the next one.")),
	property("export", ref("output", "What $context is after the task.")),
	property("timeout", ref("timeout", "The time that the task takes at most; then it ends in error.")),
	property("then", ref("directive", "What comes after the task. Without it: the next one of the list.")),
	property("metadata", open("Anything else to keep with the task.")),
}

// own are the properties of the kinds.
var own = schema{
	property("call", filled("Calls a service or a function: http, openapi, grpc, asyncapi, a2a, mcp, the name of an entry of use.functions, or NAME:VERSION@CATALOG.").
		with("examples", []string{"http", "openapi", "grpc", "log:1.0.0@default", "human:1.0.0@default"})),
	property("with", open("The arguments of the call.")),
	property("do", ref("tasks", "Runs tasks in order; beside for: in every pass.")),
	property("emit", ref("emit", "Sends an event.")),
	property("for", ref("for", "Runs the tasks of do for every item of a list.")),
	property("while", ref("expression", "The loop ends before the first pass for which this is false.")),
	property("fork", ref("fork", "Runs branches side by side.")),
	property("listen", ref("listen", "Waits for events.")),
	property("foreach", ref("iterator", "What is done with every event, as it comes in.")),
	property("raise", ref("raise", "Raises an error.")),
	property("run", ref("run", "Runs a program, a script, a container or another workflow.")),
	property("set", either("Gives this value as output.", filled(""), open("").with("minProperties", 1))),
	property("switch", namedItems("Continues where the first case leads that is true.", ref("case", "")).with("minItems", 1)),
	property("try", ref("tasks", "Runs tasks, and catches their errors.")),
	property("catch", ref("catch", "Which errors are caught, and what is done then.")),
	property("wait", ref("duration", "Waits for this long.")),
}

// task is one object with the properties of all kinds, so that editors offer them in an empty task. Each keyword then
// allows those of its kind only.
func task() schema {
	keywords := make([]string, len(kinds))
	rules := make([]schema, 0, len(kinds))
	for i, k := range kinds {
		keywords[i] = k.keyword
		condition := has(k.keyword)
		if k.keyword == "do" {
			condition = condition.with("not", has("for"))
		}
		rule := schema{{"propertyNames", schema{{"enum", slices.Concat([]string{k.keyword}, k.second, names(common))}}}}
		if len(k.required) > 0 {
			rule = rule.with("required", k.required)
		}
		rules = append(rules, schema{{"if", condition}, {"then", rule}})
	}
	for _, c := range calls {
		rules = append(rules, schema{{"if", equals("call", c.name)},
			{"then", has("with").with("properties", schema{{"with", ref(c.arguments, c.about)}})}})
	}
	return closed("A task. One property says what it does.", nil, slices.Concat(own, common)...).
		with("anyOf", oneOf(keywords...)).with("allOf", rules)
}

func names(properties schema) []string {
	all := make([]string, len(properties))
	for i := range properties {
		all[i] = properties[i].key
	}
	return all
}

func taskParts() schema {
	return slices.Concat(schema{
		{"tasks", namedItems("Tasks, each with a name that is its own in the list.", ref("task", ""))},
		{"task", task()},
		{"directive", either("continue: the next task. exit: the end of this list. end: the end of the workflow. Otherwise the name of a task of the same list.",
			schema{{"enum", []string{"continue", "exit", "end"}}}, filled(""))},
		{"case", closed("A case of a switch.", []string{"then"},
			property("when", ref("expression", "The case is taken if this is true. Without it: if no other case is.")),
			property("then", ref("directive", "Where the case leads.")),
		)},
		{"for", closed("What a loop goes over.", []string{"in"},
			property("each", ref("variable", "The name of the variable with the item.").with("default", "item")),
			property("in", either("The list: an expression, or a list as such.", filled(""), typed("array", ""))),
			property("at", ref("variable", "The name of the variable with the index, from 0.").with("default", "index")),
		)},
		{"fork", closed("Branches that run side by side.", []string{"branches"},
			property("branches", ref("tasks", "The branches, each a task.").with("maxItems", 1000)),
			property("compete", flag("The first branch to finish gives the output, and the others are cancelled.", false)),
		)},
		{"raise", closed("An error to raise.", []string{"error"},
			property("error", either("The error, or the name of an entry of use.errors.", filled(""), ref("error", ""))),
		)},
		{"error", closed("An error.", []string{"type", "status"},
			property("type", ref("uri", "What kind of error it is: an address.")),
			property("status", whole("A number as HTTP has them.", 0, 999)),
			property("instance", text("Where it happened: a JSON pointer. Default: the task.")),
			property("title", text("What people read as the name of the error.")),
			property("detail", text("What went wrong.")),
		)},
	}, tryParts())
}

func tryParts() schema {
	return schema{
		{"catch", closed("Which errors are caught, and what is done then.", nil,
			property("errors", ref("caughtErrors", "The errors that are caught. Without it: every one.")),
			property("as", ref("variable", "The name of the variable with the error.").with("default", "error")),
			property("when", ref("expression", "Catch only if this is true.")),
			property("exceptWhen", ref("expression", "Do not catch if this is true.")),
			property("retry", either("How to try again, or the name of an entry of use.retries.", filled(""), ref("retry", ""))),
			property("do", ref("tasks", "The tasks that run when no further try is left.")),
			property("then", ref("directive", "What comes after an error that was caught.")),
		)},
		{"caughtErrors", closed("The errors that are caught.", nil,
			property("with", ref("errorFilter", "What an error must be like to be caught.")),
		)},
		{"errorFilter", closed("What an error must be like; all that is given must fit.", nil,
			property("type", text("Its type.")),
			property("status", whole("Its status.", 0, 999)),
			property("instance", text("Where it happened.")),
			property("title", text("Its title.")),
			property("detail", text("Its detail.")),
			property("details", text("The old name of detail.").with("deprecated", true)),
		).with("minProperties", 1).with("not", has("detail", "details"))},
		{"retry", closed("When and how often to try again.", nil,
			property("when", ref("expression", "Try again only if this is true.")),
			property("exceptWhen", ref("expression", "Do not try again if this is true.")),
			property("delay", ref("duration", "The time before the second try.")),
			property("backoff", ref("backoff", "How the time grows from try to try.")),
			property("limit", ref("retryLimit", "Where to stop.")),
			property("jitter", ref("jitter", "A random time to add to each delay.")),
		)},
		{"backoff", closed("How the time before a try grows: one of the three.", nil,
			property("constant", open("Always the delay. Write {}.")),
			property("linear", open("Once, twice, three times the delay. Write {}.")),
			property("exponential", open("Twice as long each time. Write {}.")),
		).one()},
		{"retryLimit", closed("Where to stop trying.", nil,
			property("attempt", ref("attemptLimit", "How many tries, and how long each.")),
			property("duration", ref("duration", "The time that all tries together take at most.")),
		)},
		{"attemptLimit", closed("How many tries, and how long each.", nil,
			property("count", whole("How many tries at most.", 0, 1_000_000)),
			property("duration", ref("duration", "The time that one try takes at most.")),
		)},
		{"jitter", closed("A random time.", []string{"from", "to"},
			property("from", ref("duration", "At least this.")),
			property("to", ref("duration", "At most this.")),
		)},
	}
}
