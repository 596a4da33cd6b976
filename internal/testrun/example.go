package testrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// CodeExample is the code of the warning that a value was made up (Config.Examples).
const CodeExample = "example_used"

// example makes up an answer for a task without a mock (Config.Examples), from what declares its shape: the answer of
// an operation of OpenAPI, the form of a human task, or the schema of the output. nil: why there is none.
func (p *play) example(a asking) (entry *testfile.Entry, why string) {
	if !p.suite.runner.Examples {
		return nil, ""
	}
	t := p.index.byReference[a.reference]
	if t == nil {
		return nil, "the task is not known"
	}
	if effective(t.task).Stream != nil {
		return nil, "a stream of messages declares none"
	}
	entry = &testfile.Entry{At: p.file.At, Times: testfile.Always}
	switch args, _ := a.args.(map[string]any); a.kind {
	case "human":
		entry.Kind = testfile.Answers
		entry.Answers, why = exampleAnswer(a.args)
	case "openapi":
		entry.Kind = testfile.Respond
		entry.Response, why = p.exampleResponse(args)
	default:
		entry.Kind = testfile.Returns
		entry.Returns, why = exampleOutput(effective(t.task))
	}
	if why == "" {
		why = p.charge(entry)
	}
	if why != "" {
		return nil, why
	}
	if !slices.Contains(p.examples, t) {
		p.examples = append(p.examples, t)
	}
	return entry, ""
}

// maxExamplesBytes bounds the examples of a test, of which a loop may ask for many.
const maxExamplesBytes = 64 << 20

// charge counts an example among those of the test. It says why it is one too many.
func (p *play) charge(entry *testfile.Entry) (why string) {
	v := entry.Returns
	switch {
	case entry.Answers != nil:
		v = entry.Answers.Data
	case entry.Response != nil:
		v = entry.Response.Body
	}
	if p.exampleBytes += value.Size(v); p.exampleBytes > maxExamplesBytes {
		return fmt.Sprintf("those of this test have %d MiB already", maxExamplesBytes>>20)
	}
	return ""
}

// exampleOutput is an example of the schema of a task's output, where nothing transforms the output before.
func exampleOutput(t *plan.Task) (value.Value, string) {
	output, _ := t.Definition["output"].(map[string]any)
	schema, _ := output["schema"].(map[string]any)
	document, inline := schema["document"]
	switch {
	case len(schema) == 0:
		return nil, "it declares no `output.schema`"
	case output["as"] != nil:
		return nil, "its `output.schema` is of what `output.as` makes, and not of what comes from outside"
	case !inline:
		return nil, "its `output.schema` is no `document` in the definition"
	}
	return exampleOf(document, "its `output.schema`")
}

// exampleAnswer is the first outcome of a human task, with an example of its form.
func exampleAnswer(args value.Value) (*testfile.Answer, string) {
	request, _ := human.Parse(args, nil)
	if request.Upload != nil && request.Upload.Required {
		return nil, "it asks for a file"
	}
	answer := &testfile.Answer{}
	if len(request.Outcomes) > 0 {
		answer.Outcome = request.Outcomes[0].Name
	}
	if request.Form == nil {
		return answer, ""
	}
	data, why := exampleOf(request.Form, "its form")
	if why != "" {
		return nil, why
	}
	answer.Data = data
	return answer, ""
}

// exampleOf is a value that fits a JSON Schema. why says why none was found; what is the name of the schema there.
func exampleOf(schema value.Value, what string) (v value.Value, why string) {
	none := "no example of " + what + " can be made up"
	compiled, err := plan.CompileForm(schema)
	if err != nil {
		return nil, none
	}
	e := exampler{root: schema}
	v = e.of(schema, 0)
	if e.over() {
		return nil, e.tooLarge(what)
	}
	if len(compiled.Validate(v)) > 0 {
		return nil, none
	}
	return v, ""
}

// exampleResponse is the first successful answer that an operation of OpenAPI or Swagger declares.
func (p *play) exampleResponse(args map[string]any) (*testfile.Response, string) {
	document, _ := args["document"].(map[string]any)
	content, pinned := document["content"].(string)
	if !pinned {
		address, _ := document["endpoint"].(string)
		text, err := p.suite.runner.resource(p.ctx, plan.Wanted{Key: address, URI: address, Kind: "OpenAPI document", Authentication: document["authentication"]})
		if err != nil {
			return nil, fmt.Sprintf("its OpenAPI document %s cannot be read: %v", address, err)
		}
		content = string(text)
	}
	parsed, _ := dsl.ReadText([]byte(content))
	if parsed == nil {
		return nil, "its OpenAPI document cannot be read"
	}
	id, _ := args["operationId"].(string)
	e := exampler{root: parsed.Value()}
	operation := operationOf(parsed.Value(), id)
	responses, _ := operation["responses"].(map[string]any)
	for _, status := range value.SortedKeys(responses) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		response := e.resolve(responses[status])
		code, err := strconv.Atoi(status)
		if err != nil { // 2XX
			code = 200
		}
		body, has := e.body(response)
		if e.over() {
			return nil, e.tooLarge("the answer of its operation")
		}
		return &testfile.Response{Status: code, Body: body, HasBody: has}, ""
	}
	return nil, fmt.Sprintf("its OpenAPI document has no operation %q with a successful answer", id)
}

func operationOf(document value.Value, id string) map[string]any {
	root, _ := document.(map[string]any)
	paths, _ := root["paths"].(map[string]any)
	for _, path := range value.SortedKeys(paths) {
		methods, _ := paths[path].(map[string]any)
		for _, method := range value.SortedKeys(methods) {
			if operation, _ := methods[method].(map[string]any); operation["operationId"] == id {
				return operation
			}
		}
	}
	return nil
}
