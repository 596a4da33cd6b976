package blackbox_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/servertest"
)

// TestOperationsGoOnAfterKills kills the server again and again while an operation retries what has failed: in the end
// each execution was retried, and none of them twice.
func TestOperationsGoOnAfterKills(t *testing.T) {
	t.Parallel()
	const failures = 1_200
	options := servertest.Options{DataDir: t.TempDir(), Args: []string{"--rate-limit", "0"}}
	server := servertest.Start(t, options)
	api := client.New(server.URL, server.Key)
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	workflow := server.Apply(t, definition(unique("fails"), "1.0.0", failed))
	items := make([]json.RawMessage, failures)
	for i := range items {
		items[i] = json.RawMessage("{}")
	}
	b, err := api.StartBatch(t.Context(), workflow, items, client.BatchOptions{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the batch has ended", func() bool {
		b, err = api.GetBatch(t.Context(), workflow, b.BatchID, "none", time.Minute)
		return err == nil && b.Final()
	})
	begun, err := api.StartOperation(t.Context(), client.OperationRequest{Action: "retry", Filter: &client.ExecutionFilter{Batch: b.BatchID}})
	if err != nil {
		t.Fatal(err)
	}
	// Each kill comes while the operation acts on executions, after another part of them.
	const kills = 5
	state := func() *client.Operation {
		o, err := api.GetOperation(t.Context(), begun.ID)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for kill := range kills {
		o := state()
		eventually(t, "another part is done", func() bool {
			o = state()
			return o.Final() || o.Succeeded >= int64(kill*failures/kills+1)
		})
		if o.Final() {
			t.Fatalf("the operation has ended before kill %d: %+v", kill+1, *o)
		}
		server.Kill()
		server = servertest.Launch(t, options)
	}
	var last *client.Operation
	eventually(t, "the operation ends", func() bool {
		last = state()
		return last.Final()
	})
	if last.Status != "completed" || last.Succeeded != failures || last.Total != failures {
		t.Errorf("the operation is %+v", *last)
	}
	retries := map[string]string{}
	for cursor := ""; ; {
		page, err := api.ListExecutions(t.Context(), client.ExecutionFilter{Workflow: workflow, Causes: []string{"retry"}, Summary: true}, 100, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Data {
			if retries[e.RetryOf] != "" {
				t.Errorf("%s was retried as %s and as %s", e.RetryOf, retries[e.RetryOf], e.ID)
			}
			retries[e.RetryOf] = e.ID
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if len(retries) != failures {
		t.Errorf("%d of %d executions were retried", len(retries), failures)
	}
	var refused *client.Error
	if _, err := api.CancelOperation(t.Context(), begun.ID); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("to cancel what has ended: %v", err)
	}
}
