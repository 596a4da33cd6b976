package api

import (
	"encoding/json"
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

type (
	// evaluateBody is the body as the document describes it; the service reads it.
	evaluateBody struct {
		Expression string         `json:"expression" doc:"With or without ${ }."`
		Input      any            `json:"input,omitempty" doc:"What . and $input stand for."`
		Context    any            `json:"context,omitempty" doc:"What $context stands for."`
		Variables  map[string]any `json:"variables,omitempty" doc:"More variables by their names without the dollar sign, such as those of a loop. Those of the language may be given too; $secrets has only what is given here."`
	}
	evaluated struct {
		Value json.RawMessage `json:"value" doc:"The first result; null if there is none."`
	}
)

func evaluateEndpoints() []endpoint {
	return []endpoint{{
		method: post, path: "/expressions/evaluate", id: "evaluateExpression", tag: "Workflows",
		summary: "Evaluate an expression",
		about:   "As a task would, with its bounds. Four are evaluated at once, and one of an account in one environment, so that no account has them all; others wait, up to 20 of a key or person. Stores nothing.",
		scopes:  service.ScopeWorkflowsWrite, parameters: []*parameter{uselessKeyParameter}, body: jsonBody(evaluateBody{}, true),
		answers:   []answer{{status: 200, about: "Its value", view: evaluated{}}},
		problems:  []chargehand.Code{chargehand.CodeExpressionInvalid, chargehand.CodeExpressionFailed},
		unaudited: "it changes nothing",
		serve:     (*call).evaluate,
	}}
}

func (c *call) evaluate() error {
	v, err := c.server.service.Evaluate(c.r.Context(), c.principal, c.value)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, evaluated{Value: value.Marshal(v)})
}
