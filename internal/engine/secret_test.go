package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/value"
)

// vault is a database with secrets.
type vault struct {
	*testing.T
	*store.Store
	db     store.DB
	sealer *secret.Sealer
}

func newVault(t *testing.T) *vault {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "v.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	v := &vault{t, store.New(db), db, secret.NewSealer(secret.NewKeys())}
	err = v.Update(context.Background(), func(tx *store.Tx) error {
		definition := store.Definition{Account: 1, Digest: make([]byte, 32), MediaType: "application/yaml", Source: []byte("{}")}
		workflow := store.Workflow{ID: chargehand.WorkflowID{1}, Account: 1, Namespace: "n", Name: "n", CreatedMs: 1}
		if err := errors.Join(tx.PutDefinition(&definition), tx.InsertWorkflow(&workflow)); err != nil {
			return err
		}
		return tx.InsertRevision(&store.Revision{Workflow: workflow.No, Version: "1.0.0", Definition: definition.No})
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vault) put(name string, version int64, plain value.Value) {
	v.Helper()
	location := secret.Location{Account: 1, Environment: uint8(chargehand.Live), Name: name, Version: version}
	s := store.Secret{Account: 1, Environment: chargehand.Live, Name: name, Version: version, Sealed: v.sealer.Seal(location, value.Append(nil, plain))}
	if err := v.Update(context.Background(), func(tx *store.Tx) error { return tx.PutSecret(&s) }); err != nil {
		v.Fatal(err)
	}
}

func (v *vault) execution(n byte) *store.Execution {
	v.Helper()
	row := &store.Execution{
		ID: chargehand.ExecutionID{n}, Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1,
		Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
	}
	if err := v.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertExecution(row) }); err != nil {
		v.Fatal(err)
	}
	return row
}

func (v *vault) read(row *store.Execution, p *plan.Plan) (s *Secrets, err error) {
	viewed := v.View(context.Background(), func(r *store.Reader) error {
		s, err = ReadSecrets(r, row, p, v.sealer)
		return nil
	})
	return s, errors.Join(err, viewed)
}

