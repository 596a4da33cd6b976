package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// inNamespace is a trivial definition of another namespace than test.
func inNamespace(namespace, name string, more ...string) []byte {
	return []byte(strings.Replace(string(definition(name, "1.0.0", more...)), "namespace: test", "namespace: "+namespace, 1))
}

// limited makes a key of live that is limited to namespaces and workflows (those with a slash).
func (fx *fixture) limited(scopes Scopes, to ...string) *Principal {
	fx.t.Helper()
	r := IssueKey{Scopes: scopes}
	for _, name := range to {
		if strings.Contains(name, "/") {
			r.Workflows = append(r.Workflows, name)
		} else {
			r.Namespaces = append(r.Namespaces, name)
		}
	}
	return fx.authenticate(fx.issue(r))
}

func TestKeyOfNamespace(t *testing.T) {
	fx := newFixture(t)
	pay, other := fx.apply(inNamespace("finance", "pay")), fx.apply(definition("other", "1.0.0"))
	third := fx.apply(definition("third", "1.0.0"))
	all := PresetOperate | PresetDeploy
	p := fx.limited(all, "finance", "test/third")
	if !p.Sees(pay.ID) || p.Sees(other.ID) || !p.Sees(third.ID) {
		t.Fatalf("it sees %v", p.Workflows)
	}
	// A new workflow of the namespace counts at once, and so does one that the key itself makes, though p is older.
	later, mine := fx.apply(inNamespace("finance", "later")), fx.applyAs(p, inNamespace("finance", "mine"), false)
	for _, id := range []chargehand.WorkflowID{later.ID, mine.ID} {
		if _, err := fx.GetWorkflow(t.Context(), p, id); err != nil {
			t.Error(err)
		}
	}
	p = fx.limited(all, "finance", "test/third")
	for _, id := range []chargehand.WorkflowID{pay.ID, later.ID, mine.ID, third.ID} {
		fx.createAs(p, id, noInput)
	}
	hidden := fx.create(other.ID, noInput)
	page, err := fx.ListExecutions(t.Context(), p, ListExecutions{Limit: 10})
	if err != nil || len(page.Data) != 4 {
		t.Errorf("%d executions, %v", len(page.Data), err)
	}
	_, err = fx.GetExecution(t.Context(), p, other.ID, hidden.ID, view)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	for _, source := range [][]byte{definition("new", "1.0.0"), definition("other", "2.0.0"), inNamespace("finance2", "pay")} {
		_, _, err := fx.ApplyWorkflow(t.Context(), p, ApplyWorkflow{Definition: source, MediaType: mediaYAML})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	}
	if err := fx.DeleteWorkflow(t.Context(), p, pay.ID); err != nil {
		t.Error(err)
	}
	if _, err = fx.ListExecutions(t.Context(), p, ListExecutions{Workflow: pay.ID, Limit: 10}); err != nil {
		t.Errorf("executions of a deleted workflow stay readable: %v", err)
	}
}

// starts is a task that starts another workflow.
func starts(workflow string) string {
	namespace, name, _ := strings.Cut(workflow, "/")
	return "  - start: {run: {workflow: {namespace: " + namespace + ", name: " + name + ", version: latest}}}\n"
}

