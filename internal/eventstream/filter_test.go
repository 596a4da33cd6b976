package eventstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// planOf is a workflow that listens with one filter.
func planOf(t *testing.T, filter string) *plan.Plan {
	t.Helper()
	document, problems := dsl.Parse([]byte("document: {dsl: '1.0.3', namespace: n, name: n, version: '1.0.0'}\ndo: [{a: {listen: {to: {one: " + filter + "}}}}]"))
	if document == nil {
		t.Fatal(filter, problems)
	}
	p, problems := plan.Compile(document, plan.Options{})
	if p == nil {
		t.Fatal(filter, problems)
	}
	return p
}

// listener is a machine that listens with one filter.
func listener(t *testing.T, filter string, input value.Value) *machine.Machine {
	t.Helper()
	m := machine.New(planOf(t, filter), machine.Identity{Execution: chargehand.ExecutionID{1}})
	m.Apply(machine.Event{Kind: machine.Started, TimeMs: 1, Output: input})
	if len(m.Subscriptions()) != 1 {
		t.Fatalf("%s does not listen", filter)
	}
	return m
}

// found reports whether the entries that let an event through have one of the rows.
func found(entries, rows []store.Filter) bool {
	return slices.ContainsFunc(entries, func(e store.Filter) bool {
		return slices.ContainsFunc(rows, func(r store.Filter) bool { return r.Kind == e.Kind && bytes.Equal(r.Key, e.Key) })
	})
}

