package blackbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/client"
)

// TestContractOperations holds docs/reference/api.md "Operations": each action on many executions, by filter and by
// ids, through the binary.
func TestContractOperations(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	o := operator{server: s, api: client.New(s.URL, s.Key)}
	t.Run("retry", o.testRetry)
	t.Run("suspend, resume, cancel", o.testLife)
	t.Run("delete", o.testDelete)
	t.Run("published version", o.testPublished)
	t.Run("refused", o.testRefused)
}

// operator acts on many executions of a server.
type operator struct {
	server *server
	api    *client.Client
}

// ended starts an operation and waits for its end.
func (o operator) ended(t *testing.T, r client.OperationRequest) *client.Operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endTime)
	defer cancel()
	started, err := o.api.StartOperation(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	last, err := o.api.FollowOperation(ctx, started.ID, func(*client.Operation) {})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// want is what an operation has come to.
func (o operator) want(t *testing.T, what string, got *client.Operation, succeeded, skipped, failed int64) {
	t.Helper()
	if got.Status != "completed" || got.Pending != 0 || got.Succeeded != succeeded || got.Skipped != skipped || got.Failed != failed || got.Total != succeeded+skipped+failed {
		t.Errorf("%s: %d succeeded, %d skipped and %d failed were expected, and the operation is %+v", what, succeeded, skipped, failed, *got)
	}
}

// items are all items of an operation.
func (o operator) items(t *testing.T, id string, outcomes ...string) (all []client.OperationItem) {
	t.Helper()
	for cursor := ""; ; {
		page, err := o.api.OperationItems(t.Context(), id, outcomes, 100, cursor)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Data...)
		if page.Cursor == "" {
			return all
		}
		cursor = page.Cursor
	}
}

