package service

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/store"
)

// withEngine puts the embedded engine into a fixture.
func withEngine(t testing.TB, fx *fixture, limits embedded.Limits) {
	t.Helper()
	e, err := embedded.New(t.Context(), embedded.Config{
		Store: fx.rows, Plans: fx.plans, Blobs: blobsOf{fx.Service}, RuntimeVersion: "test", Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	fx.Service.engine = e
	fx.Service.now = time.Now
}

// blobsOf is what the engine wants of the blob store.
type blobsOf struct{ *Service }

func (b blobsOf) Put(ctx context.Context, data []byte) ([]byte, error) {
	d, _, err := b.blobs.Put(ctx, bytes.NewReader(data), int64(len(data)))
	return d.Bytes(), err
}

func (b blobsOf) Get(ctx context.Context, digest []byte) ([]byte, error) {
	size, err := b.blobs.Size(ctx, blob.DigestOf(digest))
	if err != nil {
		return nil, blobError(err)
	}
	return b.unpack(ctx, store.Payload{Blob: digest, Size: size})
}

const settingFlow = "document: {dsl: '1.0.3', namespace: test, name: setting, version: '1.0.0'}\n" +
	"do:\n  - put:\n      set: {greeting: '${ \"hello \" + .name }'}\n"

func TestEmbeddedEngine(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	setting := fx.apply([]byte(settingFlow))
	waiting := fx.apply(definition("waiting", "1.0.0"))
	t.Run("an execution that waits for its end", func(t *testing.T) {
		e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{
			Workflow: setting.ID, Body: parse(t, `{"input": {"name": "Ada"}}`), View: View{BaseURL: "http://h", Wait: 10 * time.Second},
		})
		if err != nil || e.Status != chargehand.Finished || string(e.Output) != `{"greeting":"hello Ada"}` || len(e.Results) != 1 || e.FinishedAt.Before(e.CreatedAt) {
			t.Fatalf("got %+v, %v", e, err)
		}
		page, err := fx.Timeline(t.Context(), fx.p, ListTimeline{Workflow: setting.ID, Execution: e.ID, Limit: 10, View: view})
		if err != nil || len(page.Data) != 1 || page.Data[0].Name != "put" || string(page.Data[0].Output) != `{"greeting":"hello Ada"}` {
			t.Errorf("its timeline is %+v, %v", page, err)
		}
	})
	t.Run("an execution that fails", func(t *testing.T) {
		e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{
			Workflow: setting.ID, Body: parse(t, `{"input": {"name": 1}}`), View: View{Wait: 10 * time.Second},
		})
		if err != nil || e.Status != chargehand.Errored || e.Error.Code != "expression" || e.Error.Origin != "workflow" || e.Error.Status != 400 || e.Results != nil {
			t.Fatalf("got %+v, %v", e, err)
		}
	})
	t.Run("a batch that waits for its end", func(t *testing.T) {
		b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{
			Workflow: setting.ID, Body: parse(t, `{"items": [{"name": "a"}, {"name": 1}, {"name": "c"}], "concurrency": 2}`), View: View{Wait: 10 * time.Second, Entries: true},
		})
		if err != nil || b.Status != chargehand.BatchCompleted || b.Completed != 2 || b.Failed != 1 {
			t.Fatalf("got %+v, %v", b, err)
		}
		list, _ := fx.entries(b, BatchEntries{})
		if list[0].Status != chargehand.Finished || list[1].Status != chargehand.Errored || !list[2].Ended {
			t.Errorf("entries are %+v", list)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		e := fx.create(waiting.ID, noInput)
		got, _, err := fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: waiting.ID, Execution: e.ID, Body: map[string]any{"reason": "enough"}})
		if err != nil || got.Status != chargehand.Errored || got.Phase != chargehand.Cancelled || got.Error.Code != "cancelled" || got.Error.Detail != "enough" {
			t.Errorf("got %+v with %+v, %v", got, got.Error, err)
		}
		b := fx.createBatch(waiting.ID, `{"items": [{}, {}, {}], "concurrency": 1}`)
		cancelled, _, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: waiting.ID, Batch: b.ID})
		if err != nil || cancelled.Status != chargehand.BatchFailed || cancelled.Failed != 3 {
			t.Errorf("got %+v, %v", cancelled, err)
		}
	})
	t.Run("idempotency", func(t *testing.T) {
		request := CreateExecution{Workflow: setting.ID, Body: parse(t, `{"input": {"name": "x"}}`), Idempotency: key("k", "/x", "a")}
		first, _, err := fx.CreateExecution(t.Context(), fx.p, request)
		if err != nil {
			t.Fatal(err)
		}
		second, replayed, err := fx.CreateExecution(t.Context(), fx.p, request)
		if err != nil || !replayed || second.ID != first.ID {
			t.Errorf("got %+v, %v, %v", second, replayed, err)
		}
	})
	t.Run("a file that the input passes on is the result", func(t *testing.T) {
		pass := fx.apply([]byte("document: {dsl: '1.0.3', namespace: test, name: pass, version: '1.0.0'}\ndo:\n  - put:\n      set: '${ . }'\n"))
		f := fx.upload(fx.p, "in.txt", "content")
		e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{
			Workflow: pass.ID, View: View{BaseURL: "http://h", Wait: 10 * time.Second},
			Body: map[string]any{"input": map[string]any{"file": map[string]any{"uri": f.URL[:len("https://example.com/api/v1/files/")+36]}}},
		})
		if err != nil || e.Status != chargehand.Finished || len(e.Results) != 1 || e.Results[0].Filename != "in.txt" {
			t.Fatalf("got %+v, %v", e, err)
		}
		if want := `{"file":{"uri":"http://h/api/v1/files/` + f.ID.String() + `"}}`; string(e.Output) != want {
			t.Errorf("output is %s, want %s", e.Output, want)
		}
	})
}

