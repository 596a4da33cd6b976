package temporal

import (
	"errors"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// No row tells what an execution with secrets waits for, and it is woken for nothing else.
func TestSecretTypes(t *testing.T) {
	t.Parallel()
	sealer := secret.NewSealer(secret.NewKeys())
	o := newWorkerFixture(t)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	in := readRequest{Execution: x.Execution, No: x.No, Confidential: true, Asked: []asked{{Command: 7, Filters: []filter{{Type: secretText, Exact: true}}}}}
	if _, err := o.activities(nil).readSubscriptions(t.Context(), in); !errors.Is(err, errNoSealer) {
		t.Errorf("without a master key: %v", err)
	}
	a := o.activities(func(c *WorkerConfig) { c.Sealer = sealer })
	if got, err := a.readSubscriptions(t.Context(), in); err != nil || len(got.Pages) != 1 || !got.Pages[0].CaughtUp {
		t.Fatalf("%+v, %v", got, err)
	}
	o.view(func(r *store.Reader) error {
		kinds, err := r.FilterKinds(o.account.No, chargehand.Live, 10)
		if len(kinds) != 1 || strings.Contains(kinds[0], secretText) {
			t.Errorf("the kinds are %q", kinds)
		}
		return err
	})
	m := eventstream.NewMatcher(eventstream.MatcherConfig{Store: o.store, Reader: eventstream.NewReader(o.store, o), Sealer: sealer})
	for _, kind := range []string{"another", secretText} {
		o.publish([]any{map[string]any{"specversion": "1.0", "id": kind, "source": "/test", "type": kind}})
		done, err := m.Step(t.Context(), eventstream.ID{Account: o.account.No, Environment: chargehand.Live})
		if err != nil || len(done.Woken) > 0 != (kind == secretText) {
			t.Errorf("for an event %q, woken are %+v, %v", kind, done.Woken, err)
		}
	}
	got, err := a.readSubscriptions(t.Context(), in)
	if err != nil || len(got.Pages) != 1 || len(got.Pages[0].Events) != 1 {
		t.Errorf("it reads %+v, %v", got, err)
	}
}
