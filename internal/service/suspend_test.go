package service

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/store"
)

// TestSuspensionsAreBounded: an execution cannot be suspended again and again without end, and the refusal says so.
func TestSuspensionsAreBounded(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	e := fx.create(fx.apply(definition("one", "1.0.0")).ID, noInput)
	change := ChangeExecution{Workflow: e.Workflow, Execution: e.ID, View: view}
	suspend := func() error {
		_, _, err := fx.SuspendExecution(t.Context(), fx.p, change)
		return err
	}
	for range 2 {
		if err := suspend(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := fx.ResumeExecution(t.Context(), fx.p, change); err != nil {
			t.Fatal(err)
		}
	}
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e.ID)
		for range MaxSuspensions - 3 {
			if err == nil {
				err = tx.CountSuspension(row.No, MaxSuspensions)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := suspend(); err != nil {
		t.Fatalf("the last one: %v", err)
	}
	if _, _, err := fx.ResumeExecution(t.Context(), fx.p, change); err != nil {
		t.Fatal(err)
	}
	err := suspend()
	wantCode(t, err, chargehand.CodeStateConflict)
	if err != nil && !strings.Contains(err.Error(), "1000 times") {
		t.Errorf("it says %v", err)
	}
	if got := fx.get(e); got.Phase == chargehand.Suspended {
		t.Error("it is suspended")
	}
}
