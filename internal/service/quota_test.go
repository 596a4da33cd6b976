package service

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/store"
)

// wantQuota checks that an error is that of a quota, and names it and its owner.
func wantQuota(t testing.TB, err error, name, kind string, limit int64) *chargehand.Error {
	t.Helper()
	shown := wantCode(t, err, chargehand.CodeQuotaExceeded)
	if q := shown.Quota; q == nil || q.Name != name || q.OwnerKind != kind || q.Limit != limit {
		t.Errorf("the error names quota %+v, want %s of %s, %d", q, name, kind, limit)
	} else if !strings.Contains(shown.Detail, name) || !strings.Contains(shown.Detail, q.OwnerID) {
		t.Errorf("the detail %q does not name the quota and its owner", shown.Detail)
	}
	return shown
}

func (fx *fixture) tryCreate(p *Principal, workflow chargehand.WorkflowID, input map[string]any) error {
	_, _, err := fx.CreateExecution(fx.t.Context(), p, CreateExecution{Workflow: workflow, Body: map[string]any{"input": input}})
	return err
}

func (fx *fixture) tryUpload(p *Principal, content string) error {
	_, _, err := fx.UploadFile(fx.t.Context(), p, UploadFile{Name: "a", Content: strings.NewReader(content), View: view})
	return err
}

func TestQuotaOfExecutions(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.Executions = 3 })
	w := fx.apply(definition("w", "1.0.0")).ID
	fx.create(w, nil)
	fx.create(w, nil)
	_, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: w, Body: map[string]any{"items": []any{map[string]any{}, map[string]any{}}}})
	wantQuota(t, err, "kept_executions", "environment", 3)
	if n := len(fx.engine.ready); n != 0 {
		t.Error("a batch that was refused has started")
	}
	last := fx.create(w, nil) // what was admitted for the batch is given back
	wantQuota(t, fx.tryCreate(fx.p, w, nil), "kept_executions", "environment", 3)
	if err := fx.tryUpload(fx.p, "a file is no execution"); err != nil {
		t.Error(err)
	}
	fx.applyAs(fx.test, definition("w", "1.0.0"), true)
	if err := fx.tryCreate(fx.test, w, nil); err != nil {
		t.Errorf("the other environment: %v", err)
	}
	fx.finish(last.ID, "{}")
	fx.pass(31 * 24 * time.Hour)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fx.tryCreate(fx.p, w, nil); err != nil {
		t.Errorf("after one was deleted: %v", err)
	}
}

func TestQuotaOfStorage(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.StorageBytes, c.Quotas.KeyStorageBytes = 1000, 600 })
	w := fx.apply(definition("w", "1.0.0")).ID
	other := fx.principal(chargehand.Live, PresetAll)
	other.KeyNo = 4711
	file := fx.upload(fx.p, "a", strings.Repeat("x", 500))
	quota := wantQuota(t, fx.tryUpload(fx.p, strings.Repeat("x", 101)), "key_storage_bytes", "key", 600).Quota
	if quota.OwnerID != fx.p.Key.String() || quota.Used != 500 {
		t.Errorf("the quota is %+v", quota)
	}
	wantQuota(t, fx.tryUpload(other, strings.Repeat("x", 501)), "storage_bytes", "environment", 1000)
	fx.upload(other, "b", strings.Repeat("x", 480))
	wantQuota(t, fx.tryCreate(other, w, map[string]any{"text": strings.Repeat("x", 20)}), "storage_bytes", "environment", 1000)
	if err := fx.tryCreate(fx.p, w, map[string]any{}); err != nil {
		t.Errorf("an input for which there is room: %v", err)
	}
	if err := fx.DeleteFile(t.Context(), fx.p, file.ID); err != nil {
		t.Fatal(err)
	}
	if err := fx.tryUpload(fx.p, strings.Repeat("x", 500)); err != nil {
		t.Errorf("after a file was deleted: %v", err)
	}
}

