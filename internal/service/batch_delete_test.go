package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
)

// TestDeleteBatch deletes a batch of more items than one transaction does, and nothing beside it.
func TestDeleteBatch(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	batch := func(items int) *Batch {
		b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{
			Workflow: flow.ID, View: View{Entries: true},
			Body: parsed(t, `{"items":[{}`+strings.Repeat(",{}", items-1)+`],"labels":{"team":"blue"}}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b, stays := batch(deletedAtOnce+3), batch(2)
	remove := func(w chargehand.WorkflowID, code chargehand.Code) {
		t.Helper()
		err := fx.DeleteBatch(t.Context(), fx.p, w, b.ID)
		if code != "" {
			wantCode(t, err, code)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	remove(flow.ID, chargehand.CodeStateConflict)
	remove(other.ID, chargehand.CodeBatchNotFound)
	items, _ := fx.entries(b, BatchEntries{})
	for _, item := range items {
		fx.finish(item.Execution, `{}`)
	}
	got := fx.audited(func() { remove(flow.ID, "") })
	wantEntry(t, got, audit.BatchDeleted, audit.Target{Kind: "batch", ID: b.ID.String(), Name: "test/one"},
		fmt.Sprintf(`{"items":{"before":%d,"after":null},"status":{"before":"completed","after":null}}`, deletedAtOnce+3))
	remove(flow.ID, chargehand.CodeBatchNotFound)
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 100})
	if err != nil || len(page.Data) != 2 || page.Data[0].Batch != stays.ID {
		t.Errorf("%d executions are left: %v", len(page.Data), err)
	}
}
