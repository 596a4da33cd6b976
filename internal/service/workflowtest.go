package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/testreport"
	"github.com/chargehand/chargehand/internal/testserve"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxTestRequests is how many requests with tests of a person or key wait or run.
const MaxTestRequests = 5

// The bounds of tests of requests. Each may take a processor for testserve.HardTime, with a low priority.
var testBounds = computationBounds{
	waiting: MaxTestRequests,
	tooMany: "The API key or person waits for the results of %d requests with tests, which is the limit. Wait for the answers.",
}

// MaxTestFiles bounds the further texts of a request with tests.
const MaxTestFiles = 100

// RunTests runs tests (package testserve).
type RunTests func(ctx context.Context, r *testserve.Request) (*testserve.Run, error)

// TestWorkflow runs the tests of a request: an object with `definition`, `tests` and perhaps `files`, all of them
// texts. It stores nothing, and reaches nothing outside of the request.
// Codes: invalid_body, unknown_field, definition_invalid, tests_invalid, tests_stopped, rate_limited.
func (s *Service) TestWorkflow(ctx context.Context, p *Principal, body value.Value) (*testserve.Run, error) {
	request, err := s.testRequest(body)
	if err != nil {
		return nil, err
	}
	leave, err := s.tests.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	run, err := s.runTests(ctx, request)
	switch {
	case err != nil:
		return nil, err
	case run.Stopped != "":
		return nil, chargehand.NewError(chargehand.CodeTestsStopped, run.Stopped)
	case len(run.Problems) > 0:
		return nil, refusedTests(run)
	}
	return run, nil
}

// testRequest reads the body of a request.
func (s *Service) testRequest(body value.Value) (*testserve.Request, error) {
	f, err := openBody(body, "definition", "tests", "files")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"definition", "tests"} {
		if _, given := f.values[name]; !given {
			f.fail(name, "required", "The field "+strconv.Quote(name)+" is needed.")
		}
	}
	limit := int(s.limits.DefinitionBytes)
	r := &testserve.Request{Definition: f.text("definition", limit), Tests: f.text("tests", limit), Files: map[string]string{}, Version: s.program}
	files, sum := f.object("files"), 0
	if len(files) > MaxTestFiles {
		f.fail("files", "too_long", fmt.Sprintf("The field \"files\" must not have more than %d entries.", MaxTestFiles))
		files = nil
	}
	for _, name := range value.SortedKeys(files) {
		text, ok := files[name].(string)
		if !ok {
			f.failAt([]string{"files", name}, "wrong_type", "The entries of \"files\" must be strings, not "+value.KindOf(files[name])+".")
		}
		sum += len(text)
		r.Files[name] = text
	}
	if sum > limit {
		f.fail("files", "too_long", fmt.Sprintf("The texts in \"files\" must not have more than %d bytes together.", limit))
	}
	return r, f.err()
}

// refusedTests is the error for texts with problems: of the definition where it has some.
func refusedTests(run *testserve.Run) error {
	code, what := chargehand.CodeTestsInvalid, "The tests are"
	if slices.ContainsFunc(run.Problems, func(p testreport.TestProblem) bool { return p.File != testserve.NameTests }) {
		code, what = chargehand.CodeDefinitionInvalid, "The definition is"
	}
	fields := make([]chargehand.FieldError, 0, len(run.Problems))
	for _, p := range run.Problems[:min(len(run.Problems), maxFields)] {
		at := pointer(p.File)
		if p.File != testserve.NameTests && p.File != testserve.NameDefinition {
			at = pointer("files", p.File)
		}
		fields = append(fields, chargehand.FieldError{Pointer: at, Code: p.Code, Detail: p.Detail, Line: p.Line, Column: p.Column})
	}
	first := &fields[0]
	for i := range fields {
		if (run.Problems[i].File != testserve.NameTests) == (code == chargehand.CodeDefinitionInvalid) {
			first = &fields[i]
			break
		}
	}
	return chargehand.NewError(code, fmt.Sprintf("%s not valid, line %d, column %d: %s", what, first.Line, first.Column, first.Detail), fields...)
}