func planWith(t *testing.T, names ...string) *plan.Plan {
	t.Helper()
	use := ""
	if len(names) > 0 {
		use = "use: {secrets: [" + strings.Join(names, ", ") + "]}\n"
	}
	document, problems := dsl.Parse([]byte("document: {dsl: '1.0.3', namespace: n, name: n, version: '1.0.0'}\n" + use + "do: [{a: {set: {x: 1}}}]"))
	if document == nil {
		t.Fatal(problems)
	}
	p, problems := plan.Compile(document, plan.Options{})
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

func TestSecretsPinned(t *testing.T) {
	v, p := newVault(t), planWith(t, "token", "login", "absent")
	login := map[string]any{"username": "someone", "password": "pa55word"}
	v.put("token", 1, "first-token")
	v.put("login", 1, login)
	v.put("other", 1, "not declared")
	row := v.execution(1)
	want := map[string]value.Value{"token": "first-token", "login": login}
	before, err := v.read(&store.Execution{ID: row.ID, Account: 1, Environment: chargehand.Live, Revision: 1}, p)
	if err != nil || !reflect.DeepEqual(before.Values(), want) {
		t.Fatalf("before there is a row %v, %v", before.Values(), err)
	}
	if err := v.Update(t.Context(), func(tx *store.Tx) error { return before.Pin(tx, row.No) }); err != nil {
		t.Fatal(err)
	}
	v.put("token", 2, "second-token")
	pinned, err := v.read(row, p)
	if err != nil || !reflect.DeepEqual(pinned.Values(), want) {
		t.Errorf("pinned are %v, %v", pinned.Values(), err)
	}
	err = v.Update(t.Context(), func(tx *store.Tx) error {
		again, err := PinSecrets(tx, row, p, v.sealer)
		if !reflect.DeepEqual(again.Values(), want) {
			t.Errorf("pinned again they are %v", again.Values())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	later := v.execution(2)
	if s, err := v.read(later, p); err != nil || s.Values()["token"] != "second-token" {
		t.Errorf("a later execution gets %v, %v", s.Values(), err)
	}
	elsewhere := *later
	elsewhere.Environment = chargehand.Test
	if s, err := v.read(&elsewhere, p); err != nil || len(s.Values()) != 0 {
		t.Errorf("another environment gets %v, %v", s.Values(), err)
	}
	if text := fmt.Sprintf("%v %+v %#v", pinned, pinned, pinned); text != "[redacted] [redacted] [redacted]" {
		t.Errorf("prints %s", text)
	}
}

// TestSecretsMoved: neither a value nor a pin opens under another name.
func TestSecretsMoved(t *testing.T) {
	v, p := newVault(t), planWith(t, "token")
	v.put("token", 1, "value")
	row, other := v.execution(1), v.execution(2)
	s, err := v.read(row, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Update(t.Context(), func(tx *store.Tx) error { return s.Pin(tx, other.No) }); err != nil {
		t.Fatal(err)
	}
	if _, err := v.read(other, p); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("the pin of another execution was opened: %v", err)
	}
	location := secret.Location{Account: 1, Environment: uint8(chargehand.Live), Name: "else", Version: 2}
	moved := store.Secret{Account: 1, Environment: chargehand.Live, Name: "token", Version: 2, Sealed: v.sealer.Seal(location, []byte(`"x"`))}
	if err := v.Update(t.Context(), func(tx *store.Tx) error { return tx.PutSecret(&moved) }); err != nil {
		t.Fatal(err)
	}
	if _, err := v.read(row, p); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("the value of another secret was opened: %v", err)
	}
}

func TestSecretsTooLarge(t *testing.T) {
	v := newVault(t)
	var names []string
	for i := range 17 {
		names = append(names, fmt.Sprint("big", i))
		v.put(names[i], 1, strings.Repeat("x", 64<<10))
	}
	row := v.execution(1)
	if _, err := v.read(row, planWith(t, names[:15]...)); err != nil {
		t.Errorf("15 large secrets: %v", err)
	}
	if _, err := v.read(row, planWith(t, names...)); !errors.Is(err, ErrSecretsTooLarge) {
		t.Errorf("17 large secrets: %v", err)
	}
	many := make([]any, maxSecretTexts+1)
	for i := range many {
		many[i] = fmt.Sprint("text", i)
	}
	v.put("many", 1, many)
	if _, err := v.read(row, planWith(t, "many")); !errors.Is(err, ErrSecretsTooLarge) {
		t.Errorf("many texts: %v", err)
	}
	var end *Unrecoverable
	if err := SecretsError("secrets", ErrSecretsTooLarge); !errors.As(err, &end) || end.Fault.Status != 400 || end.Fault.Code != CodeSecretsTooLarge {
		t.Errorf("the execution ends with %v", err)
	}
	if err := SecretsError("secrets", store.ErrUnavailable); errors.As(err, &end) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an execution ends because the database is away: %v", err)
	}
}

func TestSecretsSeal(t *testing.T) {
	v, p := newVault(t), planWith(t, "token")
	v.put("token", 1, "the-token")
	row := v.execution(1)
	s, err := v.read(row, p)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("an event with the-token")
	sealed := s.Seal(SealedEvent, data)
	if strings.Contains(string(sealed), "token") {
		t.Errorf("sealed %q", sealed)
	}
	for name, opener := range map[string]*Secrets{"itself": s, "who knows no values": SealingOf(row.ID, p, v.sealer)} {
		if got, err := opener.Open(SealedEvent, sealed); err != nil || string(got) != string(data) {
			t.Errorf("%s opened %q, %v", name, got, err)
		}
	}
	if _, err := s.Open(SealedCheckpoint, sealed); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("opened as another kind: %v", err)
	}
	if got := SealingOf(row.ID, p, v.sealer).Redact("the-token"); got != "the-token" {
		t.Errorf("redacted to %v without values", got)
	}
}

func TestSecretsRedact(t *testing.T) {
	v := newVault(t)
	v.put("token", 1, "the-token")
	s, err := v.read(v.execution(1), planWith(t, "token"))
	if err != nil {
		t.Fatal(err)
	}
	fault := &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "the-token", Detail: "x the-token y", Instance: "/do/0/a", Code: "fault"}
	want := machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "[redacted]", Detail: "x [redacted] y", Instance: "/do/0/a", Code: "fault"}
	if got := s.RedactFault(fault); *got != want || fault.Title != "the-token" {
		t.Errorf("fault %+v, before %+v", got, fault)
	}
	if got := s.RedactFault(&machine.Fault{Type: "https://the-token/"}); got.Type != "https://[redacted]/" {
		t.Errorf("an author's type became %s", got.Type)
	}
	entries := []machine.Entry{
		{Seq: 1, Name: "the-token", Input: map[string]any{"a": "the-token"}, Files: []machine.File{{Name: "x"}, {Name: "the-token.txt"}}},
		{Seq: 2, Output: []any{"the-token"}, Fault: fault},
	}
	got := s.RedactEntries(entries)
	if got[0].Name != "the-token" || got[0].Input.(map[string]any)["a"] != "[redacted]" || got[0].Files[1].Name != "[redacted].txt" ||
		got[1].Output.([]any)[0] != "[redacted]" || got[1].Fault.Detail != want.Detail {
		t.Errorf("entries %+v", got)
	}
	if entries[0].Files[1].Name != "the-token.txt" || entries[1].Fault.Title != "the-token" || entries[0].Input.(map[string]any)["a"] != "the-token" {
		t.Errorf("the entries were changed in place: %+v", entries)
	}
	if got := s.RedactText("the-token"); got != "[redacted]" {
		t.Errorf("text became %s", got)
	}
}

// TestNoSecrets: an execution that declares none pays nothing.
func TestNoSecrets(t *testing.T) {
	s, err := ReadSecrets(nil, &store.Execution{}, planWith(t), nil)
	if s != nil || err != nil || SealingOf(chargehand.ExecutionID{}, planWith(t), nil) != nil {
		t.Fatalf("read %v, %v", s, err)
	}
	data, entries, fault := []byte("data"), []machine.Entry{{Seq: 1}}, &machine.Fault{Title: "t"}
	opened, err := s.Open(SealedEvent, data)
	if err != nil || &opened[0] != &data[0] || &s.Seal(SealedEvent, data)[0] != &data[0] ||
		&s.RedactEntries(entries)[0] != &entries[0] || s.RedactFault(fault) != fault || s.Redact("v") != "v" || s.RedactText("t") != "t" ||
		s.Values() != nil || s.Pin(nil, 1) != nil {
		t.Error("something was changed or copied")
	}
	allocated := testing.AllocsPerRun(100, func() {
		s.Seal(SealedEvent, data)
		s.RedactEntries(entries)
		s.RedactFault(fault)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
