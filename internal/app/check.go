package app

import (
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

// OpenAPI is the document of the API.
func OpenAPI() ([]byte, error) { return api.Document(Version), nil }
