package eventstream

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// dataFilters are filters on data, where $input and $workflow.input are {"n": 1 | 1.5 | "a" | …}. decided: the event
// alone decides.
var dataFilters = []struct {
	with    string
	decided bool
}{
	{`data: '${ .x == 1 }'`, true},
	{`data: '${ .x == $input.n }'`, true},
	{`data: '${ $workflow.input.n == .x }'`, true},
	{`data: '${ .x == $input.n and .y > 1 }'`, false},
	{`data: '${ .y > 1 and .x == $input.n }'`, false},
	{`data: '${ .x == $input.n or .y == 1 }'`, false},
	{`data: '${ .x == $context.n }'`, false},
	{`data: '${ .x == null }'`, true},
	{`data: '${ .x != 1 }'`, true},
	{`data: '${ .x > 1 }'`, true},
	{`data: '${ .x }'`, true},
	{`data: '${ {x: 1} }'`, true},
	{`data: '${ $event.subject == .x }'`, true},
	{`data: {x: 1}`, true},
	{`data: {x: true}`, true},
	{`data: {x: null}`, true},
	{`data: {x: 'a|b', y: 1}`, true},
	{`data: {x: {z: 1.0}}`, true},
	{`data: {x: [1, '${ .y }']}`, true},
	{`data: {x: '${ .x == 1 }'}`, true},
	{`data: {x: '${ $input.n }'}`, false},
	{`data: 1`, true},
	{`subject: 'a|b'`, true},
	{`subject: '${ $input.n }'`, false},
	{`source: /s, data: '${ .x == $input.n }'`, false},
}

// TestIndexOfData: what the event alone decides, or is an equality with a value that is fixed, is left out exactly;
// nothing that the machine takes is left out; and a restored machine has the same index.
func TestIndexOfData(t *testing.T) {
	v := newFixture(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	values := []string{`1`, `1.0`, `1.5`, `"a"`, `"b"`, `true`, `false`, `null`, `{"z":1}`, `{"z":1.0,"w":2}`, `[1,2]`, `9007199254740993`, `9007199254740992.0`, `1e300`, `-0.0`, `0`}
	pick := func() string { return values[random.IntN(len(values))] }
	taken, kept := 0, 0
	for range 1_500 {
		one := dataFilters[random.IntN(len(dataFilters))]
		input, err := value.Parse([]byte(`{"n":`+pick()+`}`), value.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m := listener(t, "{with: {type: x, "+one.with+"}}", input)
		sub := m.Subscriptions()[0]
		rows := RowFilters(&store.Subscription{Account: 1, Environment: chargehand.Live}, sub.Filters, nil)
		r := NewReader(v.Store, nil)
		kinds, err := newFilterKinds(kindsOf(rows), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			data := `{"x":` + pick() + `,"y":` + pick() + `}`
			if random.IntN(4) == 0 {
				data = pick()
			}
			text := `{"type":"x","source":"/s","subject":"` + string("ab"[random.IntN(2)]) + `","data":` + data + `}`
			if random.IntN(6) == 0 {
				text = strings.Replace(text, `"data":`+data, `"datacontenttype":"application/json","data_base64":"eyJ4IjoxfQ=="`, 1)
			}
			envelope, err := value.Parse([]byte(text), value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			e := &Event{Type: "x", Envelope: envelope}
			through := found(kinds.of(1, chargehand.Live, e), rows)
			if through != r.lets(sub.Filters, e) || through && one.decided && r.refuses(sub.Filters, e) {
				t.Errorf("%s with %v: of %s, the index and the reader say different things", one.with, input, text)
			}
			wants := m.Wants(sub.Command, e.Envelope)
			switch {
			case wants && (!through || r.refuses(sub.Filters, e)):
				t.Errorf("%s with %v: the index keeps %s out", one.with, input, text)
			case !wants && through && one.decided && strings.Contains(rows[0].Kind, "?"):
				t.Errorf("%s with %v: the index lets %s through", one.with, input, text)
			case wants:
				taken++
			case !through:
				kept++
			}
		}
	}
	if taken < 1_000 || kept < 1_000 {
		t.Errorf("%d were taken and %d kept out: that tells little", taken, kept)
	}
}

// TestIndexIsRestored: a machine from a checkpoint waits for the same as before.
func TestIndexIsRestored(t *testing.T) {
	for _, one := range dataFilters {
		filter := "{with: {type: x, " + one.with + "}}"
		m := listener(t, filter, map[string]any{"n": "a"})
		p := planOf(t, filter)
		restored, err := machine.Restore(p, machine.Identity{Execution: chargehand.ExecutionID{1}}, m.Checkpoint())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := restored.Subscriptions(), m.Subscriptions(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: restored to %+v, was %+v", one.with, got, want)
		}
	}
}

// TestEqualDataIsOneKind: however many executions wait for a value of their own in the data of events, they are of one
// kind.
func TestEqualDataIsOneKind(t *testing.T) {
	known, keys := map[string]bool{}, map[string]bool{}
	for i := range 1_000 {
		m := listener(t, `{with: {type: order, data: '${ .order.id == $input.id }'}}`, map[string]any{"id": i})
		for _, row := range RowFilters(&store.Subscription{Account: 1}, m.Subscriptions()[0].Filters, nil) {
			known[row.Kind], keys[string(row.Key)] = true, true
		}
	}
	if len(known) != 1 || len(keys) != 1_000 {
		t.Errorf("%d kinds with %d keys, want 1 with 1000", len(known), len(keys))
	}
}

// TestCostlyFiltersAreEvaluatedOnce: an expression that takes long is not evaluated where others wait, and once for all
// listeners.
func TestCostlyFiltersAreEvaluatedOnce(t *testing.T) {
	v := newFixture(t)
	m := listener(t, `{with: {type: x, data: '${ [range(50000)] | length < 0 }'}}`, nil)
	filters := m.Subscriptions()[0].Filters
	r := NewReader(v.Store, nil)
	e := &Event{Type: "x", Envelope: map[string]any{"type": "x", "data": 1}}
	steps := quickSteps
	if _, has, _ := r.keyOf(e, filters[0].Path, &steps); !has || steps > 0 {
		t.Fatalf("an event does not get through that takes more than the steps, of which %d are left", steps)
	}
	if !r.lets(filters, e) {
		t.Error("the reader leaves out what is not decided")
	}
	if !r.refuses(filters, e) {
		t.Error("the filter matches nothing")
	}
	steps = expr.MaxSteps
	if _, has, _ := r.keyOf(e, filters[0].Path, &steps); has || steps != expr.MaxSteps {
		t.Errorf("it is evaluated again, for %d steps", expr.MaxSteps-steps)
	}
	if r.lets(filters, e) {
		t.Error("who reads after that does not know it")
	}
}
