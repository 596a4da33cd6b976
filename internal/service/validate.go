package service

import (
	"context"
	"errors"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Validation tells what is wrong with a definition.
type Validation struct {
	Valid    bool
	Errors   []chargehand.FieldError // at most 100
	Warnings []chargehand.FieldError // at most 100
	Graph    *graph.Graph            // nil if it is not valid
}

// ValidateWorkflow checks a definition and stores nothing. If the principal may write workflows, the
// resources that the definition names are fetched and checked, and so is whether the principal may use
// what it names. Any other principal must not make this server send requests or read files: it gets a
// warning for each resource.
// Codes: payload_too_large.
func (s *Service) ValidateWorkflow(ctx context.Context, p *Principal, definition []byte) (*Validation, error) {
	if err := s.checkDefinitionSize(definition); err != nil {
		return nil, err
	}
	writer, refused := May(p, ScopeWorkflowsWrite, 0)
	writes := refused == nil
	c, err := s.compile(ctx, definition, writes)
	if err != nil {
		return nil, err
	}
	if writes && c.plan != nil {
		problems, err := s.ungranted(ctx, writer, c.plan)
		if err != nil {
			return nil, err
		}
		people, err := s.unknownAssignees(ctx, writer, c.plan)
		if err != nil {
			return nil, err
		}
		c.problems = append(append(c.problems, problems...), people...)
		c.problems.Sort()
	}
	v := &Validation{
		Valid: !c.problems.HasErrors(), Errors: fieldErrors(c.problems.Errors()), Warnings: fieldErrors(c.problems.Warnings()),
	}
	if v.Valid {
		v.Graph = graph.Of(c.document)
	}
	return v, nil
}

// ungranted finds for which of its places a definition would be refused if the principal applied it.
func (s *Service) ungranted(ctx context.Context, p *Principal, compiled *plan.Plan) (dsl.Problems, error) {
	document := compiled.Document()
	a := application{account: p.AccountNo, plan: compiled}
	err := s.findVersion(ctx, p, &a)
	var hidden *chargehand.Error
	if errors.As(err, &hidden) && hidden.Code == chargehand.CodeWorkflowNotFound {
		return dsl.Problems{document.ErrorAt("/document/name", plan.CodeNotGranted, hidden.Detail,
			"Have the workflow or its namespace added to the key, or apply the definition with another key.")}, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := s.authorship(ctx, p, compiled, a.workflow.ID)
	return found.problems, err
}

func (s *Service) checkDefinitionSize(definition []byte) error {
	if int64(len(definition)) <= s.limits.DefinitionBytes {
		return nil
	}
	return chargehand.NewError(chargehand.CodePayloadTooLarge,
		"The definition is larger than "+strconv.FormatInt(s.limits.DefinitionBytes, 10)+" bytes, the limit.")
}

// checkMediaType refuses what is sent as JSON and is none. The reader of definitions would
// take much of it, such as a comma too many, as YAML. Codes: invalid_json.
func checkMediaType(r *ApplyWorkflow) error {
	var syntax *value.SyntaxError
	if r.MediaType != mediaJSON {
		return nil
	}
	_, err := value.Parse(r.Definition, value.Limits{Depth: dsl.MaxLevels, Bytes: len(r.Definition)})
	if !errors.As(err, &syntax) {
		return err
	}
	switch syntax.Code {
	case value.CodeTooDeep, value.CodeTooManyValues, value.CodeDuplicateKey:
		return nil // JSON all the same; the reader of definitions says more about it
	}
	return chargehand.NewError(chargehand.CodeInvalidJSON, "The definition is not JSON: "+syntax.Detail,
		chargehand.FieldError{Pointer: syntax.Pointer, Code: syntax.Code, Detail: syntax.Detail, Line: syntax.Line, Column: syntax.Column})
}

// refusedDefinition is the error for a definition that is not valid.
func refusedDefinition(r *ApplyWorkflow, problems dsl.Problems, readable bool) error {
	found := fieldErrors(problems.Errors())
	if readable {
		detail := "The definition has " + strconv.Itoa(len(found)) + " problems."
		if len(found) == 1 {
			detail = "The definition is not valid: " + found[0].Detail
		}
		return chargehand.NewError(chargehand.CodeDefinitionInvalid, detail, found...)
	}
	code := chargehand.CodeInvalidBody
	if r.MediaType == mediaJSON {
		code = chargehand.CodeInvalidJSON
	}
	return chargehand.NewError(code, "The definition is neither YAML nor JSON: "+found[0].Detail, found...)
}
