package api

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// maxValues bounds the values of a filter that may be repeated.
const maxValues = 20

const badLabel = "must be the name of a label, a colon and its value, such as team:blue."

// maxFilterText bounds the text of a filter, in bytes.
const maxFilterText = 1100

// CauseKinds are what starts executions, WaitKinds what they wait for.
var (
	CauseKinds = []string{"api", "batch", "schedule", "event", "parent", "retry"}
	WaitKinds  = []string{"person", "child", "event", "retry", "timer", "slot"}
)

// labelParameter is the filter for labels, which may be repeated.
func labelParameter(about string) *parameter {
	return &parameter{
		name: "label", in: "query", many: true, example: "team:blue", about: about,
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			name, text, ok := strings.Cut(value, ":")
			if !ok {
				return badLabel
			}
			if complaint := service.LabelComplaint(name, text); complaint != "" {
				return badLabel + " " + complaint
			}
			labels := &c.args.filter.Labels
			if len(*labels) >= maxValues {
				return tooManyValues
			}
			*labels = append(*labels, service.Label{Name: name, Value: text})
			return ""
		},
	}
}

// executionFilters say which executions are listed, counted or grouped. All are looked at together.
var executionFilters = []*parameter{
	statusParameter, phaseParameter, batchParameter, createdAfterParameter, createdBeforeParameter,
	textFilter("version", "1.0.0", "Only executions of this version of the workflow.", func(f *service.ExecutionFilter) *[]string { return &f.Versions }),
	textFilter("error_code", "communication", "Only executions that failed with this code.", func(f *service.ExecutionFilter) *[]string { return &f.ErrorCodes }),
	kindFilter("cause", "Only executions that were started by this.", CauseKinds, func(f *service.ExecutionFilter) *[]string { return &f.Causes }),
	kindFilter("waiting_for", "Only executions that wait for this.", WaitKinds, func(f *service.ExecutionFilter) *[]string { return &f.Waits }),
	labelParameter("Only executions with this label, name:value; their own or that of their batch. Repeat it for those that have all."),
	{
		name: "root_id", in: "query", example: exampleExecutionID, about: "Only executions that this one has started, directly or through others.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			if setID(&c.args.filter.Root, value) != nil {
				return "must be the id of an execution."
			}
			return ""
		},
	},
	{
		name: "retry_of", in: "query", example: exampleExecutionID, about: "Only executions that repeat this one.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			if setID(&c.args.filter.RetryOf, value) != nil {
				return "must be the id of an execution."
			}
			return ""
		},
	},
	{
		name: "failure", in: "query", example: exampleFailure,
		about:  "Only executions that have failed like this: the failure of a group of /executions/failures. It says nothing about the code of the error and the workflow, which are filters of their own.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			mark, ok := service.ParseFailureMark(value)
			if !ok || len(value) > maxFilterText {
				return "must be the failure of a group of /executions/failures."
			}
			c.args.filter.Failure = &mark
			return ""
		},
	},
	{
		name: "min_duration_ms", in: "query", example: 5000, about: "Only executions that took this long, or run for this long by now.",
		schema: huma.Schema{Type: "integer", Minimum: number(0)},
		read: func(c *call, value string) (complaint string) {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return "must be a whole number of milliseconds."
			}
			c.args.filter.MinDurationMs = n
			return ""
		},
	},
	{
		name: "q", in: "query", example: "0197a5c4",
		about:  "Only executions with this id, an id that begins with these 8 digits or more or ends with these 8, this id of an item, or a label with this value.",
		schema: huma.Schema{Type: "string", MinLength: count(1)},
		read: func(c *call, value string) (complaint string) {
			if value == "" || len(value) > maxFilterText {
				return "must have 1 to " + strconv.Itoa(maxFilterText) + " bytes."
			}
			c.args.filter.Search = value
			return ""
		},
	},
}

// orderFilters say how lists of executions are shown.
var orderFilters = []*parameter{
	{
		name: "sort", in: "query", example: "created", about: "created: the oldest first; -created: the newest first.",
		schema: huma.Schema{Type: "string", Enum: []any{"created", "-created"}, Default: "-created"},
		read: func(c *call, value string) (complaint string) {
			if value != "created" && value != "-created" {
				return "must be created or -created."
			}
			c.args.filter.Ascending = value == "created"
			return ""
		},
	},
	{
		name: "include", in: "query", example: "input", about: "input: show the inputs, too. A page has 4 MiB of them at most, or one execution; it may then have fewer items than limit, and a cursor.", schema: huma.Schema{Type: "string", Enum: []any{"input"}},
		read: func(c *call, value string) (complaint string) {
			if value != "input" {
				return "must be input."
			}
			c.args.inputs = true
			return ""
		},
	},
	summaryOf("results"),
}

// summaryOf is the parameter by which a list leaves out what is large.
func summaryOf(large string) *parameter {
	return &parameter{
		name: "fields", in: "query", about: "summary: without " + large + ".",
		schema: huma.Schema{Type: "string", Enum: []any{"summary"}}, example: "summary",
		read: func(c *call, value string) (complaint string) {
			if value != "summary" {
				return "must be summary."
			}
			c.args.summary = true
			return ""
		},
	}
}

// workflowFilters are more of them where the path names no workflow.
var workflowFilters = []*parameter{
	{
		name: "workflow_id", in: "query", example: exampleWorkflowID, many: true, about: "Only those of this workflow. Repeat it for several.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			var id chargehand.WorkflowID
			ids := &c.args.filter.Workflows
			if setID(&id, value) != nil {
				return "must be the id of a workflow."
			}
			if len(*ids) >= maxValues {
				return tooManyValues
			}
			*ids = append(*ids, id)
			return ""
		},
	},
	{
		name: "workflow", in: "query", many: true, about: "Only those of this workflow, namespace/name. Repeat it for several.", example: "shop/order",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			namespace, name, ok := strings.Cut(value, "/")
			names := &c.args.filter.WorkflowNames
			if !ok || !isLabel(namespace) || !isLabel(name) {
				return "must be the name of a workflow, namespace/name."
			}
			if len(*names) >= maxValues {
				return tooManyValues
			}
			*names = append(*names, value)
			return ""
		},
	},
}

var tooManyValues = "may be repeated " + strconv.Itoa(maxValues) + " times at most."

// textFilter is a filter by any text.
func textFilter(name, example, about string, field func(*service.ExecutionFilter) *[]string) *parameter {
	return &parameter{
		name: name, in: "query", many: true, about: about + " Repeat it for several.", example: example,
		schema: huma.Schema{Type: "string", MinLength: count(1)},
		read: func(c *call, value string) (complaint string) {
			values := field(&c.args.filter)
			switch {
			case value == "" || len(value) > maxFilterText:
				return "must have 1 to " + strconv.Itoa(maxFilterText) + " bytes."
			case len(*values) >= maxValues:
				return tooManyValues
			}
			*values = append(*values, value)
			return ""
		},
	}
}

// kindFilter is a filter by words of a closed list.
func kindFilter(name, about string, words []string, field func(*service.ExecutionFilter) *[]string) *parameter {
	enum := make([]any, len(words))
	for i, word := range words {
		enum[i] = word
	}
	return &parameter{
		name: name, in: "query", many: true, about: about + " Repeat it for several.", example: words[0],
		schema: huma.Schema{Type: "string", Enum: enum},
		read: func(c *call, value string) (complaint string) {
			if !slices.Contains(words, value) {
				return "must be one of " + listed(enum) + "."
			}
			if values := field(&c.args.filter); !slices.Contains(*values, value) {
				*values = append(*values, value)
			}
			return ""
		},
	}
}