func kindsOf(rows []store.Filter) (kinds []string) {
	for _, r := range rows {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// TestIndexLetsThroughWhatMatches: the index lets everything through that the machine takes (T57), and of types that an
// expression has made nothing else.
func TestIndexLetsThroughWhatMatches(t *testing.T) {
	v := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", ".", ".", "é", "x", ".*", "|", "(?i)A", "[ab]", `\.`, "\\", "[", "+", "B"}
	text := func(of []string, most int) (s string) {
		for range 1 + random.IntN(most) {
			s += of[random.IntN(len(of))]
		}
		return s
	}
	taken, kept := 0, 0
	for range 600 {
		kind := text(pieces, 4)
		input := map[string]any{"kind": kind, "k": random.IntN(3)}
		attribute := string(value.Marshal(kind))
		made := random.IntN(2) == 0
		if made {
			attribute = "'${ $input.kind }'"
		}
		filter := "{with: {type: " + attribute + "}"
		if random.IntN(2) == 0 {
			filter += ", correlate: {k: {from: .data.k, expect: '${ .k }'}}"
		}
		m := listener(t, filter+"}", input)
		sub := m.Subscriptions()[0]
		for _, sealer := range []*secret.Sealer{nil, v.sealer} {
			rows := RowFilters(&store.Subscription{Account: 1, Environment: chargehand.Live}, sub.Filters, sealer)
			r := NewReader(v.Store, nil)
			kinds, err := newFilterKinds(kindsOf(rows), r, sealer)
			if err != nil {
				t.Fatal(err)
			}
			events := []string{kind, strings.ReplaceAll(kind, ".", "x"), strings.ToUpper(kind)}
			for range 10 {
				events = append(events, text(pieces[:6], 4))
			}
			for _, name := range events {
				data := map[string]any{"k": float64(random.IntN(3))}
				e := &Event{Type: name, Envelope: map[string]any{"type": name, "data": data}}
				through := found(kinds.of(1, chargehand.Live, e), rows)
				if through != r.lets(sub.Filters, e) {
					t.Errorf("%s with %v: of %q, the index says %v, and the reader the opposite", filter, input, name, through)
				}
				if m.Wants(sub.Command, e.Envelope) {
					taken++
					if !through {
						t.Errorf("%s with %v: the index keeps %q out", filter, input, name)
					}
				} else if !through {
					kept++
				} else if made {
					t.Errorf("%s with %v: the index lets %q through", filter, input, name)
				}
			}
		}
	}
	if taken < 1_000 || kept < 1_000 {
		t.Errorf("%d were taken and %d kept out: that tells little", taken, kept)
	}
}

// However many executions have a type of their own, they are of one kind.
func TestOwnTypesAreOneKind(t *testing.T) {
	known := make(map[string]bool)
	keys := make(map[string]bool)
	for i := range 1_000 {
		m := listener(t, `{with: {type: '${ "reply." + $input }'}}`, fmt.Sprint(i))
		for _, row := range RowFilters(&store.Subscription{Account: 1}, m.Subscriptions()[0].Filters, nil) {
			known[row.Kind], keys[string(row.Key)] = true, true
		}
	}
	if len(known) != 1 || len(keys) != 1_000 {
		t.Errorf("%d kinds with %d keys, want 1 with 1000", len(known), len(keys))
	}
}

// What rows say of executions with secrets cannot be found out by trying.
func TestSecretsInFilters(t *testing.T) {
	v := newFixture(t)
	filters := []machine.Filter{
		{Type: "s3cret", Exact: true},
		{Type: "order", Path: ".data.pin", Key: machine.FilterKey("1234")},
		{Type: "s3cret", Exact: true, Path: ".data.pin", Key: machine.FilterKey("1234")},
	}
	e := &Event{Type: "s3cret", Envelope: map[string]any{"type": "s3cret", "data": map[string]any{"pin": "1234"}}}
	one, other := store.Subscription{Account: 1, Environment: chargehand.Live}, store.Subscription{Account: 2, Environment: chargehand.Live}
	rows := RowFilters(&one, filters, v.sealer)
	for i, row := range rows {
		if strings.Contains(row.Kind, "s3cret") || bytes.Contains(row.Key, filters[1].Key[:]) {
			t.Errorf("filter %d says %+v", i, row)
		}
		if plain := RowFilters(&one, filters, nil)[i]; bytes.Equal(plain.Key, row.Key) {
			t.Errorf("the key of filter %d needs no master key", i)
		}
		if foreign := RowFilters(&other, filters, v.sealer)[i]; bytes.Equal(foreign.Key, row.Key) {
			t.Errorf("filter %d tells another account what it is", i)
		}
	}
	kinds, err := newFilterKinds(kindsOf(rows), NewReader(v.Store, nil), v.sealer)
	if err != nil {
		t.Fatal(err)
	}
	entries := kinds.of(1, chargehand.Live, e)
	if !found(entries, rows[:1]) || found(entries, rows[1:2]) || !found(entries, rows[2:]) {
		t.Errorf("%+v finds the wrong ones of %+v", entries, rows)
	}
	if _, err := newFilterKinds(kindsOf(rows), NewReader(v.Store, nil), nil); !errors.Is(err, errNoSealer) {
		t.Errorf("without a master key: %v", err)
	}
}

// No text of a definition makes a row that a database refuses.
func TestTextsOfFilters(t *testing.T) {
	for _, f := range []machine.Filter{
		{Type: "a\x00|b"}, {Type: "b|\xff"}, {Type: "a", Path: `.["` + "\x00" + `"]`}, {Type: strings.Repeat("x", 1_024), Path: "." + strings.Repeat("y", 1_023)},
		{Type: strings.Repeat("x", 1_025), Exact: true, Path: "." + strings.Repeat("y", 1_024)},
	} {
		row := RowFilters(&store.Subscription{}, []machine.Filter{f}, nil)[0]
		if strings.Contains(row.Kind, "\x00") || !utf8.ValidString(row.Kind) || len(row.Kind)+len(row.Key) > 2_200 {
			t.Errorf("%.20q, %.20q: %d bytes, %q", f.Type, f.Path, len(row.Kind), row.Kind)
		}
		k, err := parseKind(row.Kind)
		if err != nil || k.text() != row.Kind {
			t.Errorf("%.30q is read as %+v, %v", row.Kind, k, err)
		}
	}
	for _, text := range []string{"", "#", "x", "3:ab", "-1:a", "#3:"} {
		if _, err := parseKind(text); err == nil {
			t.Errorf("%q is a kind", text)
		}
	}
}

// subscribe inserts a sleeping subscription of a new execution.
func (v *fixture) subscribe(n byte, filters ...store.Filter) {
	v.Helper()
	s := store.Subscription{Account: 1, Environment: chargehand.Live, Execution: v.execution(n).No, Command: 1}
	err := v.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertSubscription(&s, filters); err != nil {
			return err
		}
		_, err := tx.SleepSubscription(&s, 0)
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
}

func (v *fixture) publish(types ...string) {
	v.Helper()
	list := make([]Publication, len(types))
	for i, name := range types {
		list[i] = Received(map[string]any{"id": fmt.Sprint(i), "source": "/" + name, "type": name})
	}
	if _, err := Publish(context.Background(), v.Store, nil, engine.Publisher{Account: 1, Environment: chargehand.Live}, list, 1); err != nil {
		v.Fatal(err)
	}
}

// Rows that were written before types had keys are found as ever.
func TestOlderFilters(t *testing.T) {
	v := newFixture(t)
	key := machine.FilterKey("/reply.1")
	v.subscribe(1, store.Filter{Kind: "7:reply.1.source", Key: key[:]})
	v.subscribe(2, store.Filter{Kind: "7:reply.2"})
	v.subscribe(3, store.Filter{Kind: "0:"})
	v.subscribe(4, RowFilters(&store.Subscription{Account: 1, Environment: chargehand.Live}, []machine.Filter{{Type: "reply.1", Exact: true}}, nil)...)
	v.publish("reply.1")
	done, err := NewMatcher(MatcherConfig{Store: v.Store, Reader: NewReader(v.Store, nil)}).Step(t.Context(), ID{1, chargehand.Live})
	if err != nil || len(done.Woken) != 3 {
		t.Errorf("woken are %+v, %v", done.Woken, err)
	}
}

// TestFewAreWokenFirst: a subscription to an event of its own is woken in the first transaction, however many others
// are woken before it in the order of their rows, and whichever event is first. All are woken once.
func TestFewAreWokenFirst(t *testing.T) {
	v := newFixture(t)
	const many = maxWoken + 100
	execution := v.execution(1).No
	err := v.Update(t.Context(), func(tx *store.Tx) error {
		for i := range many + 1 {
			s := store.Subscription{Account: 1, Environment: chargehand.Live, Execution: execution, Command: uint64(i)}
			kind := "4:many"
			if i == many {
				kind = "3:own"
			}
			if err := tx.InsertSubscription(&s, []store.Filter{{Kind: kind}}); err != nil {
				return err
			}
			if _, err := tx.SleepSubscription(&s, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	types := slices.Repeat([]string{"many"}, 2_000)
	v.publish(append(types, "own")...)
	m := NewMatcher(MatcherConfig{Store: v.Store, Reader: NewReader(v.Store, nil)})
	m.matchTime = time.Minute // a busy machine would divide the events
	times := make(map[uint64]int)
	first := true
	for more := true; more; first = false {
		done, err := m.Step(t.Context(), ID{1, chargehand.Live})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range done.Woken {
			times[s.Command]++
			if s.Command == many && !first {
				t.Error("the one that waits for an event of its own is woken late")
			}
		}
		more = done.More
	}
	if len(times) != many+1 || slices.ContainsFunc(slices.Collect(maps.Values(times)), func(n int) bool { return n != 1 }) {
		t.Errorf("%d subscriptions were woken, want %d, each once: %v", len(times), many+1, times)
	}
}

// TestFewAreWokenForAllTheirFilters: a subscription that is woken in the first transaction for an event of its own
// reads from the first event on that any of its filters lets through, also where that filter lets many through, or
// another one few.
func TestFewAreWokenForAllTheirFilters(t *testing.T) {
	v := newFixture(t)
	const many = maxWoken + 100
	execution := v.execution(1).No
	v.publish("first", "many", "second", "other", "first")
	err := v.Update(t.Context(), func(tx *store.Tx) error {
		for i := range many + 2 {
			kinds, seen := []string{"4:many"}, int64(0)
			switch i {
			case many:
				kinds = []string{"4:many", "5:other"}
			case many + 1:
				kinds, seen = []string{"5:first", "6:second"}, 1
			}
			s := store.Subscription{Account: 1, Environment: chargehand.Live, Execution: execution, Command: uint64(i)}
			var filters []store.Filter
			for _, kind := range kinds {
				filters = append(filters, store.Filter{Kind: kind})
			}
			if err := tx.InsertSubscription(&s, filters); err != nil {
				return err
			}
			if _, err := tx.SleepSubscription(&s, seen); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]int64{many: 1, many + 1: 2}
	m := NewMatcher(MatcherConfig{Store: v.Store, Reader: NewReader(v.Store, nil)})
	m.matchTime = time.Minute
	done, err := m.Step(t.Context(), ID{1, chargehand.Live})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range done.Woken {
		if since, is := want[s.Command]; is {
			if delete(want, s.Command); s.Since != since {
				t.Errorf("subscription %d reads behind event %d, want %d", s.Command, s.Since, since)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("these are woken late: %v", want)
	}
}

// A subscription that begins far behind the end reads its events, however many types of their own others have.
func TestSelectByOwnType(t *testing.T) {
	v := newFixture(t)
	var types []string
	for i := range nearEnd + 500 {
		types = append(types, fmt.Sprintf("reply.%d", i))
	}
	v.publish(append(types, "com.example.paid", "comXexample.paid", "com.example.late")...)
	last := int64(len(types) + 3)
	for _, test := range []struct {
		filters []machine.Filter
		want    []string
	}{
		{[]machine.Filter{{Type: "reply.77", Exact: true}}, []string{"reply.77"}},
		{[]machine.Filter{{Type: "reply.none", Exact: true}}, nil},
		{[]machine.Filter{{Type: "com.example.paid"}, {Type: "reply.8", Exact: true}}, []string{"reply.8", "com.example.paid", "comXexample.paid"}},
		{[]machine.Filter{{Type: `com\.(example\.late|\.)`}}, []string{"com.example.late"}},
		{[]machine.Filter{{Type: "reply"}}, nil},
	} {
		var got []string
		through, err := NewReader(v.Store, nil).Select(t.Context(), Selection{ID: ID{1, chargehand.Live}, Filters: test.filters}, 0, last, 50,
			func(e *Event) (bool, error) {
				got = append(got, e.Type)
				return true, nil
			})
		if err != nil || through != last || !slices.Equal(got, test.want) {
			t.Errorf("%+v: read %v through %d, %v", test.filters, got, through, err)
		}
	}
}

// A filter that does not fit into memory costs its own room only, not that of all others.
func TestCompiledFiltersMakeRoom(t *testing.T) {
	r := NewReader(nil, nil)
	for i := range maxCompiled + 1 {
		r.keep(fmt.Sprint(i), machine.TypeFilter{})
	}
	r.typeFilter("com.example.paid") // which is none
	kept := 0
	r.compiled.Range(func(any, any) bool { kept++; return true })
	if kept != r.count || kept < maxCompiled*8/10 || kept > maxCompiled {
		t.Errorf("%d are kept, counted as %d", kept, r.count)
	}
}