// What a limited key applies starts only what the key sees: what it names is refused, and what was seen then and is not
// any more, or is there only since, is refused when it starts.
func TestLimitedAuthorStartsOnlyWhatItSees(t *testing.T) {
	fx := newFixture(t)
	fx.apply(inNamespace("hr", "salaries"))
	own := fx.apply(inNamespace("finance", "own"))
	p := fx.limited(PresetDeploy, "finance")
	source := func(child string) []byte { return append(inNamespace("finance", "main"), starts(child)...) }
	for _, child := range []string{"hr/salaries", "hr/nothing"} { // the key does not learn which of them exists
		_, _, err := fx.ApplyWorkflow(t.Context(), p, ApplyWorkflow{Definition: source(child), MediaType: mediaYAML})
		shown := wantCode(t, err, chargehand.CodeDefinitionInvalid)
		wantPointers(t, shown, "/do/1/start")
		if f := shown.Fields[0]; f.Code != "not_granted" || f.Line == 0 || !strings.Contains(f.Detail, child) {
			t.Errorf("%+v", f)
		}
	}
	// A check says the same, and that of a name where the key makes nothing; to who applies nothing it says nothing.
	validate := func(p *Principal, source []byte, at string) {
		t.Helper()
		v, err := fx.ValidateWorkflow(t.Context(), p, source)
		switch {
		case err != nil:
			t.Error(err)
		case at == "" && !v.Valid, at != "" && (v.Valid || len(v.Errors) != 1):
			t.Errorf("%+v", v)
		case at != "" && (v.Errors[0].Code != "not_granted" || v.Errors[0].Pointer != at || v.Errors[0].Line == 0 || v.Errors[0].Column == 0):
			t.Errorf("%+v", v.Errors[0])
		}
	}
	validate(p, source("hr/salaries"), "/do/1/start")
	validate(p, inNamespace("hr", "salaries"), "/document/name")
	validate(p, source("finance/own"), "")
	validate(fx.p, source("hr/salaries"), "")
	validate(fx.limited(ScopeWorkflowsRead, "finance"), source("hr/salaries"), "")
	main := fx.applyAs(p, source("finance/own"), false)
	child := func(revision int64, namespace, name string) *machine.Fault {
		t.Helper()
		var fault *machine.Fault
		err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
			parent := store.Execution{Account: fx.account.No, Environment: chargehand.Live, Revision: revision}
			_, fault, err = engine.Tree{}.NewChild(r, &parent, machine.Command{Child: &machine.Child{Namespace: namespace, Name: name, Version: "latest"}}, 0, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return fault
	}
	revision := func(id chargehand.WorkflowID) int64 {
		r, _ := fx.mustCurrent(id).revision(chargehand.Live)
		return r.No
	}
	limited := revision(main.ID)
	if f := child(limited, "finance", "own"); f != nil {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"salaries", "nothing"} {
		if f := child(limited, "hr", name); f == nil || f.Code != engine.CodeChildUnknown || !strings.Contains(f.Detail, "limited") {
			t.Errorf("hr/%s: %+v", name, f)
		}
	}
	// The same from a key without limits is another content: it may start everything.
	again := fx.apply(source("finance/own"))
	if again.Revision != 2 {
		t.Errorf("revision %d", again.Revision)
	}
	if f := child(revision(main.ID), "hr", "salaries"); f != nil {
		t.Errorf("%+v", f)
	}
	// And what that one has applied is not taken back by a limited key that applies it again.
	if same := fx.applyAs(p, source("finance/own"), false); same.Revision != 2 {
		t.Errorf("revision %d", same.Revision)
	}
	_ = own
}

func (fx *fixture) mustCurrent(id chargehand.WorkflowID) *currentWorkflow {
	fx.t.Helper()
	c, err := fx.current(fx.t.Context(), fx.p, id)
	if err != nil {
		fx.t.Fatal(err)
	}
	return c
}

// Which workflows may use a secret is checked when they are applied and again when they start.
func TestSecretsOfSomeWorkflows(t *testing.T) {
	fx := newFixture(t)
	put := func(name, lists string) error {
		_, _, err := fx.PutSecret(t.Context(), fx.p, name, parse(t, `{"value": "value-of-`+name+`"`+lists+`}`))
		return err
	}
	pay := fx.apply(inNamespace("finance", "pay"))
	fx.apply(definition("other", "1.0.0"))
	for name, lists := range map[string]string{
		"open": "", "of-finance": `, "namespaces": ["finance"]`, "of-pay": `, "workflows": ["finance/pay"]`, "of-hr": `, "namespaces": ["hr"]`,
	} {
		if err := put(name, lists); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, put("x", `, "workflows": ["finance/nothing"]`), chargehand.CodeWorkflowNotFound)
	wantCode(t, put("x", `, "workflows": []`), chargehand.CodeInvalidBody)
	limited := fx.limited(PresetDeploy, "finance")
	for _, c := range []struct {
		p        *Principal
		workflow string
		secret   string
		good     bool
	}{
		{fx.p, "finance/pay", "open", true}, {fx.p, "finance/pay", "of-finance", true}, {fx.p, "finance/pay", "of-pay", true},
		{fx.p, "finance/pay", "of-hr", false}, {fx.p, "test/other", "of-pay", false}, {fx.p, "finance/new", "of-pay", false},
		{fx.p, "finance/new", "of-finance", true}, {fx.p, "finance/pay", "not-there-yet", true},
		{limited, "finance/pay", "open", false}, {limited, "finance/pay", "of-finance", true}, {limited, "finance/pay", "of-pay", true},
		{limited, "finance/pay", "of-hr", false}, {limited, "finance/pay", "not-there-yet", false},
	} {
		namespace, name, _ := strings.Cut(c.workflow, "/")
		source := inNamespace(namespace, name, "use: {secrets: ["+c.secret+"]}\n")
		applied, _, err := fx.ApplyWorkflow(t.Context(), c.p, ApplyWorkflow{Definition: source, MediaType: mediaYAML})
		if !c.good {
			wantPointers(t, wantCode(t, err, chargehand.CodeDefinitionInvalid), "/use/secrets/0")
			continue
		}
		if err != nil {
			t.Errorf("%s with %s: %v", c.workflow, c.secret, err)
			continue
		}
		if got := fx.secretsOf(applied.ID); (len(got) == 1) != (c.secret != "not-there-yet") {
			t.Errorf("%s gets %q", c.workflow, got)
		}
		if name == "new" {
			if err := fx.DeleteWorkflow(t.Context(), fx.p, applied.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A value that is set again keeps its lists; null takes them away, and others count from the next start.
	fx.apply(inNamespace("finance", "pay", "use: {secrets: [of-pay, open]}\n"))
	if got := fx.secretsOf(pay.ID); !slices.Equal(got, []string{"of-pay", "open"}) {
		t.Errorf("it gets %q", got)
	}
	for lists, want := range map[string]int{`, "workflows": null, "namespaces": ["hr"]`: 1, ``: 1, `, "namespaces": ["finance"]`: 2} {
		if lists == "" {
			continue
		}
		if err := put("of-pay", lists); err != nil {
			t.Fatal(err)
		}
		if err := put("of-pay", ""); err != nil { // rotated
			t.Fatal(err)
		}
		if got := fx.secretsOf(pay.ID); len(got) != want {
			t.Errorf("with %s it gets %q", lists, got)
		}
	}
	shown, err := fx.GetSecret(t.Context(), fx.p, "of-finance")
	if err != nil || !slices.Equal(shown.Limits.Namespaces, []string{"finance"}) || shown.Limits.Workflows != nil {
		t.Errorf("%+v, %v", shown, err)
	}
	// A key without limits applied this; a secret that is for all is not there for what a limited one applies.
	if err := put("of-all", ""); err != nil {
		t.Fatal(err)
	}
	_, _, err = fx.ApplyWorkflow(t.Context(), limited, ApplyWorkflow{Definition: inNamespace("finance", "thief", "use: {secrets: [of-all]}\n"), MediaType: mediaYAML})
	wantCode(t, err, chargehand.CodeDefinitionInvalid)
}

// secretsOf are the names of the secrets that an execution of a workflow is given when it starts.
func (fx *fixture) secretsOf(id chargehand.WorkflowID) (names []string) {
	fx.t.Helper()
	revision, _ := fx.mustCurrent(id).revision(chargehand.Live)
	compiled, err := fx.plans.Plan(fx.t.Context(), revision.No)
	if err != nil {
		fx.t.Fatal(err)
	}
	err = fx.rows.View(fx.t.Context(), func(r *store.Reader) error {
		row := store.Execution{ID: newID[chargehand.ExecutionID](1), Account: fx.account.No, Environment: chargehand.Live, Revision: revision.No}
		s, err := engine.ReadSecrets(r, &row, compiled, fx.sealer)
		names = nil
		for name := range s.Values() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A limited key reads only files that it uploaded and files of executions that it sees, also where a file is named in
// an input.
func TestLimitedKeyNamesOnlyItsFiles(t *testing.T) {
	fx := newFixture(t)
	mine, other := fx.apply(inNamespace("finance", "mine")), fx.apply(definition("other", "1.0.0"))
	p := fx.limited(PresetOperate, "finance")
	colleague := fx.limited(PresetOperate, "finance")
	file := func(id chargehand.FileID) map[string]any {
		return map[string]any{"name": "f", "uri": "https://example.com/api/v1/files/" + id.String()}
	}
	made := func(id chargehand.WorkflowID) chargehand.FileID {
		e := fx.create(id, noInput)
		return fx.resultFile(e)
	}
	readable := map[string]chargehand.FileID{"its upload": fx.upload(p, "a", "x").ID, "a result of a workflow that it sees": made(mine.ID)}
	hidden := map[string]chargehand.FileID{
		"an upload of an admin": fx.upload(fx.p, "b", "x").ID, "an upload of a colleague": fx.upload(colleague, "c", "x").ID,
		"a result of another workflow": made(other.ID), "nothing": newID[chargehand.FileID](5),
	}
	start := func(input any) error {
		_, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{Workflow: mine.ID, Body: map[string]any{"input": input}})
		return err
	}
	batch := func(items ...any) error {
		_, _, err := fx.CreateBatch(t.Context(), p, CreateBatch{Workflow: mine.ID, Body: map[string]any{"items": items}})
		return err
	}
	for name, id := range readable {
		if _, err := fx.GetFile(t.Context(), p, ReadFile{ID: id}, view); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := start(map[string]any{"f": file(id)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := batch(map[string]any{"f": file(id)}); err != nil {
			t.Errorf("%s in a batch: %v", name, err)
		}
	}
	starts := len(fx.engine.starts)
	for name, id := range hidden {
		_, err := fx.GetFile(t.Context(), p, ReadFile{ID: id}, view)
		wantCode(t, err, chargehand.CodeFileNotFound)
		_, _, err = fx.OpenFile(t.Context(), p, ReadFile{ID: id})
		wantCode(t, err, chargehand.CodeFileNotFound)
		deep := map[string]any{"a": []any{1, map[string]any{"b/c": file(id)}}}
		wantPointers(t, wantCode(t, start(deep), chargehand.CodeInputInvalid), "/input/a/1/b~1c/uri")
		relative := map[string]any{"f": map[string]any{"uri": "/api/v1/files/" + id.String()}}
		wantPointers(t, wantCode(t, start(relative), chargehand.CodeInputInvalid), "/input/f/uri")
		err = batch(map[string]any{}, map[string]any{"f": file(id)})
		wantPointers(t, wantCode(t, err, chargehand.CodeInputInvalid), "/items/1/f/uri")
		if name != "nothing" { // a key that sees all may name it
			fx.createAs(fx.p, mine.ID, map[string]any{"f": file(id)})
			starts++
		}
	}
	if n := len(fx.engine.starts); n != starts {
		t.Errorf("%d executions started", n-starts)
	}
}

// resultFile gives an execution a file of its own.
func (fx *fixture) resultFile(e *Execution) chargehand.FileID {
	fx.t.Helper()
	upload := fx.upload(fx.p, "r", "result of "+e.ID.String())
	file := store.File{ID: newID[chargehand.FileID](fx.nowMs()), Account: fx.account.No, Environment: chargehand.Live, Name: "r", MediaType: anyContent, Size: upload.Size, Visible: true}
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		row, err := tx.ExecutionByID(fx.account.No, chargehand.Live, e.ID)
		if err != nil {
			return err
		}
		same, err := tx.FileByID(fx.account.No, chargehand.Live, upload.ID)
		file.Execution, file.Digest = row.No, same.Digest
		if err != nil {
			return err
		}
		return tx.InsertFile(&file)
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return file.ID
}