// TestWaitReadsNothing: the answer to a request that waits for an execution which ends at once is the same that a read
// gives, and is not read from the database.
func TestWaitReadsNothing(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	at := time.Now()
	fx.Service.now = func() time.Time { return at } // addresses of files end at a second
	p, err := fx.Authenticate(t.Context(), fx.issue(IssueKey{}), localhost)
	if err != nil {
		t.Fatal(err)
	}
	head := "document: {dsl: '1.0.3', namespace: test, version: '1.0.0', title: A title, name: "
	setting := fx.apply([]byte(settingFlow))
	pass := fx.apply([]byte(head + "pass}\ndo:\n  - put:\n      set: '${ . }'\n"))
	raise := fx.apply([]byte(head + "raise}\ndo:\n  - no:\n      raise: {error: {type: 'https://example.com/no', status: 400, title: No}}\n"))
	v := View{BaseURL: "http://h", Wait: 10 * time.Second}
	file := fx.upload(fx.p, "in.txt", "content")
	for name, c := range map[string]struct {
		workflow chargehand.WorkflowID
		body     string
	}{
		"a value":      {setting.ID, `{"input": {"name": "Ada"}, "labels": {"b": "2", "a": "1"}}`},
		"no input":     {pass.ID, `{}`},
		"an error":     {setting.ID, `{"input": {"name": 1}}`},
		"a raised one": {raise.ID, `{"labels": {"x": ""}}`},
		"large":        {pass.ID, `{"input": {"x": "` + strings.Repeat("y", 200_000) + `"}}`},
		"a file":       {pass.ID, `{"input": {"uri": "` + file.URL[:len("https://example.com/api/v1/files/")+36] + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			created, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{Workflow: c.workflow, Body: parse(t, c.body), View: v})
			if err != nil || !created.Status.Final() {
				t.Fatalf("got %+v, %v", created, err)
			}
			read, err := fx.GetExecution(t.Context(), p, c.workflow, created.ID, v)
			if err != nil || !reflect.DeepEqual(created, read) {
				t.Errorf("answered %+v\nbut read %+v, %v", created, read, err)
			}
			retried, _, err := fx.RetryExecution(t.Context(), p, RetryExecution{Workflow: c.workflow, Execution: created.ID, View: v})
			if err != nil {
				t.Fatal(err)
			}
			if read, err = fx.GetExecution(t.Context(), p, c.workflow, retried.ID, v); err != nil || !reflect.DeepEqual(retried, read) {
				t.Errorf("the retry was answered %+v\nbut read %+v, %v", retried, read, err)
			}
		})
	}
	views := func(v View) int64 {
		t.Helper()
		before := fx.db.views.Load()
		_, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{Workflow: setting.ID, Body: parse(t, `{"input": {"name": "x"}}`), View: v})
		if err != nil {
			t.Fatal(err)
		}
		return fx.db.views.Load() - before
	}
	if without, with := views(View{}), views(v); with != without {
		t.Errorf("%d reads with an answer at the end, %d without", with, without)
	}
}

func TestEmbeddedQueueFull(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{AccountSlots: -1, QueuedPerWorkflow: 2})
	flow := fx.apply(definition("waiting", "1.0.0"))
	for range 10 {
		_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
		if err != nil {
			wantCode(t, err, chargehand.CodeQueueFull)
			return
		}
	}
	t.Error("the queue is never full")
}

