package service

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// auditLog is what the principal reads of the audit log, oldest first.
func (fx *fixture) auditLog(p *Principal, q ListAudit) []AuditEntry {
	fx.t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, err := fx.ListAudit(fx.t.Context(), p, q)
	if err != nil {
		fx.t.Fatal(err)
	}
	slices.Reverse(page.Data)
	return page.Data
}

// audited makes a change and returns the entries that it has written.
func (fx *fixture) audited(change func()) []AuditEntry {
	fx.t.Helper()
	before := len(fx.auditLog(fx.p, ListAudit{}))
	change()
	return fx.auditLog(fx.p, ListAudit{})[before:]
}

func parsed(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{Depth: 10, Bytes: len(text)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantEntry expects one entry with these changes.
func wantEntry(t *testing.T, got []AuditEntry, action audit.Action, target audit.Target, changes string) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%s: %d entries: %+v", action, len(got), got)
	}
	e := got[0]
	if e.Action != action || e.Target != target || string(e.Changes) != changes || e.Count != 1 {
		t.Errorf("%s: entry %+v with changes %s, want %s of %+v with %s", action, e, e.Changes, action, target, changes)
	}
}

// TestAuditOfEveryChange makes every change that the service knows, and reads what the log says of it. What was secret
// in it is nowhere in the table.
func TestAuditOfEveryChange(t *testing.T) {
	fx := newFixture(t)
	ctx := audit.FromRequest(t.Context(), netip.MustParseAddr("::ffff:192.0.2.7"), "req_1")
	fx.p.Name = "deploy"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var w *AppliedWorkflow
	got := fx.audited(func() { w = fx.applyAs(fx.p, definition("order", "1.0.0"), true) })
	if len(got) != 0 {
		t.Errorf("a draft is in the log: %+v", got)
	}
	order := audit.Target{Kind: "workflow", ID: w.ID.String(), Name: "test/order"}
	got = fx.audited(func() {
		_, _, err := fx.PublishVersion(ctx, fx.p, PublishVersion{Workflow: w.ID, Version: "1.0.0"})
		must(err)
	})
	wantEntry(t, got, audit.WorkflowPublished, order, `{"revision":{"before":null,"after":1},"version":{"before":null,"after":"1.0.0"}}`)
	if e := got[0]; e.Address != "192.0.2.7" || e.RequestID != "req_1" || e.Environment != chargehand.Live ||
		e.Actor != (audit.Actor{Kind: audit.Key, ID: fx.p.Key.String(), Name: "deploy"}) || e.At != atMs(fx.nowMs()) {
		t.Errorf("who, where and when: %+v", e)
	}
	got = fx.audited(func() {
		_, _, err := fx.PublishVersion(ctx, fx.p, PublishVersion{Workflow: w.ID, Version: "1.0.0"})
		must(err)
		fx.apply(definition("order", "1.0.0"))
	})
	if len(got) != 0 {
		t.Errorf("what changes nothing is in the log: %+v", got)
	}
	got = fx.audited(func() { fx.apply(definition("order", "1.1.0")) })
	wantEntry(t, got, audit.WorkflowPublished, order, `{"revision":{"before":1,"after":1},"version":{"before":"1.0.0","after":"1.1.0"}}`)

	var key *Key
	got = fx.audited(func() {
		var err error
		key, _, err = fx.CreateKey(ctx, fx.p, CreateKey{Body: parsed(t, `{"name":"ci","scopes":["events:write"],"namespaces":["test"],"rate_limit":0}`)})
		must(err)
	})
	ci := audit.Target{Kind: "key", ID: key.ID.String(), Name: "ci"}
	wantEntry(t, got, audit.KeyCreated, ci, `{"name":{"before":null,"after":"ci"},"namespaces":{"before":null,"after":["test"]},`+
		`"rate_limit":{"before":null,"after":0},"scopes":{"before":null,"after":["events:write"]}}`)
	got = fx.audited(func() {
		_, err := fx.PatchKey(ctx, fx.p, key.ID, parsed(t, `{"rate_limit":null,"expires_at":"2999-01-01T00:00:00Z"}`))
		must(err)
	})
	wantEntry(t, got, audit.KeyChanged, ci,
		`{"expires_at":{"before":null,"after":"2999-01-01T00:00:00Z"},"rate_limit":{"before":0,"after":null}}`)
	got = fx.audited(func() { must(fx.RevokeKey(ctx, fx.p, key.ID)) })
	wantEntry(t, got, audit.KeyRevoked, ci, "")

	token := audit.Target{Kind: "secret", ID: "token", Name: "token"}
	set := func(text string) {
		_, _, err := fx.PutSecret(ctx, fx.p, "token", parsed(t, text))
		must(err)
	}
	got = fx.audited(func() { set(`{"value":"marker-one","namespaces":["test"]}`) })
	wantEntry(t, got, audit.SecretSet, token, `{"namespaces":{"before":null,"after":["test"]},"version":{"before":null,"after":1}}`)
	got = fx.audited(func() { set(`{"value":{"password":"marker-two"}}`) })
	wantEntry(t, got, audit.SecretSet, token, `{"version":{"before":1,"after":2}}`)
	got = fx.audited(func() {
		_, err := fx.RollBackSecret(ctx, fx.p, "token", parsed(t, `{"version":1}`))
		must(err)
	})
	wantEntry(t, got, audit.SecretRolledBack, token, `{"restores":{"before":null,"after":1},"version":{"before":2,"after":3}}`)
	got = fx.audited(func() { must(fx.DeleteSecret(ctx, fx.p, "token")) })
	wantEntry(t, got, audit.SecretDeleted, token, `{"version":{"before":3,"after":null}}`)

	got = fx.audited(func() { must(fx.DeleteWorkflow(ctx, fx.p, w.ID)) })
	wantEntry(t, got, audit.WorkflowDeleted, order, `{"revision":{"before":1,"after":null},"version":{"before":"1.1.0","after":null}}`)

	for _, e := range fx.auditLog(fx.p, ListAudit{}) {
		text, err := json.Marshal(e)
		must(err)
		for _, secret := range []string{"marker-one", "marker-two", key.Secret, key.Secret[len(prefixLive):]} {
			if strings.Contains(string(text), secret) {
				t.Errorf("the log holds a secret: %s", text)
			}
		}
	}
}

