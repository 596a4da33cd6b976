package service

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// checkInput validates input against the workflow's schema. Codes: input_invalid.
func checkInput(p *plan.Plan, input value.Value) error {
	if p.InputSchema == nil {
		return nil
	}
	return inputInvalid(schemaProblems(nil, p, input, "/input"))
}

// schemaProblems appends what is wrong with an input that stands at that pointer.
func schemaProblems(wrong []chargehand.FieldError, p *plan.Plan, input value.Value, at string) []chargehand.FieldError {
	for _, problem := range p.InputSchema.Validate(input) {
		wrong = append(wrong, chargehand.FieldError{Pointer: at + problem.Pointer, Code: snakeCase(problem.Keyword), Detail: problem.Detail})
	}
	return wrong
}

// snakeCase makes a stable code of a keyword such as minLength.
func snakeCase(keyword string) string {
	code := make([]byte, 0, len(keyword)+2)
	for _, c := range []byte(keyword) {
		switch {
		case c >= 'A' && c <= 'Z':
			code = append(code, '_', c+'a'-'A')
		case c >= 'a' && c <= 'z':
			code = append(code, c)
		}
	}
	return string(code)
}

func inputInvalid(wrong []chargehand.FieldError) error {
	if len(wrong) == 0 {
		return nil
	}
	return chargehand.NewError(chargehand.CodeInputInvalid,
		"The input does not match the input_schema of the workflow: "+inWords(wrong), wrong[:min(len(wrong), maxFields)]...)
}

// maxWords is how many problems the detail of an error repeats; all are in its fields.
const maxWords = 3

// inWords sums up problems: "5 problems: /input/a: …; /input/b: …; and 3 more."
func inWords(wrong []chargehand.FieldError) string {
	var b strings.Builder
	if len(wrong) > 1 {
		fmt.Fprintf(&b, "%d problems: ", len(wrong))
	}
	for i, w := range wrong[:min(len(wrong), maxWords)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(w.Pointer + ": " + w.Detail)
	}
	if more := len(wrong) - maxWords; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String() + "."
}