func BenchmarkCreateExecution(b *testing.B) {
	for name, parallel := range map[string]int{"one": 0, "many": 32} {
		b.Run(name, func(b *testing.B) {
			fx := newFixture(b)
			withEngine(b, fx, embedded.Limits{})
			flow := fx.apply([]byte(settingFlow))
			body := parse(b, `{"input": {"name": "0123456789012345678901234567890123456789012345"}}`)
			secret := fx.issue(IssueKey{})
			run := func() error {
				p, err := fx.Authenticate(context.Background(), secret, localhost)
				if err != nil {
					return err
				}
				_, _, err = fx.CreateExecution(context.Background(), p, CreateExecution{Workflow: flow.ID, Body: body})
				return err
			}
			b.ReportAllocs()
			b.ResetTimer()
			if parallel == 0 {
				for range b.N {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.SetParallelism(parallel)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := run(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// The service's own share of a creation: everything but the engine and the store.
func BenchmarkCreateExecutionAlone(b *testing.B) {
	fx := newFixture(b)
	flow := fx.apply([]byte(settingFlow))
	fx.Service.engine = instantEngine{}
	body := parse(b, `{"input": {"name": "0123456789012345678901234567890123456789012345"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := fx.CreateExecution(context.Background(), fx.p, CreateExecution{Workflow: flow.ID, Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}

// instantEngine accepts everything and does nothing.
type instantEngine struct{ engine.Engine }

func (instantEngine) Start(_ context.Context, s engine.Start) (store.Execution, error) {
	return s.Row, nil
}

func BenchmarkAuthenticateAndAllow(b *testing.B) {
	fx := newFixture(b, func(c *Config) { c.Limits.RatePerSecond = 1e9 })
	secret := fx.issue(IssueKey{})
	b.ReportAllocs()
	for b.Loop() {
		p, err := fx.Authenticate(context.Background(), secret, localhost)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fx.Allow(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSweep is how many executions a sweep deletes per second if it does not rest, beside how many 64 callers
// create. A sweep that is behind rests for as long as it works.
func BenchmarkSweep(b *testing.B) {
	fx := newFixture(b)
	withEngine(b, fx, embedded.Limits{})
	flow := fx.apply([]byte(settingFlow))
	body := parse(b, `{"input": {"name": "0123456789012345678901234567890123456789012345"}}`)
	const callers, rows = 64, 64 * 50
	var created, deleted time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for range rows / callers {
					if _, _, err := fx.CreateExecution(context.Background(), fx.p, CreateExecution{Workflow: flow.ID, Body: body}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		created += time.Since(began)
		began = time.Now()
		for range rows / sweepRows {
			err := fx.update(context.Background(), func(tx *store.Tx) error {
				some, err := tx.DeleteEnded(chargehand.Live, time.Now().Add(time.Hour).UnixMilli(), sweepRows)
				n += some
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		deleted += time.Since(began)
	}
	b.ReportMetric(float64(n)/created.Seconds(), "created/s")
	b.ReportMetric(float64(n)/deleted.Seconds(), "deleted/s")
}

func BenchmarkCreateBatch(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fx := newFixture(b)
			flow := fx.apply([]byte(settingFlow))
			items := make([]any, n)
			for i := range items {
				items[i] = map[string]any{"name": fmt.Sprintf("%046d", i)}
			}
			b.ReportAllocs()
			for b.Loop() {
				made, _, err := fx.CreateBatch(context.Background(), fx.p, CreateBatch{Workflow: flow.ID, Body: map[string]any{"items": items}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := fx.Entries(context.Background(), made, BatchEntries{}, func(*BatchEntry) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadBatch(b *testing.B) {
	fx := newFixture(b)
	flow := fx.apply([]byte(settingFlow))
	items := make([]any, 10_000)
	for i := range items {
		items[i] = map[string]any{"name": fmt.Sprintf("%046d", i)}
	}
	made, _, err := fx.CreateBatch(context.Background(), fx.p, CreateBatch{Workflow: flow.ID, Body: map[string]any{"items": items}})
	if err != nil {
		b.Fatal(err)
	}
	for _, snapshot := range []bool{true, false} {
		b.Run(fmt.Sprintf("snapshot=%v", snapshot), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := fx.GetBatch(context.Background(), fx.p, flow.ID, made.ID, View{Entries: snapshot})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := fx.Entries(context.Background(), got, BatchEntries{}, func(*BatchEntry) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGetExecution(b *testing.B) {
	fx := newFixture(b)
	fx.engine.atOnce = true
	flow := fx.apply([]byte(settingFlow))
	e := fx.create(flow.ID, noInput)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fx.GetExecution(context.Background(), fx.p, flow.ID, e.ID, view); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAuthenticateSession is what the check of a session costs, with the rights for one operation.
func BenchmarkAuthenticateSession(b *testing.B) {
	fx := newFixture(b, func(c *Config) { c.Limits.RatePerSecond = 1e9 })
	token := fx.signIn(fx.member("ada", store.Grant{Role: "viewer"}, store.Grant{Role: "operator", Namespace: "finance"}))
	b.ReportAllocs()
	for b.Loop() {
		p, err := fx.AuthenticateSession(context.Background(), token, chargehand.Live)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fx.Allow(p); err != nil {
			b.Fatal(err)
		}
		if _, err := May(p, ScopeExecutionsRead, ScopeExecutionsReadOwn); err != nil {
			b.Fatal(err)
		}
	}
}