// TestAuditOfWhatRuns: cancellations and retries.
func TestAuditOfWhatRuns(t *testing.T) {
	fx := newFixture(t)
	w := fx.apply(definition("order", "1.0.0"))
	var first *Execution
	got := fx.audited(func() {
		var err error
		if first, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: w.ID}); err != nil {
			t.Fatal(err)
		}
	})
	if len(got) != 0 {
		t.Errorf("a start is in the log: %+v", got)
	}
	one := audit.Target{Kind: "execution", ID: first.ID.String(), Name: "test/order"}
	change := ChangeExecution{Workflow: w.ID, Execution: first.ID}
	for _, s := range []struct {
		do     func(context.Context, *Principal, ChangeExecution) (*Execution, bool, error)
		action audit.Action
	}{{fx.SuspendExecution, audit.ExecutionSuspended}, {fx.ResumeExecution, audit.ExecutionResumed}} {
		got = fx.audited(func() {
			if _, _, err := s.do(t.Context(), fx.p, change); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.do(t.Context(), fx.p, change); err == nil {
				t.Fatal("a second time it was no conflict")
			}
		})
		wantEntry(t, got, s.action, one, ``)
	}
	got = fx.audited(func() {
		_, _, err := fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: w.ID, Execution: first.ID, Body: parsed(t, `{"reason":"wrong input"}`)})
		if err != nil {
			t.Fatal(err)
		}
	})
	wantEntry(t, got, audit.ExecutionCancelled, one, `{"reason":{"before":null,"after":"wrong input"}}`)
	var again *Execution
	got = fx.audited(func() {
		var err error
		if again, _, err = fx.RetryExecution(t.Context(), fx.p, RetryExecution{Workflow: w.ID, Execution: first.ID}); err != nil {
			t.Fatal(err)
		}
	})
	wantEntry(t, got, audit.ExecutionRetried, one, `{"execution":{"before":null,"after":"`+again.ID.String()+`"}}`)
	got = fx.audited(func() {
		if err := fx.DeleteExecution(t.Context(), fx.p, w.ID, first.ID); err != nil {
			t.Fatal(err)
		}
	})
	wantEntry(t, got, audit.ExecutionDeleted, one, `{"phase":{"before":"cancelled","after":null},"status":{"before":"error","after":null},"workflow_version":{"before":"1.0.0","after":null}}`)
}

// TestAuditOfCommands: what the command line and the server's own files change is on record as the system's.
func TestAuditOfCommands(t *testing.T) {
	fx := newFixture(t)
	got := fx.audited(func() {
		if _, err := Issue(audit.FromCommand(t.Context(), "keys create"), fx.rows, []byte(strings.Repeat("p", 32)), epoch, IssueKey{Name: "first"}); err != nil {
			t.Fatal(err)
		}
		if _, err := fx.ApplyFromOperator(audit.FromCommand(t.Context(), "serve"), definition("order", "1.0.0")); err != nil {
			t.Fatal(err)
		}
	})
	if len(got) != 2 {
		t.Fatalf("%d entries: %+v", len(got), got)
	}
	for i, name := range []string{"chargehand keys create", "chargehand serve"} {
		if want := (audit.Actor{Kind: audit.System, ID: audit.SystemID, Name: name}); got[i].Actor != want || got[i].Address != "" {
			t.Errorf("entry %+v, want the actor %+v", got[i], want)
		}
	}
}

