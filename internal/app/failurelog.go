package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/loglimit"
	"github.com/chargehand/chargehand/internal/store"
)

// maxUntold bounds the failures whose line waits for the name of the workflow.
const maxUntold = 256

// failureLog writes a line for each execution that ends in error, some a minute of each workflow and code.
type failureLog struct {
	log   *slog.Logger
	lines *loglimit.Limiter
	db    *store.Store
	names map[int64]string // of workflows; used by write
	queue chan failureLine
	run   *background.Group
}

type failureLine struct {
	store.Failure
	fault engine.Fault
}

func newFailureLog(log *slog.Logger, db *store.Store) *failureLog {
	l := &failureLog{
		log: log, lines: loglimit.New(log), db: db, names: map[int64]string{},
		queue: make(chan failureLine, maxUntold), run: background.NewGroup(),
	}
	db.OnFailure(l.failed)
	l.run.Start("log of failures", l.write)
	return l
}

// close writes the lines that are left, until ctx ends. The engine has stopped.
func (l *failureLog) close(ctx context.Context) error {
	l.db.OnFailure(func([]store.Failure) {})
	return l.run.Stop(ctx)
}

// failed is called by the writer of the end. It never blocks.
func (l *failureLog) failed(failures []store.Failure) {
	for _, f := range failures {
		line := failureLine{Failure: f}
		if fault, err := engine.DecodeFault(f.Fault); err == nil {
			line.fault = fault
		}
		if !l.log.Enabled(context.Background(), slog.LevelDebug) && !l.lines.Allow(fmt.Sprintf("workflow %d %s %s", f.Workflow, f.Phase, line.fault.Code)) {
			continue
		}
		select {
		case l.queue <- line:
		default: // the database does not answer: the line goes out without the name
			l.tell(line, "")
		}
	}
}

// write writes lines until ctx ends, and then those that are left.
func (l *failureLog) write(ctx context.Context) {
	for {
		select {
		case line := <-l.queue:
			l.tell(line, l.name(ctx, line.Workflow))
			continue
		case <-ctx.Done():
		}
		for {
			select {
			case line := <-l.queue:
				l.tell(line, l.names[line.Workflow])
				continue
			default:
			}
			l.lines.Flush()
			return
		}
	}
}

// name is namespace and name of a workflow; empty where it cannot be had.
func (l *failureLog) name(ctx context.Context, no int64) string {
	if name, known := l.names[no]; known {
		return name
	}
	var name string
	_ = l.db.View(ctx, func(r *store.Reader) error {
		row, err := r.WorkflowByNo(no)
		if err == nil {
			name = row.Namespace + "/" + row.Name
		}
		return err
	})
	if name != "" && len(l.names) < 10_000 {
		l.names[no] = name
	}
	return name
}

func (l *failureLog) tell(f failureLine, name string) {
	l.log.Info("execution ended in error", "execution", f.ID, "workflow", name, "phase", f.Phase.String(), "code", f.fault.Code,
		"task", f.fault.Instance)
}
