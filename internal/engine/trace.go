package engine

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// TraceEnd makes the span of an execution that has ended, as its row says, if it is traced.
// What it needs beside the row it reads; what cannot be read is logged, and there is no span.
func TraceEnd(ctx context.Context, tracer trace.Tracer, st *store.Store, row *store.Execution, log *slog.Logger) {
	if tracer == nil || len(row.Trace) == 0 {
		return
	}
	var w store.Workflow
	var a store.Account
	err := st.View(ctx, func(r *store.Reader) (err error) {
		if w, err = r.WorkflowByNo(row.Workflow); err == nil {
			a, err = r.AccountByNo(row.Account)
		}
		return err
	})
	if err != nil {
		log.Debug("trace the end of an execution", "execution", row.ID, "error", err)
		return
	}
	span.Ended(tracer, span.End{
		Execution: span.Execution{ID: row.ID, Origin: row.Trace, Item: row.Batch != 0},
		Workflow:  w.ID, Name: w.Name, Account: a.ID, Environment: row.Environment, Number: row.Item,
		Phase: row.Phase, StartedMs: row.StartedMs, FinishedMs: row.FinishedMs,
	})
}
