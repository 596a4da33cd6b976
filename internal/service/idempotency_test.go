package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// key is an Idempotency-Key on a request with that body.
func key(name, path, body string) *Idempotency {
	return &Idempotency{Method: "POST", Path: path, Key: name, BodyHash: sha256.Sum256([]byte(body))}
}

func TestIdempotentCreate(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a"), View: view}
	first, replayed, err := fx.CreateExecution(t.Context(), fx.p, request)
	if err != nil || replayed {
		t.Fatalf("first: %v, replayed %v", err, replayed)
	}
	fx.finish(first.ID, `{"a":1}`)
	fx.pass(23 * time.Hour)
	second, replayed, err := fx.CreateExecution(t.Context(), fx.p, request)
	if err != nil || !replayed {
		t.Fatalf("second: %v, replayed %v", err, replayed)
	}
	if second.ID != first.ID || second.Status != chargehand.Initial || !second.CreatedAt.Equal(first.CreatedAt) || second.WorkflowVersion != first.WorkflowVersion || second.Workflow != first.Workflow {
		t.Errorf("the answer %+v is not the first one %+v", second, first)
	}
	t.Run("wait applies anew", func(t *testing.T) {
		waiting := request
		waiting.View.Wait = time.Minute
		got, replayed, err := fx.CreateExecution(t.Context(), fx.p, waiting)
		if err != nil || !replayed || got.Status != chargehand.Finished || got.ID != first.ID {
			t.Errorf("got %+v, %v, %v", got, replayed, err)
		}
	})
	t.Run("another body", func(t *testing.T) {
		other := request
		other.Idempotency = key("k", "/x", "b")
		_, _, err := fx.CreateExecution(t.Context(), fx.p, other)
		wantCode(t, err, chargehand.CodeIdempotencyKeyReused)
	})
	t.Run("another key, path, method, environment or account", func(t *testing.T) {
		for name, i := range map[string]*Idempotency{
			"key": key("l", "/x", "a"), "path": key("k", "/y", "a"), "method": {Method: "PUT", Path: "/x", Key: "k"},
			"the same text cut elsewhere": {Method: "POST", Path: "/", Key: "xk"},
		} {
			got, replayed, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: i})
			if err != nil || replayed || got.ID == first.ID {
				t.Errorf("%s: got %+v, %v, %v", name, got, replayed, err)
			}
		}
		got, replayed, err := fx.CreateExecution(t.Context(), fx.test, request)
		if err != nil || replayed || got.ID == first.ID {
			t.Errorf("environment: got %+v, %v, %v", got, replayed, err)
		}
		_, _, err = fx.CreateExecution(t.Context(), fx.stranger(), request)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	})
	t.Run("after 24 hours", func(t *testing.T) {
		fx.pass(time.Hour + time.Millisecond)
		got, replayed, err := fx.CreateExecution(t.Context(), fx.p, request)
		if err != nil || replayed || got.ID == first.ID {
			t.Errorf("got %+v, %v, %v", got, replayed, err)
		}
	})
}

// Idempotency comes before the workflow in the order of checks.
func TestIdempotencyIsCheckedBeforeTheWorkflow(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a")}
	first, _, err := fx.CreateExecution(t.Context(), fx.p, request)
	if err != nil {
		t.Fatal(err)
	}
	if err := fx.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	got, replayed, err := fx.CreateExecution(t.Context(), fx.p, request)
	if err != nil || !replayed || got.ID != first.ID {
		t.Errorf("got %+v, %v, %v, want the first answer", got, replayed, err)
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	i := key("k", "/x", "a")
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: i})
	wantCode(t, err, chargehand.CodeInputInvalid)
	good := CreateExecution{Workflow: flow.ID, Idempotency: i, Body: map[string]any{"input": map[string]any{"text": "x"}}}
	fx.engine.refuse = store.ErrUnavailable
	_, _, err = fx.CreateExecution(t.Context(), fx.p, good)
	wantCode(t, err, chargehand.CodeUnavailable)
	fx.engine.refuse = nil
	if _, replayed, err := fx.CreateExecution(t.Context(), fx.p, good); err != nil || replayed {
		t.Errorf("after errors: %v, replayed %v", err, replayed)
	}
}

func TestIdempotencyInProgress(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.engine.waiting = make(chan struct{}, 10)
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a"), View: View{Wait: time.Minute}}
	done := make(chan error)
	go func() {
		_, _, err := fx.CreateExecution(context.Background(), fx.p, request)
		done <- err
	}()
	<-fx.engine.waiting // the first one waits now
	_, _, err := fx.CreateExecution(t.Context(), fx.p, request)
	if shown := wantCode(t, err, chargehand.CodeIdempotencyInProgress); shown.RetryAfter < 1 {
		t.Error("idempotency_in_progress has no Retry-After")
	}
	fx.finish(fx.engine.starts[0].Row.ID, `{}`)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, replayed, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: request.Idempotency}); err != nil || !replayed {
		t.Errorf("afterwards: %v, replayed %v", err, replayed)
	}
}