// TestAuditOfRefusedChange: what is refused or undone is not on record.
func TestAuditOfRefusedChange(t *testing.T) {
	fx := newFixture(t)
	got := fx.audited(func() {
		if err := fx.DeleteSecret(t.Context(), fx.p, "none"); err == nil {
			t.Error("a secret was deleted that is not there")
		}
		fx.db.broken.Store(true)
		if _, _, err := fx.PutSecret(t.Context(), fx.p, "token", parsed(t, `{"value":"x"}`)); err == nil {
			t.Error("a secret was set without a database")
		}
		fx.db.broken.Store(false)
	})
	if len(got) != 0 {
		t.Errorf("entries %+v", got)
	}
}

// TestListAudit walks pages with every set of filters and compares with what was written.
func TestListAudit(t *testing.T) {
	fx := newFixture(t)
	const n = 3000
	fillAudit(t, fx, n)
	for name, c := range map[string]struct {
		q    ListAudit
		p    *Principal
		want func(i int) bool
	}{
		"all":               {ListAudit{}, fx.p, func(int) bool { return true }},
		"actor":             {ListAudit{Actor: "a"}, fx.p, func(i int) bool { return i%3 == 0 }},
		"action":            {ListAudit{Action: audit.SecretDeleted}, fx.p, func(i int) bool { return i%2 == 0 }},
		"target":            {ListAudit{Target: "t"}, fx.p, func(i int) bool { return i%5 == 0 }},
		"all filters":       {ListAudit{Actor: "a", Action: audit.SecretSet, Target: "t"}, fx.p, func(i int) bool { return i%15 == 0 && i%2 != 0 }},
		"nothing":           {ListAudit{Actor: "none"}, fx.p, func(int) bool { return false }},
		"nothing in common": {ListAudit{Actor: "a", Action: audit.KeyCreated}, fx.p, func(int) bool { return false }},
		"between": {ListAudit{After: epoch.Add(10 * time.Second), Before: epoch.Add(20 * time.Second)}, fx.p,
			func(i int) bool { return i > 10 && i < 20 }},
		"in test":          {ListAudit{}, fx.test, func(i int) bool { return i%100 == 0 }},
		"by actor in test": {ListAudit{Actor: "a"}, fx.test, func(i int) bool { return i%300 == 0 }},
		"other account":    {ListAudit{}, fx.stranger(), func(int) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want []time.Time
			for i := n - 1; i >= 0; i-- {
				if c.want(i) {
					want = append(want, epoch.Add(time.Duration(i)*time.Second))
				}
			}
			q := c.q
			q.Limit = 70
			for pages := 0; ; pages++ {
				page, err := fx.ListAudit(t.Context(), c.p, q)
				if err != nil || len(page.Data) > q.Limit || pages > n {
					t.Fatalf("page %d of %d entries: %v", pages, len(page.Data), err)
				}
				for _, e := range page.Data {
					got = append(got, e.At)
				}
				if q.Cursor = page.Cursor; q.Cursor.IsZero() {
					break
				}
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%d entries, want %d", len(got), len(want))
			}
		})
	}
}

// TestAuditRetention: the sweep deletes what is older than 400 days.
func TestAuditRetention(t *testing.T) {
	fx := newFixture(t)
	fillAudit(t, fx, 300)
	fx.pass(400*24*time.Hour + 100*time.Second)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := []AuditEntry{}
	for q := (ListAudit{Limit: 100}); ; {
		page, err := fx.ListAudit(t.Context(), fx.p, q)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page.Data...)
		if q.Cursor = page.Cursor; q.Cursor.IsZero() {
			break
		}
	}
	if len(list) != 200 || !list[199].At.Equal(epoch.Add(100*time.Second)) {
		t.Errorf("%d entries are left, want the newest 200", len(list))
	}
}