// TestQuotaIsExactAtOnce: of many requests at once, none is admitted too many.
func TestQuotaIsExactAtOnce(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.Executions = 10 })
	w := fx.apply(definition("w", "1.0.0")).ID
	var wg sync.WaitGroup
	var started atomic.Int64
	for range 40 {
		wg.Go(func() {
			var shown *chargehand.Error
			switch err := fx.tryCreate(fx.p, w, nil); {
			case err == nil:
				started.Add(1)
			case !errors.As(err, &shown) || shown.Code != chargehand.CodeQuotaExceeded:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := started.Load(); n != 10 {
		t.Errorf("%d executions were accepted, want 10", n)
	}
}

func TestQuotaOfEvents(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.EventsPerSecond, c.Quotas.Events = 2, 1000 })
	publish := func(n int) error {
		batch := make([]any, n)
		for i := range batch {
			batch[i] = map[string]any{"specversion": "1.0", "id": string(rune('a' + i)), "source": "/s", "type": "t"}
		}
		_, err := fx.PublishEvents(t.Context(), fx.p, PublishEvents{Body: batch, Batch: true})
		return err
	}
	for range 2 {
		if err := publish(2); err != nil {
			t.Fatal(err)
		}
	}
	if shown := wantQuota(t, publish(1), "events_per_second", "key", 2); shown.RetryAfter != 1 {
		t.Errorf("retry after %d s, want 1", shown.RetryAfter)
	}
	fx.pass(2 * time.Second)
	if err := publish(10); err != nil { // more than the bucket holds: once it is full
		t.Error(err)
	}
	if shown := wantQuota(t, publish(1), "events_per_second", "key", 2); shown.RetryAfter != 4 {
		t.Errorf("retry after %d s, want 4", shown.RetryAfter)
	}
	fx.quotas.limits.EventsPerSecond = -1
	fx.addEvents(1000)
	fx.pass(2 * time.Second) // what others store shows after a second
	wantQuota(t, publish(1), "kept_events", "environment", 1000)
}

// addEvents stores events of live.
func (fx *fixture) addEvents(n int) {
	fx.t.Helper()
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		events := make([]store.Event, n)
		for i := range events {
			events[i] = store.Event{Account: fx.account.No, Environment: chargehand.Live, Dedupe: [16]byte{1, byte(i), byte(i >> 8)}, Type: "t", Data: inline("{}")}
		}
		_, err := tx.InsertEvents(events, fx.nowMs())
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

func TestQuotaOfUsers(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.Users = 1 })
	invite := func(email string) error {
		_, _, err := fx.InviteUser(t.Context(), fx.p, InviteUser{Body: map[string]any{"email": email, "name": "Ada"}})
		return err
	}
	if err := invite("ada@example.org"); err != nil {
		t.Fatal(err)
	}
	wantQuota(t, invite("bo@example.org"), "users", "account", 1)
	if err := invite("ada@example.org"); err != nil {
		t.Errorf("another invitation of a user: %v", err)
	}
}

func TestLimitsTellTheirUse(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.PoolLimits = c.Quotas.WithDefaults().List() })
	w := fx.apply(definition("w", "1.0.0")).ID
	fx.upload(fx.p, "a", "12345")
	fx.create(w, nil)
	uses := func(p *Principal) map[string]int64 {
		t.Helper()
		list, err := fx.ListLimits(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int64{}
		for _, l := range list {
			if l.Counted {
				found[l.Name] = l.Used
			}
		}
		return found
	}
	want := map[string]int64{
		"storage_bytes": 7, "key_storage_bytes": 7, "kept_executions": 1, "queued_executions": 1, "kept_events": 0, "events_per_second": 0, "users": 0,
	}
	got := uses(fx.p)
	for name, n := range want {
		if used, counted := got[name]; !counted || used != n {
			t.Errorf("%s: %d is used, counted: %t; want %d", name, used, counted, n)
		}
	}
	if limited := uses(fx.principal(chargehand.Live, PresetAll, w)); len(limited) != 2 {
		t.Errorf("a key with limits sees the use of others: %v", limited)
	}
	// A route without a scope narrows no user: the rights of the user say whether all of the environment is seen.
	if all := uses(fx.as("viewer", "viewer")); len(all) != len(want) {
		t.Errorf("a viewer of everything sees the use of %v", all)
	}
	if own := uses(fx.as("participant", "participant")); len(own) != 2 {
		t.Errorf("a participant sees the use of others: %v", own)
	}
	shown, err := fx.QuotaUses(t.Context())
	if err != nil || len(shown) != 9 { // four of each environment, and the users
		t.Errorf("metrics show %v, %v", shown, err)
	}
}

