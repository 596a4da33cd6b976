package app

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
)

// Problem is what is wrong with a definition, as compilers tell it.
type Problem struct {
	Pointer  string `json:"pointer"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
	Severity string `json:"severity"` // error or warning
}

// Validate checks a definition as a deployment would, without a server. allowRun is as in
// Config.
func Validate(definition []byte, allowRun []string) ([]Problem, bool) {
	doc, found := dsl.Parse(definition)
	if !found.HasErrors() {
		_, compiled := plan.Compile(doc, plan.Options{Run: allowedRuns(allowRun)})
		found = append(found, compiled...)
		found.Sort()
	}
	problems := make([]Problem, 0, len(found))
	for _, p := range found {
		detail := p.Detail
		if p.Hint != "" {
			detail += " " + p.Hint
		}
		problems = append(problems, Problem{p.Pointer, p.Line, p.Column, p.Code, detail, p.Severity.String()})
	}
	return problems, !found.HasErrors()
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

// plain gives a tree that was read from JSON the look of YAML.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}
