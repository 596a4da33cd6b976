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
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a"), View: view}
	first, replayed, err := w.CreateExecution(t.Context(), w.p, request)
	if err != nil || replayed {
		t.Fatalf("first: %v, replayed %v", err, replayed)
	}
	w.finish(first.ID, `{"a":1}`)
	w.pass(23 * time.Hour)
	second, replayed, err := w.CreateExecution(t.Context(), w.p, request)
	if err != nil || !replayed {
		t.Fatalf("second: %v, replayed %v", err, replayed)
	}
	if second.ID != first.ID || second.Status != chargehand.Initial || !second.CreatedAt.Equal(first.CreatedAt) || second.WorkflowVersion != first.WorkflowVersion || second.Workflow != first.Workflow {
		t.Errorf("the answer %+v is not the first one %+v", second, first)
	}
	t.Run("wait applies anew", func(t *testing.T) {
		waiting := request
		waiting.View.Wait = time.Minute
		got, replayed, err := w.CreateExecution(t.Context(), w.p, waiting)
		if err != nil || !replayed || got.Status != chargehand.Finished || got.ID != first.ID {
			t.Errorf("got %+v, %v, %v", got, replayed, err)
		}
	})
	t.Run("another body", func(t *testing.T) {
		other := request
		other.Idempotency = key("k", "/x", "b")
		_, _, err := w.CreateExecution(t.Context(), w.p, other)
		wantCode(t, err, chargehand.CodeIdempotencyKeyReused)
	})
	t.Run("another key, path, method, environment or account", func(t *testing.T) {
		for name, i := range map[string]*Idempotency{
			"key": key("l", "/x", "a"), "path": key("k", "/y", "a"), "method": {Method: "PUT", Path: "/x", Key: "k"},
			"the same text in another place": {Method: "POST", Path: "/", Key: "xk"},
		} {
			got, replayed, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: i})
			if err != nil || replayed || got.ID == first.ID {
				t.Errorf("%s: got %+v, %v, %v", name, got, replayed, err)
			}
		}
		got, replayed, err := w.CreateExecution(t.Context(), w.test, request)
		if err != nil || replayed || got.ID == first.ID {
			t.Errorf("environment: got %+v, %v, %v", got, replayed, err)
		}
		_, _, err = w.CreateExecution(t.Context(), w.stranger(), request)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	})
	t.Run("after 24 hours", func(t *testing.T) {
		w.pass(time.Hour + time.Millisecond)
		got, replayed, err := w.CreateExecution(t.Context(), w.p, request)
		if err != nil || replayed || got.ID == first.ID {
			t.Errorf("got %+v, %v, %v", got, replayed, err)
		}
	})
}

// Idempotency comes before the workflow in the order of checks.
func TestIdempotencyIsCheckedBeforeTheWorkflow(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a")}
	first, _, err := w.CreateExecution(t.Context(), w.p, request)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteWorkflow(t.Context(), w.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	got, replayed, err := w.CreateExecution(t.Context(), w.p, request)
	if err != nil || !replayed || got.ID != first.ID {
		t.Errorf("got %+v, %v, %v, want the first answer", got, replayed, err)
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("typed", "1.0.0", wantsText))
	i := key("k", "/x", "a")
	_, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: i})
	wantCode(t, err, chargehand.CodeInputInvalid)
	good := CreateExecution{Workflow: flow.ID, Idempotency: i, Body: map[string]any{"input": map[string]any{"text": "x"}}}
	w.engine.refuse = store.ErrUnavailable
	_, _, err = w.CreateExecution(t.Context(), w.p, good)
	wantCode(t, err, chargehand.CodeUnavailable)
	w.engine.refuse = nil
	if _, replayed, err := w.CreateExecution(t.Context(), w.p, good); err != nil || replayed {
		t.Errorf("after errors: %v, replayed %v", err, replayed)
	}
}

func TestIdempotencyInProgress(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	w.engine.waiting = make(chan struct{}, 10)
	request := CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a"), View: View{Wait: time.Minute}}
	done := make(chan error)
	go func() {
		_, _, err := w.CreateExecution(context.Background(), w.p, request)
		done <- err
	}()
	<-w.engine.waiting // the first one waits now
	_, _, err := w.CreateExecution(t.Context(), w.p, request)
	if shown := wantCode(t, err, chargehand.CodeIdempotencyInProgress); shown.RetryAfter < 1 {
		t.Error("idempotency_in_progress has no Retry-After")
	}
	w.finish(w.engine.starts[0].Row.ID, `{}`)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, replayed, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: request.Idempotency}); err != nil || !replayed {
		t.Errorf("afterwards: %v, replayed %v", err, replayed)
	}
}