// TestFailedSignIns: one entry for each address, person and minute.
func TestFailedSignIns(t *testing.T) {
	fx := newFixture(t)
	ada := newID[chargehand.UserID](fx.nowMs())
	fail := func(address string, at time.Duration, f audit.FailedSignIn) {
		t.Helper()
		f.Account = fx.account.No
		ctx := audit.FromRequest(t.Context(), netip.MustParseAddr(address), "req")
		if err := fx.rows.Update(ctx, func(tx *store.Tx) error { return audit.CountFailedSignIn(ctx, tx, epoch.Add(at), f) }); err != nil {
			t.Fatal(err)
		}
	}
	known := audit.FailedSignIn{Person: ada, Email: "ada@example.com"}
	got := fx.audited(func() {
		fail("192.0.2.1", 0, known)
		fail("192.0.2.1", time.Second, known)
		fail("192.0.2.2", 2*time.Second, known)
		fail("192.0.2.1", time.Minute, known)
		fail("2001:db8::1", 2*time.Minute, audit.FailedSignIn{})
		fail("2001:db8::2", 2*time.Minute+time.Second, audit.FailedSignIn{})
	})
	var counts []int64
	var addresses []string
	for _, e := range got {
		counts, addresses = append(counts, e.Count), append(addresses, e.Address)
	}
	if !slices.Equal(counts, []int64{2, 1, 1, 2}) || !slices.Equal(addresses, []string{"192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::/64"}) {
		t.Errorf("counts %v of %v", counts, addresses)
	}
	if e := got[0]; e.Action != audit.SessionFailed || e.Target != (audit.Target{Kind: "user", ID: ada.String(), Name: "ada@example.com"}) {
		t.Errorf("entry %+v", e)
	}
	if e := got[3]; e.Target != (audit.Target{}) || e.Actor.ID != "" {
		t.Errorf("an unknown person is named: %+v", e)
	}
}

// TestFailedSignInsDoNotFillTheLog: strangers with many addresses make a bounded number of entries, and no failure is
// lost.
func TestFailedSignInsDoNotFillTheLog(t *testing.T) {
	fx := newFixture(t)
	const tries = 600
	address := netip.MustParseAddr("192.0.2.0")
	for i := range tries {
		if i%3 == 0 {
			address = address.Next()
		}
		ctx := audit.FromRequest(t.Context(), address, "req")
		err := fx.rows.Update(ctx, func(tx *store.Tx) error {
			return audit.CountFailedSignIn(ctx, tx, epoch.Truncate(time.Hour).Add(time.Duration(i/60)*time.Minute), audit.FailedSignIn{Account: fx.account.No})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := fx.auditLog(fx.p, ListAudit{Limit: 2 * tries})
	var sum int64
	for _, e := range got {
		sum += e.Count
	}
	if sum != tries || len(got) < 100 || len(got) > 110 || got[len(got)-1].Address != "" {
		t.Errorf("%d failures in %d entries, the last from %q", sum, len(got), got[len(got)-1].Address)
	}
}

// TestAuditReference compares the table of actions in the documentation with the code.
func TestAuditReference(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "audit-log.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| `") && strings.Contains(line, ".") && strings.Count(line, "|") == 5 {
			got = append(got, line)
		}
	}
	for _, d := range audit.Actions() {
		want = append(want, "| `"+string(d.Action)+"` | "+d.Target+" | "+d.About+" | "+d.Changes+" |")
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/reference/audit-log.md has\n%s\nthe code says\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fillAudit appends n entries, one a second: every third by actor a, every fifth of target t, all of two actions.
func fillAudit(t testing.TB, fx *fixture, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			for i := from; i < min(n, from+1000); i++ {
				e := audit.Entry{
					Account: fx.account.No, Environment: chargehand.Live, Actor: audit.Actor{Kind: audit.Key, ID: "b"},
					Action: audit.SecretSet, Target: audit.Target{Kind: "secret", ID: "s"}, Changes: changed("version", int64(i), int64(i+1)),
				}
				if i%3 == 0 {
					e.Actor.ID = "a"
				}
				if i%5 == 0 {
					e.Target.ID = "t"
				}
				if i%2 == 0 {
					e.Action = audit.SecretDeleted
				}
				if i%100 == 0 {
					e.Environment = chargehand.Test
				}
				if err := audit.Write(t.Context(), tx, epoch.Add(time.Duration(i)*time.Second), e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAuditFiltersTakeNames: an e-mail and the name of a workflow stand for their ids, in the own account.
func TestAuditFiltersTakeNames(t *testing.T) {
	fx := newFixture(t)
	fx.apply(definition("order", "1.0.0"))
	fx.apply(definition("refund", "1.0.0"))
	if list := fx.auditLog(fx.p, ListAudit{Target: "test/order"}); len(list) != 1 || list[0].Target.Name != "test/order" {
		t.Errorf("of a workflow: %+v", list)
	}
	for _, text := range []string{"test/unknown", "unknown@example.com", "@", "/"} {
		if list := fx.auditLog(fx.p, ListAudit{Target: text}); len(list) != 0 {
			t.Errorf("of %s: %+v", text, list)
		}
	}
	ada := fx.as("ada", "operator")
	fx.personal(ada, `{"name": "laptop"}`)
	m, err := fx.GetUser(t.Context(), fx.p, ada.User)
	if err != nil {
		t.Fatal(err)
	}
	if list := fx.auditLog(fx.p, ListAudit{Actor: strings.ToUpper(m.Email)}); len(list) != 1 || list[0].Action != audit.KeyCreated {
		t.Errorf("by a user: %+v", list)
	}
}
