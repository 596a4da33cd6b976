package service

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

func (fx *fixture) putSecret(p *Principal, name string, value value.Value) (*Secret, bool) {
	fx.t.Helper()
	s, created, err := fx.PutSecret(fx.t.Context(), p, name, map[string]any{"value": value})
	if err != nil {
		fx.t.Fatal(err)
	}
	return s, created
}

// valueOf opens what is stored, or "" where nothing is.
func (fx *fixture) valueOf(p *Principal, name string) (text string) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) error {
		rows, err := r.SecretValues(p.AccountNo, p.Environment, []string{name})
		if err != nil || len(rows) == 0 {
			return err
		}
		value, err := fx.sealer.Open(locationOf(&rows[0]), rows[0].Sealed)
		text = string(value)
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return text
}

func TestPutSecret(t *testing.T) {
	fx := newFixture(t)
	first, created := fx.putSecret(fx.p, "token", "one")
	if want := (Secret{Name: "token", Version: 1, CreatedAt: epoch, UpdatedAt: epoch}); !created || !reflect.DeepEqual(*first, want) {
		t.Errorf("created %t %+v, want %+v", created, *first, want)
	}
	fx.pass(time.Second)
	second, created := fx.putSecret(fx.p, "token", "one")
	if want := (Secret{Name: "token", Version: 2, CreatedAt: epoch, UpdatedAt: epoch.Add(time.Second)}); created || !reflect.DeepEqual(*second, want) {
		t.Errorf("set again %t %+v, want %+v", created, *second, want)
	}
	if got := fx.valueOf(fx.p, "token"); got != `"one"` {
		t.Errorf("stored is %s", got)
	}
	if _, created := fx.putSecret(fx.test, "token", map[string]any{"username": "u", "password": "p"}); !created {
		t.Error("an environment sees the secret of another")
	}
	if got := fx.valueOf(fx.test, "token"); got != `{"password":"p","username":"u"}` {
		t.Errorf("stored is %s", got)
	}
	got, err := fx.GetSecret(t.Context(), fx.p, "token")
	second.Versions = []SecretVersion{{Version: 2, SetAt: epoch.Add(time.Second)}, {Version: 1, SetAt: epoch}}
	if err != nil || !reflect.DeepEqual(*got, *second) {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestDeleteSecret(t *testing.T) {
	fx := newFixture(t)
	fx.putSecret(fx.p, "token", "one")
	fx.pass(time.Second)
	if err := fx.DeleteSecret(t.Context(), fx.p, "token"); err != nil {
		t.Fatal(err)
	}
	_, err := fx.GetSecret(t.Context(), fx.p, "token")
	wantCode(t, err, chargehand.CodeSecretNotFound)
	wantCode(t, fx.DeleteSecret(t.Context(), fx.p, "token"), chargehand.CodeSecretNotFound)
	wantCode(t, fx.DeleteSecret(t.Context(), fx.test, "other"), chargehand.CodeSecretNotFound)
	again, created := fx.putSecret(fx.p, "token", "two")
	if !created || again.Version != 2 || !again.CreatedAt.Equal(epoch.Add(time.Second)) {
		t.Errorf("made anew %t %+v", created, again)
	}
}

func TestSecretNames(t *testing.T) {
	fx := newFixture(t)
	for _, name := range []string{"a", "team/token", "with space", "ü", "%2F", "...", strings.Repeat("x", maxSecretNameBytes)} {
		fx.putSecret(fx.p, name, 1)
		if s, err := fx.GetSecret(t.Context(), fx.p, name); err != nil || s.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "  ", ".", "..", "a\x00", "a\nb", "\x7f", "\xff", strings.Repeat("x", maxSecretNameBytes+1)} {
		_, _, err := fx.PutSecret(t.Context(), fx.p, name, map[string]any{"value": "v"})
		wantCode(t, err, chargehand.CodeInvalidParameter)
		_, err = fx.GetSecret(t.Context(), fx.p, name)
		wantCode(t, err, chargehand.CodeSecretNotFound)
		wantCode(t, fx.DeleteSecret(t.Context(), fx.p, name), chargehand.CodeSecretNotFound)
	}
}

func TestSecretValues(t *testing.T) {
	fx := newFixture(t)
	texts := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = fmt.Sprint("text", i)
		}
		return list
	}
	for _, v := range []value.Value{"", false, 1, 1.5, []any{}, map[string]any{"a": nil}, strings.Repeat("x", maxSecretBytes-2), texts(maxSecretTexts)} {
		fx.putSecret(fx.p, "v", v)
		if got := fx.valueOf(fx.p, "v"); got != string(value.Marshal(v)) {
			t.Errorf("stored %.40s of %.40v", got, v)
		}
	}
	bad := map[string]struct {
		body    value.Value
		code    chargehand.Code
		pointer string
	}{
		"nothing":    {nil, chargehand.CodeInvalidBody, "/value"},
		"no object":  {"hunter2", chargehand.CodeInvalidBody, ""},
		"no value":   {map[string]any{}, chargehand.CodeInvalidBody, "/value"},
		"null":       {map[string]any{"value": nil}, chargehand.CodeInvalidBody, "/value"},
		"other":      {map[string]any{"value": "v", "name": "hunter2"}, chargehand.CodeUnknownField, "/name"},
		"too large":  {map[string]any{"value": strings.Repeat("hunter2", 10_000)}, chargehand.CodeInvalidBody, "/value"},
		"many texts": {map[string]any{"value": texts(maxSecretTexts + 1)}, chargehand.CodeInvalidBody, "/value"},
	}
	for name, c := range bad {
		_, _, err := fx.PutSecret(t.Context(), fx.p, "bad", c.body)
		wantCode(t, err, c.code)
		var shown *chargehand.Error
		if !errors.As(err, &shown) || len(shown.Fields) != 1 || shown.Fields[0].Pointer != c.pointer {
			t.Errorf("%s: %+v", name, shown)
		}
		if strings.Contains(fmt.Sprintf("%+v", shown), "hunter2") {
			t.Errorf("%s: the error tells the value: %v", name, err)
		}
	}
}

