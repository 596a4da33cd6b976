package blackbox_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
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
	kills, between := 0, false
	for {
		o, err := api.GetOperation(t.Context(), begun.ID)
		if err != nil {
			t.Fatal(err)
		}
		if o.Final() {
			if o.Status != "completed" || o.Succeeded != failures || o.Total != failures {
				t.Errorf("the operation is %+v", *o)
			}
			break
		}
		if kills == 6 {
			eventually(t, "the operation ends", func() bool {
				o, err := api.GetOperation(t.Context(), begun.ID)
				return err == nil && o.Final()
			})
			continue
		}
		<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond) // random moments are what is tested
		server.Kill()
		server = servertest.Launch(t, options)
		kills++
		between = between || o.Succeeded > 0
	}
	t.Logf("%d kills", kills)
	if !between {
		t.Error("no kill came while it acted on executions")
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
