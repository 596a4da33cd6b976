package temporalpeer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const taskQueue = "tests"

var batch = temporal.NewSearchAttributeKeyKeyword("TestBatch")

// nap sleeps and tells that it began.
func nap(ctx workflow.Context, howLong time.Duration) (string, error) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, batch.ValueSet("b1")); err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, howLong); err != nil {
		return "", err
	}
	return "slept", nil
}

// count is the number of events after which the server suggests a new run.
func count(ctx workflow.Context) (int, error) {
	for range 2000 {
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.GetInfo(ctx).GetCurrentHistoryLength(), nil
		}
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// TestTemporal makes sure that a namespace and its search attributes are usable at once,
// and that a server that is killed continues with what it had accepted, on either database.
func TestTemporal(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		surviveKill(t, Start(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		surviveKill(t, Start(t, Options{Database: peer.StartPostgres(t).URL("temporal")}))
	})
}

func surviveKill(t *testing.T, s *Server) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	namespace := s.NewNamespace(t)
	c := s.Client(t, namespace)
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: map[string]enumspb.IndexedValueType{batch.GetName(): enumspb.INDEXED_VALUE_TYPE_KEYWORD},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(nap)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	if got := run(ctx, t, c, "short", time.Millisecond); got != "slept" {
		t.Errorf("the short nap ended with %q", got)
	}
	long, err := c.ExecuteWorkflow(ctx, start("long"), nap, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(ctx, t, "two executions of the batch", func() error {
		found, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: "TestBatch = 'b1'"})
		if err == nil && found.Count != 2 {
			err = fmt.Errorf("%d are found", found.Count)
		}
		return err
	})
	address := s.Address()
	s.Kill()
	if peer.Listens(s.port) == nil {
		t.Error("a server that was killed answers")
	}
	s.Restart()
	if s.Address() != address {
		t.Errorf("the server came back at %s instead of %s", s.Address(), address)
	}
	var got string
	if err := long.Get(ctx, &got); err != nil || got != "slept" {
		t.Errorf("after a crash: %q, %v\n%s", got, err, s.Log())
	}
	if got := run(ctx, t, c, "after", time.Millisecond); got != "slept" {
		t.Errorf("the nap after the crash ended with %q", got)
	}
}

// TestTemporalSettings makes sure that dynamic configuration and metrics reach the server.
func TestTemporalSettings(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Settings: []string{"limit.historyCount.suggestContinueAsNew=20"}, Metrics: true})
	c := s.Client(t, s.NewNamespace(t))
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(count)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	r, err := c.ExecuteWorkflow(t.Context(), start("count"), count)
	if err != nil {
		t.Fatal(err)
	}
	var events int
	if err := r.Get(t.Context(), &events); err != nil || events < 20 || events > 30 {
		t.Errorf("a new run is suggested after %d events instead of 20: %v", events, err)
	}
	response, err := http.Get(s.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), "service_requests") {
		t.Errorf("no metrics: %v, %.500s", err, text)
	}
}

func start(id string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: taskQueue}
}

func run(ctx context.Context, t *testing.T, c client.Client, id string, howLong time.Duration) string {
	t.Helper()
	r, err := c.ExecuteWorkflow(ctx, start(id), nap, howLong)
	if err != nil {
		t.Fatal(err)
	}
	var result string
	if err := r.Get(ctx, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// waitFor asks again until there is no error: what is searched follows what has happened.
func waitFor(ctx context.Context, t *testing.T, what string, try func() error) {
	t.Helper()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no %s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