// Two processes on one database: the row decides who is first, and only one execution is made.
func TestIdempotencyAcrossProcesses(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	var ids sync.Map
	var group sync.WaitGroup
	for range 8 {
		other := New(Config{
			Store: fx.rows, Engine: fx.engine, Plans: NewPlans(fx.rows, plan.Options{}), Blobs: fx.blobs, Now: fx.now,
			Pepper: make([]byte, 32), LinkKey: make([]byte, 32), Sealer: fx.sealer,
		})
		group.Go(func() {
			e, _, err := other.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a")})
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(e.ID, true)
		})
	}
	group.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 10})
	if n != 1 || err != nil || len(page.Data) != 1 {
		t.Errorf("%d ids were answered and %d executions made, %v", n, len(page.Data), err)
	}
}

func TestIdempotencyOfEverythingElse(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	done := fx.create(flow.ID, noInput)
	fx.finish(done.ID, `{}`)
	running := fx.create(flow.ID, noInput)
	batch := fx.createBatch(flow.ID, `{"items": [{}]}`)
	content := strings.NewReader("")
	for _, c := range []struct {
		name string
		call func(i *Idempotency) (id any, replayed bool, err error)
	}{
		{"batch", func(i *Idempotency) (any, bool, error) {
			b, replayed, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: parse(t, `{"items": [{"a": 1}, {}]}`), Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			list, _ := fx.entries(b, BatchEntries{})
			if len(list) != 2 || string(list[0].Inputs) != `{"a":1}` || b.Status != chargehand.BatchPending {
				t.Errorf("the batch is answered as %+v with %+v", b, list)
			}
			return b.ID, replayed, err
		}},
		{"retry", func(i *Idempotency) (any, bool, error) {
			e, replayed, err := fx.RetryExecution(t.Context(), fx.p, RetryExecution{Workflow: flow.ID, Execution: done.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			if e.RetryOf != done.ID {
				t.Errorf("the retry is answered as %+v", e)
			}
			return e.ID, replayed, err
		}},
		{"cancel", func(i *Idempotency) (any, bool, error) {
			e, replayed, err := fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: flow.ID, Execution: running.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return e.ID, replayed, err
		}},
		{"cancel batch", func(i *Idempotency) (any, bool, error) {
			b, replayed, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: flow.ID, Batch: batch.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return b.ID, replayed, err
		}},
		{"apply", func(i *Idempotency) (any, bool, error) {
			a, replayed, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: definition("new", "1.0.0"), MediaType: mediaYAML, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			if !a.Created || a.Revision != 1 || a.Version != "1.0.0" {
				t.Errorf("the workflow is answered as %+v", a)
			}
			return a.ID, replayed, err
		}},
		{"publish", func(i *Idempotency) (any, bool, error) {
			v, replayed, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0", Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return v.Version, replayed, err
		}},
		{"key", func(i *Idempotency) (any, bool, error) {
			k, replayed, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x"}, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			if (k.Secret == "") != replayed {
				t.Errorf("replayed %v, but the secret is %q", replayed, k.Secret)
			}
			return k.ID, replayed, err
		}},
		{"upload", func(i *Idempotency) (any, bool, error) {
			body := "same"
			if i.BodyHash == sha256.Sum256([]byte("other")) {
				body = "other"
			}
			content.Reset(body)
			i.BodyHash = [32]byte{}
			f, replayed, err := fx.UploadFile(t.Context(), fx.p, UploadFile{Name: "a", Content: content, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return f.ID, replayed, err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, replayed, err := c.call(key("k", "/"+c.name, "same"))
			if err != nil || replayed {
				t.Fatalf("first: %v, replayed %v", err, replayed)
			}
			second, replayed, err := c.call(key("k", "/"+c.name, "same"))
			if err != nil || !replayed || first != second {
				t.Errorf("second: %v, %v, replayed %v, want %v", second, err, replayed, first)
			}
			_, _, err = c.call(key("k", "/"+c.name, "other"))
			wantCode(t, err, chargehand.CodeIdempotencyKeyReused)
		})
	}
}

func TestRepeatedRequestOfAKeyThatMayNotSeeTheWorkflow(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	i := key("k", "/x", "a")
	if _, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	limited := fx.principal(chargehand.Live, PresetAll, other.ID)
	waiting := View{Wait: time.Millisecond}
	for _, v := range []View{{}, waiting} {
		_, _, err := fx.CreateExecution(t.Context(), limited, CreateExecution{Workflow: flow.ID, Idempotency: i, View: v})
		wantCode(t, err, chargehand.CodeExecutionNotFound)
	}
	i = key("b", "/x", "a")
	if _, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: parse(t, `{"items": [{}]}`), Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []View{{}, waiting} {
		_, _, err := fx.CreateBatch(t.Context(), limited, CreateBatch{Workflow: flow.ID, Idempotency: i, View: v})
		wantCode(t, err, chargehand.CodeBatchNotFound)
	}
}

// The caller gets the error of the function that the engine runs in its transaction.
func TestFailureInTheTransactionUndoesTheStart(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	broken := errors.New("broken")
	start := engine.Start{Row: store.Execution{ID: newID[chargehand.ExecutionID](1), Account: fx.account.No, Environment: chargehand.Live, Workflow: 1, Revision: 1}}
	start.InTx = func(*store.Tx, int64) error { return broken }
	if _, err := fx.engine.Start(t.Context(), start); !errors.Is(err, broken) {
		t.Fatalf("the engine tells %v", err)
	}
	_, err := fx.GetExecution(t.Context(), fx.p, flow.ID, start.Row.ID, view)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
}
