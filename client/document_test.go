package client

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// schema is the part of a schema of api/openapi.yaml that says which fields an answer has.
type schema struct {
	Ref        string             `yaml:"$ref"`
	Type       any                `yaml:"type"`
	Format     string             `yaml:"format"`
	Enum       []any              `yaml:"enum"`
	Properties map[string]*schema `yaml:"properties"`
	Items      *schema            `yaml:"items"`
	Additional any                `yaml:"additionalProperties"`
}

type schemas map[string]*schema

// resolve follows a reference.
func (all schemas) resolve(s *schema) *schema {
	if s.Ref != "" {
		return all[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// kind is the type of a schema, or that beside null.
func (s *schema) kind() string {
	if list, ok := s.Type.([]any); ok {
		kind, _ := list[0].(string)
		return kind
	}
	kind, _ := s.Type.(string)
	return kind
}

// enter adds the reference of a schema, or of the items of a list, to those around it. It is false for one that is
// among them: a field of a form has fields, and so on.
func (s *schema) enter(around []string) ([]string, bool) {
	for s.Ref == "" && s.Items != nil {
		s = s.Items
	}
	if s.Ref == "" {
		return around, true
	}
	return append(slices.Clip(around), s.Ref), !slices.Contains(around, s.Ref)
}

// sample makes a value that has every property but those that are like something around them, none of them with the
// zero value of its type.
func (all schemas) sample(s *schema, around []string) any {
	s = all.resolve(s)
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Format == "date-time":
		return "2026-01-31T10:00:00.000Z"
	case s.kind() == "string":
		return "some text"
	case s.kind() == "integer", s.kind() == "number":
		return 7
	case s.kind() == "boolean":
		return true
	case s.kind() == "array":
		return []any{all.sample(s.Items, around)}
	case len(s.Properties) > 0:
		object := map[string]any{}
		for name, property := range s.Properties {
			if inside, ok := property.enter(around); ok {
				object[name] = all.sample(property, inside)
			}
		}
		return object
	default:
		return map[string]any{"a": "b"}
	}
}

// verify holds a value that was read from a sample against the schema: every property has a field, which was
// filled in, and every field is a property.
func (all schemas) verify(t *testing.T, path string, s *schema, v reflect.Value, around []string) {
	t.Helper()
	s = all.resolve(s)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[json.RawMessage]() {
		if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			t.Errorf("%s is empty", path)
			return
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		} else {
			v, s = v.Index(0), all.resolve(s.Items)
		}
	}
	if v.IsZero() {
		t.Errorf("%s was not read", path)
	}
	if v.Kind() != reflect.Struct || len(s.Properties) == 0 {
		return
	}
	fields := map[string]reflect.Value{}
	for _, field := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && name != "" {
			fields[name] = v.FieldByIndex(field.Index)
		}
	}
	for name, property := range s.Properties {
		field, found := fields[name]
		if !found {
			t.Errorf("%s has no field for %s", v.Type(), name)
			continue
		}
		delete(fields, name)
		if inside, ok := property.enter(around); ok {
			all.verify(t, path+"."+name, property, field, inside)
		}
	}
	for name := range fields {
		t.Errorf("the API has no %s.%s", path, name)
	}
}

// TestFieldsAreThoseOfTheAPI reads what the API may answer, with every field that its document names.
func TestFieldsAreThoseOfTheAPI(t *testing.T) {
	text, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas schemas }
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	all := document.Components.Schemas
	// One type reads executions, those that a retry has made, too; id and batch_id of a batch are the same.
	execution := *all["Execution"]
	for name, property := range all["RetriedExecution"].Properties {
		execution.Properties[name] = property
	}
	delete(all["Batch"].Properties, "id")
	for _, test := range []struct {
		name   string
		schema *schema
		into   any
	}{
		{"execution", &execution, &Execution{}},
		{"batch", all["Batch"], &Batch{}},
		{"timeline", all["TimelinePage"], &TimelinePage{}},
		{"progress", all["ExecutionProgress"], &ExecutionProgress{}},
		{"recording", all["Recording"], &Recording{}},
		{"line of a log", all["LogLine"], &LogLine{}},
		{"count", all["ExecutionCount"], &ExecutionCount{}},
		{"failures", all["FailureGroups"], &FailureGroups{}},
		{"overview", all["Overview"], &Overview{}},
		{"operation", all["Operation"], &Operation{}},
		{"page of items", all["OperationItemPage"], &Page[OperationItem]{}},
		{"preview", all["OperationPreview"], &OperationPreview{}},
		{"human task", all["HumanTask"], &HumanTask{}},
		{"link to a human task", all["NewTaskLink"], &MadeTaskLink{}},
		{"counts of human tasks", all["HumanTaskCounts"], &HumanTaskCounts{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample, err := json.Marshal(all.sample(test.schema, nil))
			if err == nil {
				err = json.Unmarshal(sample, test.into)
			}
			if err != nil {
				t.Fatal(err)
			}
			all.verify(t, test.name, test.schema, reflect.ValueOf(test.into), nil)
		})
	}
}

// TestRetryFromATask: what a retry sends, and what is read of its answer.
func TestRetryFromATask(t *testing.T) {
	c, s := serve(t, nil, problemAnswer(503, "unavailable"), answer(201, `{"id":"e-2","execution_id":"e-2","retry_of":"e-1","status":"initial",
 "cause":{"kind":"retry","id":"e-1"},"newer_version":"2.0.0","newer_revision":3}`))
	e, err := c.RetryExecution(t.Context(), "w", "e-1", RetryOptions{From: "/do/1/pay", Version: "same"})
	if err != nil || e.ID != "e-2" || e.RetryOf != "e-1" || *e.Cause != (Cause{"retry", "e-1"}) || e.NewerVersion != "2.0.0" || e.NewerRevision != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	for _, got := range s.seen {
		if got.uri != "/api/v1/workflows/w/executions/e-1/retry" || got.body != `{"version":"same","from":"/do/1/pay"}` || got.idempotency == "" {
			t.Errorf("sent %+v", got)
		}
	}
	if len(s.seen) != 2 {
		t.Errorf("%d attempts", len(s.seen))
	}
}