func TestReserve(t *testing.T) {
	var free atomic.Uint64
	const gib = 1 << 30
	free.Store(gib)
	var reserve *disk.Reserve
	fx := newFixture(t, func(c *Config) {
		reserve = disk.NewReserve(slog.New(slog.DiscardHandler), func(string) (uint64, uint64, error) { return free.Load(), 100 * gib, nil }, "data")
		c.Reserve = reserve
	})
	w := fx.apply(definition("w", "1.0.0")).ID
	running := fx.create(w, nil)
	task := (&humanFixture{fixture: fx, e: running}).open(nil)
	draft := func(body map[string]any) error {
		_, err := fx.PutHumanTaskDraft(t.Context(), fx.p, task, body)
		return err
	}
	if err := draft(map[string]any{"comment": "x"}); err != nil {
		t.Fatal(err)
	}
	free.Store(1 << 20)
	reserve.Check()
	if got := fx.Degraded(); len(got) != 1 || got[0] != "storage_reserve" {
		t.Errorf("degraded: %q", got)
	}
	_, _, batch := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: w, Body: map[string]any{"items": []any{map[string]any{}}}})
	for what, err := range map[string]error{"start": fx.tryCreate(fx.p, w, nil), "upload": fx.tryUpload(fx.p, "x"), "batch": batch, "draft": draft(map[string]any{"comment": "y"})} {
		t.Run(what, func(t *testing.T) { wantCode(t, err, chargehand.CodeStorageReserve) })
	}
	if err := draft(map[string]any{}); err != nil {
		t.Errorf("delete a draft: %v", err)
	}
	if _, _, err := fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: w, Execution: running.ID}); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if _, err := fx.PublishEvents(t.Context(), fx.p, PublishEvents{Body: map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}}); err != nil {
		t.Errorf("publish: %v", err)
	}
	free.Store(gib)
	reserve.Check()
	if err := fx.tryCreate(fx.p, w, nil); err != nil || fx.Degraded() != nil {
		t.Errorf("when there is room again: %v, degraded %q", err, fx.Degraded())
	}
	// A disk that fills while a file is uploaded.
	large := strings.NewReader(strings.Repeat("x", 9<<20))
	fx.quotas.limits.StorageBytes = -1
	_, _, err := fx.UploadFile(t.Context(), fx.p, UploadFile{Name: "a", Content: &fillingReader{from: large, fill: func() { free.Store(0) }}, View: view})
	wantCode(t, err, chargehand.CodeStorageReserve)
}

// fillingReader calls fill when it is first read.
type fillingReader struct {
	from *strings.Reader
	fill func()
}

func (f *fillingReader) Read(b []byte) (int, error) {
	f.fill()
	return f.from.Read(b)
}

func TestDeleteFile(t *testing.T) {
	fx := newFixture(t)
	w := fx.apply(definition("w", "1.0.0")).ID
	file := fx.upload(fx.p, "a.txt", "hello")
	e := fx.create(w, map[string]any{"file": map[string]any{"uri": "/api/v1/files/" + file.ID.String(), "name": "a.txt", "mediaType": "text/plain"}})
	remove := func(p *Principal, id chargehand.FileID) error { return fx.DeleteFile(t.Context(), p, id) }
	wantCode(t, remove(fx.p, file.ID), chargehand.CodeStateConflict)
	wantCode(t, remove(fx.test, file.ID), chargehand.CodeFileNotFound)
	wantCode(t, remove(fx.stranger(), file.ID), chargehand.CodeFileNotFound)
	fx.finish(e.ID, "{}")
	uploads := fx.principal(chargehand.Live, ScopeFilesWrite)
	uploads.KeyNo = 4711
	wantCode(t, remove(uploads, file.ID), chargehand.CodeInsufficientScope)
	if err := remove(fx.p, file.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, remove(fx.p, file.ID), chargehand.CodeFileNotFound)
	own := fx.upload(uploads, "b.txt", "hello")
	if err := remove(uploads, own.ID); err != nil {
		t.Errorf("an upload of its own: %v", err)
	}
	var entries []store.Audit
	err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
		entries, err = r.ListAudit(store.AuditFilter{Account: fx.account.No, Action: string(audit.FileDeleted), Limit: 10})
		return err
	})
	if err != nil || len(entries) != 2 || entries[1].TargetID != file.ID.String() {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}
}

