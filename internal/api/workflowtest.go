package api

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/testreport"
)

type (
	// testBody is the body as the document describes it; the service reads it.
	testBody struct {
		Definition string            `json:"definition" doc:"The definition as YAML or JSON, whatever name the tests give it."`
		Tests      string            `json:"tests" doc:"A test file as YAML or JSON (/schemas/test.json)."`
		Files      map[string]string `json:"files,omitempty" nullable:"false" doc:"What the tests name beside, by the path that they name: definitions of children, contents of files; and as workflow.snap.yaml the snapshots. At most 100, together as large as a definition."`
	}
	testedWorkflow struct {
		Tests      int                      `json:"tests" minimum:"0" doc:"Number of tests."`
		Passed     int                      `json:"passed" minimum:"0" doc:"Tests that came to what they expect."`
		Failed     int                      `json:"failed" minimum:"0" doc:"Tests that came to something else."`
		Broken     int                      `json:"broken" minimum:"0" doc:"Tests that could not be run to an end."`
		Skipped    int                      `json:"skipped" minimum:"0" doc:"Tests that say skip, or were skipped because others say only."`
		Only       bool                     `json:"only" doc:"Some test says only."`
		DurationMs int64                    `json:"duration_ms" minimum:"0" doc:"Time that the tests took."`
		Results    []testreport.TestResult  `json:"results" nullable:"false" doc:"In the order of the tests."`
		Warnings   []testreport.TestProblem `json:"warnings" nullable:"false" doc:"What is doubtful in the texts."`
		Coverage   testreport.TestCoverage  `json:"coverage" doc:"Which tasks the tests have run, and which ways they have taken."`
		Snapshots  string                   `json:"snapshots,omitempty" doc:"The snapshots as they are to be, as YAML; left out: they have not changed."`
		Cut        bool                     `json:"cut" doc:"Values of more than 64 KiB, and what goes beyond 4 MiB, was left out of the results."`
	}
)

func workflowTestEndpoints() []endpoint {
	limits := strconv.Itoa(service.MaxTestRequests)
	return []endpoint{{
		method: post, path: "/workflows/test", id: "testWorkflow", tag: "Workflows",
		summary: "Run tests of a definition",
		about: "On a virtual clock, with mocks for all that is outside: no file of the server is read, nothing is called, no task runs, mocks with real are refused, and nothing is stored. " +
			"The tests of a request have 8 seconds, after which those that have not ended are stopped, and 384 MiB. Four requests run at once, and one of an account in one environment, so that no account has them all; others wait, up to " + limits + " of a key or person.",
		scopes: service.ScopeWorkflowsWrite, parameters: []*parameter{uselessKeyParameter}, slow: true,
		body: &body{
			media: []string{"application/json"}, json: true, required: true, view: testBody{},
			limit: func(l service.Limits) int64 { return 4 * l.DefinitionBytes }, // three texts, with what JSON escapes
		},
		answers:   []answer{{status: 200, about: "What came of each test, and what they have run", view: testedWorkflow{}}},
		problems:  []chargehand.Code{chargehand.CodeDefinitionInvalid, chargehand.CodeTestsInvalid, chargehand.CodeTestsStopped},
		unaudited: "it changes nothing",
		serve:     (*call).testWorkflow,
	}}
}

func (c *call) testWorkflow() error {
	run, err := c.server.service.TestWorkflow(c.r.Context(), c.principal, c.value)
	if err != nil {
		return err
	}
	n := run.Counts
	return c.view(http.StatusOK, testedWorkflow{
		Tests: n.Tests, Passed: n.Passed, Failed: n.Failed, Broken: n.Broken, Skipped: n.Skipped, Only: run.Only, DurationMs: run.TookMs,
		Results: append([]testreport.TestResult{}, run.Tests...), Warnings: append([]testreport.TestProblem{}, run.Warnings...),
		Coverage: run.Coverage, Snapshots: run.Snapshots, Cut: run.Cut,
	})
}

const exampleTests = `tests:
- name: confirms what was ordered
  input:
    item: lamp
  expect:
    output:
      confirmed: desk
`

// exampleTestedWorkflow is what comes of exampleTests.
func exampleTestedWorkflow() testedWorkflow {
	ended := int64(0)
	return testedWorkflow{
		Tests: 1, Failed: 1, DurationMs: 3, Warnings: []testreport.TestProblem{},
		Results: []testreport.TestResult{{
			Name: "confirms what was ordered", Line: 2, Status: "failed", Phase: "completed", Output: json.RawMessage(`{"confirmed":"lamp"}`), DurationMs: 1,
			Failures: []testreport.TestFailure{{
				Expectation: "expect.output.confirmed", Line: 7, Column: 7, Want: json.RawMessage(`"desk"`), Got: json.RawMessage(`"lamp"`),
			}},
			Warnings: []testreport.TestProblem{}, Timeline: []testreport.TestedTask{{Task: "confirm", Reference: "/do/0/confirm", Attempt: 1, Phase: "completed", EndedMs: &ended}},
		}},
		Coverage: testreport.TestCoverage{
			Tasks: 1, TasksRun: 1, Percent: 100,
			Definitions: []testreport.CoveredDefinition{{
				File: "definition", Workflow: "shop/order",
				Tasks: []testreport.CoveredTask{{Task: "confirm", Reference: "/do/0/confirm", Line: 13, Hits: 1, Branches: []testreport.CoveredBranch{}}},
			}},
		},
	}
}
