package app

import (
	"time"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/service"
)

// limits are the bounds that the service tells but others keep.
func (c Config) limits() []service.Limit {
	return []service.Limit{
		{Name: "running_executions", Value: int64(c.RunningExecutions), Description: "Executions of an account that run at once; more are queued."},
		{Name: "queued_executions", Value: 10_000, Description: "Queued executions of a workflow; items of batches do not count."},
		{Name: "event_retention_seconds", Value: int64(c.RetentionEvents / time.Second), Description: "How long events are kept. Who has not read them by then never will."},
		{Name: "outgoing_calls", Value: int64(c.Calls), Description: "Outgoing calls at once."},
		{Name: "outgoing_call_seconds", Value: 30, Description: "Time of one outgoing call."},
		{Name: "streams", Value: int64(c.Streams), Description: "Subscriptions of `call: asyncapi` open at once; more wait for a place."},
		{Name: "processes", Value: int64(c.Processes), Description: "Processes of steps at once."},
		{Name: "process_seconds", Value: int64(process.DefaultTime / time.Second), Description: "Time of one process."},
		{Name: "process_memory_bytes", Value: process.DefaultMemoryBytes, Description: "Memory of one process and its children."},
		{Name: "process_disk_bytes", Value: process.DefaultDiskBytes, Description: "Private folder of one process."},
		{Name: "process_children", Value: process.DefaultProcesses, Description: "Processes that one step may have at a time."},
		{Name: "process_output_bytes", Value: process.DefaultOutputBytes, Description: "Standard output and error of one process."},
		{Name: "definition_tasks", Value: plan.DefaultTasks, Description: "Tasks of a definition."},
		{Name: "definition_depth", Value: dsl.MaxDepth, Description: "Tasks inside each other in a definition, and levels of a value in it."},
		{Name: "fork_branches", Value: plan.DefaultBranches, Description: "Branches of one fork."},
		{Name: "pure_steps", Value: plan.DefaultPureSteps, Description: "Tasks that an execution may start between two effects (calls, processes, timers)."},
		{Name: "state_bytes", Value: plan.DefaultStateBytes, Description: "State of an execution."},
		{Name: "activity_output_bytes", Value: 64 << 20, Description: "Output of one call or process."},
		{Name: "expression_steps", Value: expr.MaxSteps, Description: "Steps of one evaluation of an expression."},
		{Name: "expression_value_bytes", Value: expr.MaxValueBytes, Description: "Result of an expression, and any text in between."},
		{Name: "expression_entries", Value: expr.MaxEntries, Description: "Entries of an array or an object in an expression."},
	}
}