// begun starts n executions of a new workflow, and returns its id and theirs.
func (o operator) begun(t *testing.T, flow string, n int) (workflow string, ids []string) {
	t.Helper()
	workflow = deploy(t, o.server, flow)
	for range n {
		e, err := o.api.Start(t.Context(), workflow, nil, client.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return workflow, ids
}

func (o operator) testRetry(t *testing.T) {
	workflow, ids := o.begun(t, failed, 12)
	for _, id := range ids {
		finish(t, o.server, executions(workflow)+"/"+id)
	}
	request := client.OperationRequest{Action: "retry", Filter: &client.ExecutionFilter{Workflow: workflow}}
	would, err := o.api.PreviewOperation(t.Context(), request)
	if err != nil || would.Count != 12 || would.AtLeast {
		t.Fatalf("a dry run says %+v, %v", would, err)
	}
	done := o.ended(t, request)
	o.want(t, "retry", done, 12, 0, 0)
	repeated := map[string]string{}
	for _, item := range o.items(t, done.ID, "succeeded") {
		e := finish(t, o.server, executions(workflow)+"/"+item.RetryID)
		if e["retry_of"] != item.ExecutionID || text(e["status"]) != "error" {
			t.Errorf("the retry of %s is %v", item.ExecutionID, e)
		}
		repeated[item.ExecutionID] = item.RetryID
	}
	for _, id := range ids {
		if repeated[id] == "" {
			t.Errorf("execution %s was not retried", id)
		}
	}
	// What the retries have become counts for a later operation only.
	if again, err := o.api.PreviewOperation(t.Context(), request); err != nil || again.Count != 24 {
		t.Errorf("afterwards a dry run says %+v, %v", again, err)
	}
}

func (o operator) testLife(t *testing.T) {
	workflow, ids := o.begun(t, sleep, 8)
	for _, id := range ids {
		await(t, o.server, executions(workflow)+"/"+id, "processing")
	}
	all := &client.ExecutionFilter{Workflow: workflow}
	phase := func(want string) {
		t.Helper()
		for _, id := range ids {
			if e := o.server.Do(t, "GET", executions(workflow)+"/"+id, "").Object(); text(e["phase"]) != want {
				t.Errorf("execution %s is %v, and should be %s", id, e["phase"], want)
			}
		}
	}
	o.want(t, "suspend", o.ended(t, client.OperationRequest{Action: "suspend", Filter: all}), 8, 0, 0)
	phase("suspended")
	o.want(t, "suspend again", o.ended(t, client.OperationRequest{Action: "suspend", Filter: all}), 0, 0, 0)
	o.want(t, "resume", o.ended(t, client.OperationRequest{Action: "resume", IDs: ids[:5]}), 5, 0, 0)
	for _, id := range ids[:5] {
		if e := o.server.Do(t, "GET", executions(workflow)+"/"+id, "").Object(); text(e["phase"]) == "suspended" {
			t.Errorf("execution %s is suspended still", id)
		}
	}
	o.want(t, "cancel", o.ended(t, client.OperationRequest{Action: "cancel", Filter: all, Reason: "wrong list"}), 8, 0, 0)
	phase("cancelled")
	for _, id := range ids {
		e := o.server.Do(t, "GET", executions(workflow)+"/"+id, "").Object()
		if detail := text(fields(e["error"])["detail"]); !strings.Contains(detail, "wrong list") {
			t.Errorf("the reason is %q", detail)
		}
	}
	again := o.ended(t, client.OperationRequest{Action: "cancel", IDs: append(ids, nobody)})
	o.want(t, "cancel again", again, 0, 8, 1)
	for _, item := range o.items(t, again.ID) {
		want := map[bool]string{true: "execution_not_found", false: "state_conflict"}[item.ExecutionID == nobody]
		if item.Error == nil || item.Error.Code != want {
			t.Errorf("the item is %+v, and its code should be %s", item, want)
		}
	}
}

func (o operator) testDelete(t *testing.T) {
	workflow, ids := o.begun(t, echo, 6)
	for _, id := range ids {
		finish(t, o.server, executions(workflow)+"/"+id)
	}
	o.want(t, "delete", o.ended(t, client.OperationRequest{Action: "delete", Filter: &client.ExecutionFilter{Workflow: workflow}}), 6, 0, 0)
	for _, id := range ids {
		wantProblem(t, o.server, o.server.Do(t, "GET", executions(workflow)+"/"+id, ""), 404, "execution_not_found")
	}
}

// testPublished retries with a version that mends what has failed.
func (o operator) testPublished(t *testing.T) {
	name := unique("mended")
	workflow := o.server.Apply(t, definition(name, "1.0.0", failed))
	items := make([]json.RawMessage, 10)
	for i := range items {
		items[i] = json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)
	}
	b, err := o.api.StartBatch(t.Context(), workflow, items, client.BatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, o.server, batches(workflow)+"/"+b.BatchID)
	o.server.Apply(t, definition(name, "1.1.0", echo))
	done := o.ended(t, client.OperationRequest{Action: "retry", Filter: &client.ExecutionFilter{Batch: b.BatchID}, Version: "published"})
	o.want(t, "retry", done, 10, 0, 0)
	for _, item := range o.items(t, done.ID) {
		if e := finish(t, o.server, executions(workflow)+"/"+item.RetryID); text(e["status"]) != "finished" || text(e["workflow_version"]) != "1.1.0" {
			t.Errorf("the retry is %v", e)
		}
	}
}

func (o operator) testRefused(t *testing.T) {
	for name, r := range map[string]client.OperationRequest{
		"no executions": {Action: "cancel"},
		"both":          {Action: "cancel", IDs: []string{nobody}, Filter: &client.ExecutionFilter{}},
		"twice":         {Action: "cancel", IDs: []string{nobody, nobody}},
		"action":        {Action: "explode", IDs: []string{nobody}},
	} {
		var refused *client.Error
		if _, err := o.api.StartOperation(t.Context(), r); !errors.As(err, &refused) || refused.Status != 400 || refused.Code != "invalid_body" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
