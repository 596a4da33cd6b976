package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dslschema"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// Problem is one mistake in a definition, with file, line and column as compilers print them.
type Problem struct {
	Pointer  string `json:"pointer"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
	Severity string `json:"severity"` // error or warning
}

// Check checks definitions as a deployment would, without a server. The fields are as in
// Config. It makes no request: of the external resources, it reads files below ResourceRoot, and
// warns that others were not checked (T69).
type Check struct {
	AllowRun     []string
	ResourceRoot string
}

// Definition returns all problems at once, errors and warnings, and whether there is no error.
func (c Check) Definition(ctx context.Context, definition []byte) ([]Problem, bool, error) {
	root, err := resourceRoot(c.ResourceRoot)
	if err != nil {
		return nil, false, err
	}
	doc, found := dsl.Parse(definition)
	options := plan.Options{Run: allowedRuns(c.AllowRun), CheckProto: checkProto, Resources: map[string][]byte{}}
	files := resource.New(resource.Config{Root: root})
	var unread dsl.Problems
	for asked := map[string]bool{}; ; {
		result, more := plan.Check(doc, found, options), false
		for _, w := range result.Wanted {
			if asked[w.Key] {
				continue
			}
			asked[w.Key] = true
			if root == "" || !isFile(w.URI) {
				unread = append(unread, doc.WarningAt(w.Pointer, plan.CodeResourceUnchecked,
					fmt.Sprintf("The %s %s is read when the definition is applied; it was not checked.", w.Kind, w.URI), uncheckedHint(w.URI)))
				continue
			}
			content, err := files.Fetch(ctx, resource.Request{URI: w.URI})
			if err != nil {
				unread = append(unread, doc.ErrorAt(w.Pointer, plan.CodeResourceMissing, fmt.Sprintf("A %s cannot be read: %s.", w.Kind, err), ""))
				continue
			}
			options.Resources[w.Key], more = content.Data, true
		}
		if !more {
			all := append(result.Problems, unread...)
			all.Sort()
			return shownProblems(all), !all.HasErrors(), nil
		}
	}
}

// The forms of a graph.
const (
	GraphJSON    = "json"
	GraphMermaid = "mermaid"
	GraphDOT     = "dot"
)

// Graph draws the control flow of a definition in one of the forms. Without errors in the definition, problems are nil.
func Graph(definition []byte, form string) (drawn []byte, problems []Problem, err error) {
	doc, found := dsl.Parse(definition)
	if found.HasErrors() {
		return nil, shownProblems(found.Errors()), nil
	}
	g := graph.Of(doc)
	switch form {
	case GraphMermaid:
		return []byte(g.Mermaid()), nil, nil
	case GraphDOT:
		return []byte(g.DOT()), nil, nil
	}
	drawn, err = json.MarshalIndent(g, "", "  ")
	return append(drawn, '\n'), nil, err
}

// Evaluate evaluates an expression as a task would, with what body gives (service.EvaluateBody). Problems say what is
// wrong with it.
func Evaluate(body value.Value) (v value.Value, problems []chargehand.FieldError, err error) {
	v, err = service.EvaluateBody(body, time.Now().UnixMilli())
	var shown *chargehand.Error
	if errors.As(err, &shown) {
		return nil, shown.Fields, nil
	}
	return v, nil, err
}

// isFile reports whether a resource is a file below the root.
func isFile(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "" || u.Scheme == "file")
}

func uncheckedHint(uri string) string {
	if isFile(uri) {
		return "With --resource-root, files below that folder are checked; the server needs the same flag."
	}
	return ""
}

func shownProblems(found dsl.Problems) []Problem {
	problems := make([]Problem, 0, len(found))
	for _, p := range found {
		detail := p.Detail
		if p.Hint != "" {
			detail += " " + p.Hint
		}
		problems = append(problems, Problem{p.Pointer, p.Line, p.Column, p.Code, detail, p.Severity.String()})
	}
	return problems
}

// interfaceVersion is the version of the document that is kept beside the code: the same for
// every build of the same interface.
const interfaceVersion = "1"

// OpenAPI is the document of the API, as indented JSON or as YAML.
func OpenAPI(asYAML bool) ([]byte, error) {
	document := api.Document(interfaceVersion)
	if !asYAML {
		var out bytes.Buffer
		err := json.Indent(&out, document, "", "  ")
		return append(out.Bytes(), '\n'), err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, fmt.Errorf("convert the document: %w", err)
	}
	plain(&tree)
	return yaml.Marshal(&tree)
}

// Alike is the one of some names that was probably meant by another; empty: none is near.
func Alike(name string, names []string) string { return service.Suggest(name, names) }

// WorkflowSchema is the JSON Schema of workflow definitions, for editors.
func WorkflowSchema() []byte { return dslschema.Text() }

// plain gives a tree that was read from JSON the form of YAML.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}