// Two processes on one database: the row decides who is first, and only one execution is made.
func TestIdempotencyAcrossProcesses(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	var ids sync.Map
	var group sync.WaitGroup
	for range 8 {
		other := New(Config{
			Store: w.rows, Engine: w.engine, Plans: NewPlans(w.rows, plan.Options{}), Blobs: w.blobs, Now: w.now,
			Pepper: make([]byte, 32), LinkKey: make([]byte, 32), Sealer: w.sealer,
		})
		group.Go(func() {
			e, _, err := other.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: key("k", "/x", "a")})
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
	page, err := w.ListExecutions(t.Context(), w.p, ListExecutions{Limit: 10})
	if n != 1 || err != nil || len(page.Data) != 1 {
		t.Errorf("%d ids were answered and %d executions made, %v", n, len(page.Data), err)
	}
}

func TestIdempotencyOfEverythingElse(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	done := w.create(flow.ID, noInput)
	w.finish(done.ID, `{}`)
	running := w.create(flow.ID, noInput)
	batch := w.createBatch(flow.ID, `{"items": [{}]}`)
	content := strings.NewReader("")
	for _, c := range []struct {
		name string
		call func(i *Idempotency) (id any, replayed bool, err error)
	}{
		{"batch", func(i *Idempotency) (any, bool, error) {
			b, replayed, err := w.CreateBatch(t.Context(), w.p, CreateBatch{Workflow: flow.ID, Body: parse(t, `{"items": [{"a": 1}, {}]}`), Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			list, _ := w.entries(b, BatchEntries{})
			if len(list) != 2 || string(list[0].Inputs) != `{"a":1}` || b.Status != chargehand.BatchPending {
				t.Errorf("the batch is answered as %+v with %+v", b, list)
			}
			return b.ID, replayed, err
		}},
		{"retry", func(i *Idempotency) (any, bool, error) {
			e, replayed, err := w.RetryExecution(t.Context(), w.p, RetryExecution{Workflow: flow.ID, Execution: done.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			if e.RetryOf != done.ID {
				t.Errorf("the retry is answered as %+v", e)
			}
			return e.ID, replayed, err
		}},
		{"cancel", func(i *Idempotency) (any, bool, error) {
			e, replayed, err := w.CancelExecution(t.Context(), w.p, ChangeExecution{Workflow: flow.ID, Execution: running.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return e.ID, replayed, err
		}},
		{"cancel batch", func(i *Idempotency) (any, bool, error) {
			b, replayed, err := w.CancelBatch(t.Context(), w.p, ChangeBatch{Workflow: flow.ID, Batch: batch.ID, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return b.ID, replayed, err
		}},
		{"apply", func(i *Idempotency) (any, bool, error) {
			a, replayed, err := w.ApplyWorkflow(t.Context(), w.p, ApplyWorkflow{Definition: definition("new", "1.0.0"), MediaType: mediaYAML, Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			if !a.Created || a.Revision != 1 || a.Version != "1.0.0" {
				t.Errorf("the workflow is answered as %+v", a)
			}
			return a.ID, replayed, err
		}},
		{"publish", func(i *Idempotency) (any, bool, error) {
			v, replayed, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0", Idempotency: i})
			if err != nil {
				return nil, replayed, err
			}
			return v.Version, replayed, err
		}},
		{"key", func(i *Idempotency) (any, bool, error) {
			k, replayed, err := w.CreateKey(t.Context(), w.p, CreateKey{Body: map[string]any{"name": "x"}, Idempotency: i})
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
			f, replayed, err := w.UploadFile(t.Context(), w.p, UploadFile{Name: "a", Content: content, Idempotency: i})
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
	w := newWorld(t)
	flow, other := w.apply(definition("one", "1.0.0")), w.apply(definition("two", "1.0.0"))
	i := key("k", "/x", "a")
	if _, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	limited := w.principal(chargehand.Live, PresetAll, other.ID)
	waiting := View{Wait: time.Millisecond}
	for _, v := range []View{{}, waiting} {
		_, _, err := w.CreateExecution(t.Context(), limited, CreateExecution{Workflow: flow.ID, Idempotency: i, View: v})
		wantCode(t, err, chargehand.CodeExecutionNotFound)
	}
	i = key("b", "/x", "a")
	if _, _, err := w.CreateBatch(t.Context(), w.p, CreateBatch{Workflow: flow.ID, Body: parse(t, `{"items": [{}]}`), Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	for _, v := range []View{{}, waiting} {
		_, _, err := w.CreateBatch(t.Context(), limited, CreateBatch{Workflow: flow.ID, Idempotency: i, View: v})
		wantCode(t, err, chargehand.CodeBatchNotFound)
	}
}

// What the transaction of the engine says is what is told.
func TestFailureInTheTransactionUndoesTheStart(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	broken := errors.New("broken")
	start := engine.Start{Row: store.Execution{ID: newID[chargehand.ExecutionID](1), Account: w.account.No, Environment: chargehand.Live, Workflow: 1, Revision: 1}}
	start.InTx = func(*store.Tx, int64) error { return broken }
	if _, err := w.engine.Start(t.Context(), start); !errors.Is(err, broken) {
		t.Fatalf("the engine tells %v", err)
	}
	_, err := w.GetExecution(t.Context(), w.p, flow.ID, start.Row.ID, view)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
}
