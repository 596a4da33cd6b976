package testrun

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/jsonpointer"
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
	if why != "" {
		return nil, why
	}
	if !slices.Contains(p.examples, t) {
		p.examples = append(p.examples, t)
	}
	return entry, ""
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
		return nil, tooManyValues(what)
	}
	if len(compiled.Validate(v)) > 0 {
		return nil, none
	}
	return v, ""
}

func tooManyValues(what string) string {
	return fmt.Sprintf("an example of %s would have more than %d values", what, maxExampleValues)
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
			return nil, tooManyValues("the answer of its operation")
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

// exampler makes up the value of a schema. Only what is inside of root is referred to.
type exampler struct {
	root value.Value
	made int // values, and alternatives that were looked into
}

// The bounds of an example.
const (
	maxExampleDepth  = 16
	maxExampleItems  = 100
	maxExampleValues = 10_000
)

// over tells that the example has too many values: it is not whole.
func (e *exampler) over() bool { return e.made > maxExampleValues }

// body is the body of an answer: an example that the document gives, or one of its schema.
func (e *exampler) body(response map[string]any) (value.Value, bool) {
	if examples, _ := response["examples"].(map[string]any); examples["application/json"] != nil { // Swagger 2.0
		return examples["application/json"], true
	}
	if schema, has := response["schema"]; has {
		return e.of(schema, 0), true
	}
	content, _ := response["content"].(map[string]any)
	for _, media := range value.SortedKeys(content) {
		if media != "application/json" && !strings.HasSuffix(media, "+json") {
			continue
		}
		one := e.resolve(content[media])
		if v, has := one["example"]; has {
			return v, true
		}
		examples, _ := one["examples"].(map[string]any)
		for _, name := range value.SortedKeys(examples) {
			if v, has := e.resolve(examples[name])["value"]; has {
				return v, true
			}
		}
		if schema, has := one["schema"]; has {
			return e.of(schema, 0), true
		}
	}
	return nil, false
}

// resolve follows references inside of the document.
func (e *exampler) resolve(v value.Value) map[string]any {
	for range maxExampleDepth {
		object, _ := v.(map[string]any)
		reference, isReference := object["$ref"].(string)
		pointer, local := strings.CutPrefix(reference, "#")
		if !isReference || !local {
			return object
		}
		v = e.root
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if pointer == "" {
				break
			}
			inner, _ := v.(map[string]any)
			v = inner[jsonpointer.Unescape(token)]
		}
	}
	return nil
}

// of makes up a value. Whether it fits, and is not over, is for the caller to check.
func (e *exampler) of(schema value.Value, depth int) value.Value {
	if e.over() {
		return nil
	}
	e.made++
	s := e.resolve(schema)
	if depth > maxExampleDepth || s == nil {
		return nil
	}
	for _, name := range []string{"const", "example", "default"} {
		if v, has := s[name]; has {
			return v
		}
	}
	for _, name := range []string{"examples", "enum"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			return list[0]
		}
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			return e.of(merged(s, e.resolve(list[0]), name), depth+1)
		}
	}
	if list, _ := s["allOf"].([]any); len(list) > 0 {
		all := s
		for _, one := range list {
			all = merged(all, e.resolve(one), "allOf")
		}
		return e.of(all, depth+1)
	}
	switch typeOf(s) {
	case "object":
		return e.object(s, depth)
	case "array":
		return e.list(s, depth)
	case "string":
		return exampleText(s)
	case "integer":
		return exampleNumber(s, true)
	case "number":
		return exampleNumber(s, false)
	case "boolean":
		return true
	}
	return nil
}

// merged is a schema with what an alternative of it adds; without is the keyword that has it.
func merged(a, b map[string]any, without string) map[string]any {
	all := map[string]any{}
	for name, v := range a {
		if name != without {
			all[name] = v
		}
	}
	for name, v := range b {
		switch was := all[name].(type) {
		case map[string]any:
			if more, ok := v.(map[string]any); ok && name == "properties" {
				v = merged(was, more, "")
			}
		case []any:
			if more, ok := v.([]any); ok && name == "required" {
				v = slices.Concat(was, more)
			}
		}
		all[name] = v
	}
	return all
}

// typeOf is the type of the values, as far as the schema says.
func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, _ := one.(string); name != "null" {
				return name
			}
		}
		return "null"
	}
	for name, kind := range map[string]string{"properties": "object", "required": "object", "items": "array", "pattern": "string", "minimum": "number"} {
		if s[name] != nil {
			return kind
		}
	}
	return "object"
}

// object has the properties that a schema names, as far as they end.
func (e *exampler) object(s map[string]any, depth int) value.Value {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	object := map[string]any{}
	for _, name := range value.SortedKeys(properties) {
		if depth < maxExampleDepth/2 || slices.Contains(required, any(name)) {
			object[name] = e.of(properties[name], depth+1)
		}
	}
	for _, one := range required {
		if name, _ := one.(string); object[name] == nil && properties[name] == nil {
			object[name] = e.of(s["additionalProperties"], depth+1)
		}
	}
	return object
}

func (e *exampler) list(s map[string]any, depth int) value.Value {
	n := max(1, wholeOf(s["minItems"], 0))
	if most := wholeOf(s["maxItems"], n); most < n {
		n = most
	}
	list := []any{}
	for range min(n, maxExampleItems) {
		list = append(list, e.of(s["items"], depth+1))
	}
	return list
}

// exampleTexts are texts of the formats that forms and APIs use.
var exampleTexts = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "PT1H", "email": "person@example.org",
	"idn-email": "person@example.org", "uri": "https://example.org/", "uri-reference": "/example", "url": "https://example.org/", "iri": "https://example.org/",
	"hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "00000000-0000-4000-8000-000000000000", "byte": "ZXhhbXBsZQ==",
}

func exampleText(s map[string]any) value.Value {
	format, _ := s["format"].(string)
	if text, known := exampleTexts[format]; known {
		return text
	}
	text := "example"
	if least := wholeOf(s["minLength"], 0); least > len(text) {
		text += strings.Repeat("x", min(least, 1<<16)-len(text))
	}
	return text[:min(len(text), max(0, wholeOf(s["maxLength"], len(text))))]
}

func exampleNumber(s map[string]any, whole bool) value.Value {
	low, high := floatOf(s["minimum"], math.Inf(-1)), floatOf(s["maximum"], math.Inf(1))
	step := 1.0
	if !whole {
		step = 0.5
	}
	if above, has := s["exclusiveMinimum"]; has {
		low = floatOf(above, 0) + step
	}
	if below, has := s["exclusiveMaximum"]; has {
		high = floatOf(below, 0) - step
	}
	n := min(max(1, low), high)
	if of := floatOf(s["multipleOf"], 0); of > 0 {
		n = math.Ceil(n/of) * of
	}
	if whole || n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int(n)
	}
	return n
}

func wholeOf(v value.Value, otherwise int) int {
	if n, ok := v.(int); ok {
		return n
	}
	return otherwise
}

func floatOf(v value.Value, otherwise float64) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return otherwise
}