// TestUploadsOfOthersNeedARightOverEverything: rights over some workflows do not add up to one over all uploads.
func TestUploadsOfOthersNeedARightOverEverything(t *testing.T) {
	fx := newFixture(t)
	file := fx.upload(fx.p, "a.txt", "hello")
	remove := func(name string, grants ...store.Grant) error {
		p := fx.session(fx.signIn(fx.member(name, grants...)), chargehand.Live)
		return fx.DeleteFile(t.Context(), fx.must(p, ScopeFilesWrite, 0), file.ID)
	}
	err := remove("cy", store.Grant{Role: "participant"}, store.Grant{Role: "operator", Namespace: "finance"})
	wantRefusal(t, "an operator of one namespace", err, chargehand.CodeInsufficientScope)
	if err := remove("bob", store.Grant{Role: "operator"}); err != nil {
		t.Errorf("an operator of everything: %v", err)
	}
}

// TestMetricsAreTheOperators: they name all accounts, and what each of them uses.
func TestMetricsAreTheOperators(t *testing.T) {
	fx := newFixture(t)
	stranger := fx.stranger()
	if err := fx.RequireOperator(t.Context(), fx.p); err != nil {
		t.Errorf("the oldest account: %v", err)
	}
	wantCode(t, fx.RequireOperator(t.Context(), stranger), chargehand.CodeInsufficientScope)
}

// TestRoomForUser counts the rows of the transaction that adds the user, also one that it has just added.
func TestRoomForUser(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Quotas.Users = 2 })
	m := fx.member("ada", store.Grant{Role: "admin"})
	account := fx.p
	room := func() error {
		return fx.view(t.Context(), func(r *store.Reader) error {
			return fx.RoomForUser(r, store.Account{No: m.Account, ID: account.Account})
		})
	}
	if err := room(); err != nil {
		t.Errorf("one of two: %v", err)
	}
	fx.member("bob", store.Grant{Role: "viewer"})
	err := wantCode(t, room(), chargehand.CodeQuotaExceeded)
	if q := err.Quota; q == nil || q.Name != quotaUsers || q.Used != 2 || q.Limit != 2 || q.OwnerKind != "account" {
		t.Errorf("%+v", err)
	}
}

// quotaTogether: two nodes reach one quota together. What one accepts the other sees within a second, so that their sum
// is the quota; of requests at once they accept no more than each alone would.
func quotaTogether(n *nodes) {
	const quota, more = 10, 6
	set := func(limit int64) {
		for _, fx := range []*fixture{n.a, n.b} {
			fx.quotas.limits.Executions = limit
		}
		n.a.pass(2 * usageAge)
	}
	set(quota)
	w := n.a.apply(definition("w", "1.0.0")).ID
	accepted := int64(0)
	create := func(fx *fixture) error {
		err := fx.tryCreate(fx.p, w, nil)
		if err == nil {
			return nil
		}
		wantQuota(n.t, err, "kept_executions", "environment", err.(*chargehand.Error).Quota.Limit)
		return err
	}
	for range 3 * quota {
		n.a.pass(2 * usageAge)
		if fx := []*fixture{n.a, n.b}[n.rand.IntN(2)]; create(fx) == nil {
			accepted++
		}
	}
	if accepted != quota {
		n.t.Errorf("one after the other, the nodes have accepted %d of %d", accepted, quota)
	}
	set(quota + more)
	var both atomic.Int64
	n.both(func(fx *fixture) error {
		for range 2 * more {
			if create(fx) == nil {
				both.Add(1)
			}
		}
		return nil
	})
	if got := both.Load(); got < more || got > 2*more {
		n.t.Errorf("at once, the nodes have accepted %d, which have room for %d", got, more)
	}
	n.a.pass(2 * usageAge)
	for _, fx := range []*fixture{n.a, n.b} {
		if create(fx) == nil {
			n.t.Error("a node has accepted one above the quota")
		}
	}
	if rows := n.count("SELECT COUNT(*) FROM execution"); rows != accepted+both.Load() {
		n.t.Errorf("%d rows of %d that were accepted", rows, accepted+both.Load())
	}
}
