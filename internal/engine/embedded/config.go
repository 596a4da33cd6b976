package embedded

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Config is what an engine is made of. Store, Plans and Blobs are required.
type Config struct {
	Store *store.Store
	Plans engine.Plans
	Blobs engine.Blobs
	// Sealer opens and seals the data of executions whose definitions declare secrets. Without one,
	// such an execution ends with an error of the system.
	Sealer *secret.Sealer

	// Activities carries out commands, by kind ("http", "shell" …). A kind without a runner
	// is a configuration fault of the task.
	Activities map[string]activity.Runner

	// Logs takes what activities write while they run; nil: nothing does. It is stopped after the engine.
	Logs *runlog.Writer

	// Tracer makes the spans of executions (package span); nil: none.
	Tracer trace.Tracer

	Log *slog.Logger     // default: slog.Default()
	Now func() time.Time // wall clock; default: time.Now

	// RuntimeVersion and RuntimeMetadata are $runtime.version and $runtime.metadata.
	RuntimeVersion  string
	RuntimeMetadata value.Value
	// Lifecycle is what executions publish about themselves; nil: nothing.
	Lifecycle *machine.Lifecycle

	Limits Limits
}

// Limits bounds what the engine takes on. A zero field stands for the default.
type Limits struct {
	AccountSlots        int   // executions of an account that run at once; default 1,000
	QueuedPerWorkflow   int64 // queued singles of a workflow; default 10,000
	Calls               int   // outgoing calls at once; default 256
	Streams             int   // subscriptions of `call: asyncapi` at once; default 1,024
	Processes           int   // processes at once; default 8
	Scripts             int   // scripts in JavaScript at once; default 8
	ActivityOutputBytes int   // JSON of an outcome; default 64 MiB
	RetainedBytes       int64 // outcomes kept in memory while the store is unavailable; default 256 MiB
	TimerWindow         int   // timers of an environment in memory; default 10,000
	JournalEvents       int64 // events between two authoritative checkpoints; default 10,000
	ReplayEvents        int   // events between two checkpoints, to be replayed after a crash; default 256
	Wakes               int   // executions that are loaded at once, by messages and by timers each; default 64
	Yields              int   // looping executions that compute at once; default: all cores but one

	// Bounds of one workflow in one environment; 0: as many as there are permits.
	SlotsPerWorkflow     int // executions of an account that run
	CallsPerWorkflow     int
	ProcessesPerWorkflow int
	ScriptsPerWorkflow   int

	// Bounds of what one key or person has started in one environment, over all workflows; 0: as many as there are
	// permits. What it has started in turn counts. What no request has led to is bounded for each workflow.
	SlotsPerKey     int // executions of an account that run
	CallsPerKey     int
	ProcessesPerKey int
	ScriptsPerKey   int
}

func (l Limits) withDefaults() Limits {
	l.AccountSlots = cmp.Or(l.AccountSlots, engine.DefaultAccountSlots)
	l.QueuedPerWorkflow = cmp.Or(l.QueuedPerWorkflow, engine.DefaultQueuedPerWorkflow)
	l.Calls = cmp.Or(l.Calls, 256)
	l.Streams = cmp.Or(l.Streams, 1024)
	l.Processes = cmp.Or(l.Processes, 8)
	l.Scripts = cmp.Or(l.Scripts, 8)
	l.ActivityOutputBytes = cmp.Or(l.ActivityOutputBytes, 64<<20)
	l.RetainedBytes = cmp.Or(l.RetainedBytes, 256<<20)
	l.TimerWindow = cmp.Or(l.TimerWindow, 10_000)
	l.JournalEvents = cmp.Or(l.JournalEvents, 10_000)
	l.ReplayEvents = cmp.Or(l.ReplayEvents, 256)
	l.Wakes = cmp.Or(l.Wakes, 64)
	l.Yields = cmp.Or(l.Yields, max(1, runtime.GOMAXPROCS(0)-1))
	return l
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Limits = c.Limits.withDefaults()
	return c
}
