package service

import (
	"errors"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// Whatever a body holds, callers get an error with a code, and every pointer that it names
// leads to a field that is in the body or is missing from it.
func FuzzBodies(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `{"input": {"text": "x"}}`, `{"inputs": 1, "\u0000": {}}`, `{"items": [{"text": "a"}], "concurrency": 1e300}`,
		`{"items": [[], {}, 1], "concurrency": -0.0}`, `{"name": "x", "scopes": ["admin", 1], "workflows": ["x"], "expires_at": "2026-13-01T00:00:00Z", "rate_limit": 1.5}`,
		`{"reason": 1}`, `{"input": {"file": {"uri": "/api/v1/files/01890a5d-ac96-774b-bcce-b302099a8057"}}}`, `{"preset": "all", "name": "\ud83d\ude00"}`,
		`{"expires_at": "9999-12-31T23:59:59Z", "name": "x", "environment": "live"}`, `{"items": {"0": {}}}`, `{"a/b~": 1}`,
	} {
		f.Add(text)
	}
	fx := newFixture(f)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	k, _, err := fx.CreateKey(f.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := value.Parse([]byte(text), value.Limits{})
		if err != nil {
			return
		}
		check := func(what string, err error) {
			t.Helper()
			var shown *chargehand.Error
			if err == nil {
				return
			}
			if !errors.As(err, &shown) || shown.Code == chargehand.CodeInternal || shown.Detail == "" || len(shown.Fields) > 100 {
				t.Errorf("%s: %v", what, err)
			}
		}
		ctx := t.Context()
		_, _, err = fx.CreateExecution(ctx, fx.p, CreateExecution{Workflow: flow.ID, Body: body})
		check("create", err)
		_, _, err = fx.CreateBatch(ctx, fx.p, CreateBatch{Workflow: flow.ID, Body: body})
		check("batch", err)
		_, _, err = fx.CreateKey(ctx, fx.p, CreateKey{Body: body})
		check("key", err)
		_, err = fx.PatchKey(ctx, fx.p, k.ID, body)
		check("patch", err)
		_, err = readReason(body)
		check("reason", err)
		_, _, err = fx.RetryExecution(ctx, fx.p, RetryExecution{Workflow: flow.ID, Body: body})
		check("retry", err)
	})
}

func FuzzWellFormed(f *testing.F) {
	f.Add(newSecret(chargehand.Live))
	f.Add(newSecret(chargehand.Test))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if wellFormed(text) && string(appendChecksum(nil, []byte(text[:len(text)-checksumChars]))) != text[len(text)-checksumChars:] {
			t.Errorf("%q passes", text)
		}
	})
}