func TestListSecrets(t *testing.T) {
	fx := newFixture(t)
	var want []string
	for i := range 7 {
		name := fmt.Sprint("s", i)
		fx.putSecret(fx.p, name, i)
		want = append([]string{name}, want...)
	}
	fx.putSecret(fx.test, "elsewhere", 1)
	var got []string
	for cursor, first := (Cursor{}), true; first || !cursor.IsZero(); first = false {
		page, err := fx.ListSecrets(t.Context(), fx.p, 3, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Data {
			got = append(got, s.Name)
		}
		if len(page.Data) == 0 && !page.Cursor.IsZero() {
			t.Fatal("an empty page has a cursor")
		}
		cursor = page.Cursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("secrets %v, want %v", got, want)
	}
}

// TestConcurrentSecrets: every version is used once, and the bound holds.
func TestConcurrentSecrets(t *testing.T) {
	fx := newFixture(t)
	versions := make([]int64, 20)
	var wg sync.WaitGroup
	for i := range versions {
		wg.Go(func() {
			s, _, err := fx.PutSecret(t.Context(), fx.p, "token", map[string]any{"value": i})
			if err != nil {
				t.Error(err)
				return
			}
			versions[i] = s.Version
		})
	}
	wg.Wait()
	slices.Sort(versions)
	for i, v := range versions {
		if v != int64(i+1) {
			t.Fatalf("versions %v", versions)
		}
	}
	for i := range maxSecrets - 1 {
		fx.putSecret(fx.p, fmt.Sprint("s", i), i)
	}
	_, _, err := fx.PutSecret(t.Context(), fx.p, "one more", map[string]any{"value": 1})
	wantCode(t, err, chargehand.CodeStateConflict)
	fx.putSecret(fx.p, "token", "a new version of an existing secret")
	fx.putSecret(fx.test, "token", "another environment")
	if err := fx.DeleteSecret(t.Context(), fx.p, "s1"); err != nil {
		t.Fatal(err)
	}
	fx.putSecret(fx.p, "one more", 1)
}

// secretsAtOnce: two who set or delete the same secret get one version each, and what is there at the
// end is what the last one set.
func secretsAtOnce(n *nodes) {
	seen := map[int64]bool{}
	for range 10 {
		var mu sync.Mutex
		var last Secret
		n.good(n.both(func(fx *fixture) error {
			s, _, err := fx.PutSecret(n.t.Context(), fx.p, "token", map[string]any{"value": 1})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[s.Version] {
				return fmt.Errorf("version %d was used twice", s.Version)
			}
			if seen[s.Version] = true; s.Version > last.Version {
				last = *s
			}
			return nil
		}))
		got, err := n.b.GetSecret(n.t.Context(), n.b.p, "token")
		n.good(err, nil)
		if len(got.Versions) == 0 || got.Versions[0].Version != last.Version {
			n.t.Fatalf("read %+v, want version %d as the newest", got, last.Version)
		}
		got.Versions = nil // only this answer lists them
		if !reflect.DeepEqual(*got, last) {
			n.t.Fatalf("read %+v, want %+v", got, last)
		}
		deleted, put := n.each(
			func() error { return n.a.DeleteSecret(n.t.Context(), n.a.p, "token") },
			func() error {
				s, created, err := n.b.PutSecret(n.t.Context(), n.b.p, "token", map[string]any{"value": 2})
				if err == nil && (s.Version != last.Version+1 || seen[s.Version]) {
					err = fmt.Errorf("version %d after %d, created %t", s.Version, last.Version, created)
				}
				seen[last.Version+1] = true
				return err
			})
		n.good(deleted, put)
	}
}

// TestRollBackSecret: the value of an earlier version counts again, as a new version.
func TestRollBackSecret(t *testing.T) {
	fx := newFixture(t)
	back := func(version int64) (*Secret, error) {
		return fx.RollBackSecret(t.Context(), fx.p, "token", map[string]any{"version": int(version)})
	}
	_, err := back(1)
	wantCode(t, err, chargehand.CodeSecretNotFound)
	for _, value := range []string{"one", "two", "three"} {
		fx.putSecret(fx.p, "token", value)
		fx.pass(time.Second)
	}
	got, err := back(1)
	if err != nil {
		t.Fatal(err)
	}
	want := []SecretVersion{{4, epoch.Add(3 * time.Second), 1}, {3, epoch.Add(2 * time.Second), 0}, {2, epoch.Add(time.Second), 0}, {1, epoch, 0}}
	if got.Version != 4 || !reflect.DeepEqual(got.Versions, want) || fx.valueOf(fx.p, "token") != `"one"` {
		t.Errorf("rolled back to %s, %+v", fx.valueOf(fx.p, "token"), got)
	}
	for _, same := range []int64{1, 4} {
		if got, err := back(same); err != nil || got.Version != 4 {
			t.Errorf("to %d again: %+v, %v", same, got, err)
		}
	}
	if got, err := back(2); err != nil || got.Version != 5 || fx.valueOf(fx.p, "token") != `"two"` {
		t.Errorf("to 2: %+v, %v", got, err)
	}
	_, err = back(9)
	wantCode(t, err, chargehand.CodeVersionNotFound)
	for range store.KeptVersions {
		fx.putSecret(fx.p, "token", "later")
	}
	_, err = back(2)
	wantCode(t, err, chargehand.CodeVersionNotFound)
	for _, bad := range []value.Value{nil, map[string]any{}, map[string]any{"version": 0}, map[string]any{"version": "1"}, map[string]any{"verison": 1}} {
		if _, err := fx.RollBackSecret(t.Context(), fx.p, "token", bad); err == nil {
			t.Errorf("with %v it is rolled back", bad)
		}
	}
}

// TestSecretUsers: a secret shows the workflows whose definition declares it, in live the published one.
func TestSecretUsers(t *testing.T) {
	fx := newFixture(t)
	fx.putSecret(fx.p, "token", "one")
	fx.putSecret(fx.test, "token", "one")
	definition := func(version, use string) string {
		return "document: { dsl: '1.0.3', namespace: shop, name: order, version: '" + version + "' }\n" + use + "do: [ { a: { set: { n: 1 } } } ]\n"
	}
	applied := func(source string, draft bool) {
		t.Helper()
		if _, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: []byte(source), Draft: draft}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, live, test int) {
		t.Helper()
		for p, n := range map[*Principal]int{fx.p: live, fx.test: test} {
			got, err := fx.GetSecret(t.Context(), p, "token")
			if err != nil || len(got.UsedBy) != n || n > 0 && got.UsedBy[0].Name != "order" {
				t.Errorf("%s, in %s: %+v, %v", what, p.Environment, got, err)
			}
		}
	}
	want("before", 0, 0)
	applied(definition("1.0.0", "use: { secrets: [token] }\n"), true)
	want("a draft", 0, 1)
	applied(definition("1.0.1", "use: { secrets: [token] }\n"), false)
	want("published", 1, 1)
	applied(definition("1.0.2", ""), false)
	want("published without it", 0, 1)
}
