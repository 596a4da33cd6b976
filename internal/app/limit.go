package app

import (
	"cmp"
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/activity/a2a"
	"github.com/chargehand/chargehand/internal/activity/asyncapi"
	"github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	"github.com/chargehand/chargehand/internal/activity/grpc"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/mcp"
	"github.com/chargehand/chargehand/internal/activity/openapi"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/reminder"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/testserve"
)

// limits are the bounds that the service tells but others keep.
func (c Config) limits() []service.Limit {
	return append(append(c.shares(), c.Quotas.WithDefaults().List()...), []service.Limit{
		{Name: "running_executions", Value: int64(c.RunningExecutions), Description: "Executions of an account that run at once; more are queued.", Setting: "max-running"},
		{Name: "live_retention_seconds", Value: int64(c.RetentionLive / time.Second), Description: "How long executions of live are kept after their end.", Setting: "retention-live"},
		{Name: "test_retention_seconds", Value: int64(c.RetentionTest / time.Second), Description: "How long executions of test are kept after their end.", Setting: "retention-test"},
		{Name: "event_retention_seconds", Value: int64(c.RetentionEvents / time.Second), Description: "How long events are kept, whether they were read or not.", Setting: "retention-events"},
		{Name: "audit_retention_seconds", Value: int64(c.RetentionAudit / time.Second), Description: "How long entries of the audit log are kept.", Setting: "retention-audit"},
		{Name: "waiting_mails", Value: mail.MaxWaiting, Description: "Mails that wait to be sent."},
		{Name: "reset_mails_per_hour", Value: signin.AsksOfPerson, Description: "Mails with a link to set a password that can be asked for to one e-mail in an hour."},
		{Name: "reset_mails_per_hour_of_address", Value: signin.AsksOfAddress, Description: "The same from one network address."},
		{Name: "connections", Value: int64(c.Connections), Description: "Connections of clients that are open at once. For more, those that wait for a request are closed, or 503 is the answer.", Setting: "max-connections"},
		{Name: "outgoing_calls", Value: int64(c.Calls), Description: "Outgoing calls at once.", Setting: "max-calls"},
		{Name: "outgoing_call_seconds", Value: int64(http.DefaultTimeout / time.Second), Description: "Time of one call of HTTP, OpenAPI or gRPC, and of sending a message with AsyncAPI."},
		{Name: "http_inline_bytes", Value: http.DefaultInlineBytes, Description: "Answer to a call of HTTP or OpenAPI that becomes data; a larger one becomes a file."},
		{Name: "http_answer_bytes", Value: http.DefaultFileBytes, Description: "Answer to a call of HTTP or OpenAPI."},
		{Name: "openapi_document_bytes", Value: openapi.MaxDocumentBytes, Description: "An OpenAPI document."},
		{Name: "grpc_message_bytes", Value: grpc.DefaultMessageBytes, Description: "One response of gRPC."},
		{Name: "grpc_stream_bytes", Value: grpc.DefaultStreamBytes, Description: "All responses of one call of gRPC together, as JSON."},
		{Name: "grpc_messages", Value: grpc.DefaultMessages, Description: "Responses of one call of gRPC."},
		{Name: "asyncapi_message_bytes", Value: asyncapi.DefaultMessageBytes, Description: "One message of AsyncAPI."},
		{Name: "nats_queue_messages", Value: nats.DefaultPendingMessages, Description: "Messages of a subscription to NATS that wait for its workflow."},
		{Name: "nats_queue_bytes", Value: nats.DefaultPendingBytes, Description: "Those messages together."},
		{Name: "mcp_call_seconds", Value: int64(mcp.DefaultTimeout / time.Second), Description: "Time of one call of MCP that has no timeout of its own."},
		{Name: "mcp_answer_bytes", Value: mcp.DefaultBytes, Description: "Answer to a call of MCP."},
		{Name: "a2a_call_seconds", Value: int64(a2a.DefaultTimeout / time.Second), Description: "Time of one call of A2A, but those that stream."},
		{Name: "a2a_stream_seconds", Value: int64(a2a.DefaultStreamTimeout / time.Second), Description: "Time of one call of A2A that streams."},
		{Name: "a2a_answer_bytes", Value: a2a.DefaultBytes, Description: "Answer to a call of A2A, all results of a stream together."},
		{Name: "streams", Value: int64(c.Streams), Description: "Subscriptions of `call: asyncapi` open at once; more wait for a place.", Setting: "max-streams"},
		{Name: "processes", Value: int64(c.Processes), Description: "Processes of steps at once: shell, Python, containers, MCP over stdio.", Setting: "max-processes"},
		{Name: "test_seconds", Value: int64(testserve.HardTime / time.Second), Description: "Time of the tests of one request; those that have not ended 2 seconds before are stopped."},
		{Name: "test_memory_bytes", Value: testserve.MemoryBytes, Description: "Memory for the tests of one request."},
		{Name: "test_files", Value: service.MaxTestFiles, Description: "Further texts, such as workflows and fixtures, that a request with tests brings."},
		{Name: "test_result_bytes", Value: testserve.MaxResultBytes, Description: "Values and timelines in the results of one request; more are left out."},
		{Name: "test_requests", Value: service.MaxTestRequests, Description: "Requests with tests that wait or run, of one API key or person."},
		{Name: "scripts", Value: int64(c.Scripts), Description: "Scripts in JavaScript at once.", Setting: "max-scripts"},
		{Name: "script_seconds", Value: int64(c.ScriptTimeout / time.Second), Description: "Time of one script in JavaScript.", Setting: "script-timeout"},
		{Name: "execution_log_bytes", Value: max(0, c.ExecutionLogBytes), Description: "Log of one execution; what follows is not kept. 0: executions have no log.", Setting: "execution-log-size"},
		{Name: "execution_suspensions", Value: service.MaxSuspensions, Description: "How often one execution can be suspended."},
		{Name: "process_seconds", Value: int64(process.DefaultTime / time.Second), Description: "Time of one process."},
		{Name: "process_memory_bytes", Value: process.DefaultMemoryBytes, Description: "Memory of one process and its children."},
		{Name: "process_disk_bytes", Value: process.DefaultDiskBytes, Description: "Private folder of one process."},
		{Name: "process_children", Value: process.DefaultProcesses, Description: "Processes that one step may have at a time."},
		{Name: "process_output_bytes", Value: process.DefaultOutputBytes, Description: "Standard output and error of one process."},
		{Name: "detached_processes", Value: machine.MaxDetached, Description: "Processes of an execution at once that no task waits for."},
		{Name: "child_depth", Value: engine.MaxChildDepth, Description: "Executions inside each other that workflows start."},
		{Name: "open_children", Value: engine.MaxOpenChildren, Description: "Executions that one has started and that have not ended."},
		{Name: "tree_executions", Value: engine.MaxTree, Description: "Executions at once that come from one start."},
		{Name: "open_human_tasks", Value: machine.MaxOpenTasks, Description: "Human tasks of an execution that are open at once."},
		{Name: "human_task_bytes", Value: human.MaxBytes, Description: "What a human task asks, as JSON."},
		{Name: "human_task_assignees", Value: human.MaxAssignees, Description: "Users and groups that a human task names, those that it excludes included."},
		{Name: "human_task_answer_bytes", Value: human.MaxAnswerBytes, Description: "Data of an answer to a human task, as JSON."},
		{Name: "human_task_draft_bytes", Value: human.MaxDraftBytes, Description: "Draft of an answer to a human task, as JSON."},
		{Name: "human_task_comment_bytes", Value: human.MaxComment, Description: "One comment on a human task, and the remark of an answer."},
		{Name: "human_task_comments", Value: service.MaxTaskComments, Description: "Comments on one human task."},
		{Name: "human_task_reminders", Value: human.MaxRemind, Description: "Reminders of one human task."},
		{Name: "human_task_mails_per_minute", Value: reminder.MailsPerMinute, Description: "Mails about human tasks that a workflow sends in a minute, in each environment; what is more waits."},
		{Name: "human_task_mails_waiting", Value: reminder.MaxWaiting, Description: "Mails about human tasks of a workflow that wait, in each environment; what is more is not sent."},
		{Name: "human_task_mails_per_group", Value: reminder.MailsPerGroup, Description: "Members of a group that get mail about one human task."},
		{Name: "human_task_links", Value: service.MaxTaskLinks, Description: "Links that are made to one human task, those that were revoked included."},
		{Name: "human_task_link_seconds", Value: int64(service.TaskLinkLife / time.Second), Description: "How long a link to a human task can be used."},
		{Name: "human_task_link_uploads", Value: service.MaxLinkUploads, Description: "Files that are uploaded by one link, those that are used by no answer included."},
		{Name: "human_task_link_upload_bytes", Value: service.MaxLinkUploadBytes, Description: "Those files together."},
		{Name: "definition_tasks", Value: plan.DefaultTasks, Description: "Tasks of a definition."},
		{Name: "definition_depth", Value: dsl.MaxDepth, Description: "Tasks inside each other in a definition, and levels of a value in it."},
		{Name: "fork_branches", Value: plan.DefaultBranches, Description: "Branches of one fork."},
		{Name: "pure_steps", Value: plan.DefaultPureSteps, Description: "Tasks that an execution may start between two effects (calls, processes, timers)."},
		{Name: "state_bytes", Value: plan.DefaultStateBytes, Description: "State of an execution."},
		{Name: "result_files", Value: machine.MaxFiles, Description: "Files that the output of an execution refers to."},
		{Name: "activity_output_bytes", Value: 64 << 20, Description: "Output of one call or process."},
		{Name: "expression_steps", Value: expr.MaxSteps, Description: "Steps of one evaluation of an expression."},
		{Name: "schema_steps", Value: plan.MaxSchemaSteps, Description: "Steps of one check of a value against a schema: a subschema is one, and so are 32 instructions of patterns."},
		{Name: "expression_value_bytes", Value: expr.MaxValueBytes, Description: "Result of an expression, and any text in between."},
		{Name: "expression_entries", Value: expr.MaxEntries, Description: "Entries of an array or an object in an expression."},
	}...)
}

// shares are what the environment test, a single workflow and a single key may have of places at once.
func (c Config) shares() (list []service.Limit) {
	for _, one := range []struct {
		name, what                   string
		limits                       fair.Limits
		setting, perWorkflow, perKey string
	}{
		{"running_executions", "Running executions", fair.Limits{Permits: c.RunningExecutions, PerWorkflow: c.RunningPerWorkflow, PerKey: c.RunningPerKey},
			"max-running", "max-running-per-workflow", "max-running-per-key"},
		{"outgoing_calls", "Outgoing calls", fair.Limits{Permits: c.Calls, PerWorkflow: c.CallsPerWorkflow, PerKey: c.CallsPerKey},
			"max-calls", "max-calls-per-workflow", "max-calls-per-key"},
		{"streams", "Subscriptions of `call: asyncapi`", fair.Limits{Permits: c.Streams}, "max-streams", "max-streams", "max-streams"},
		{"processes", "Processes of steps", fair.Limits{Permits: c.Processes, PerWorkflow: c.ProcessesPerWorkflow, PerKey: c.ProcessesPerKey},
			"max-processes", "max-processes-per-workflow", "max-processes-per-key"},
		{"scripts", "Scripts in JavaScript", fair.Limits{Permits: c.Scripts, PerWorkflow: c.ProcessesPerWorkflow, PerKey: c.ProcessesPerKey},
			"max-scripts", "max-processes-per-workflow", "max-processes-per-key"},
	} {
		list = append(list,
			service.Limit{Name: one.name + "_of_test", Value: int64(one.limits.OfTest()), Description: one.what + " of the environment test at once.", Setting: one.setting},
			service.Limit{Name: one.name + "_of_workflow", Value: int64(one.limits.OfWorkflow()), Description: one.what + " of one workflow at once in one environment.", Setting: one.perWorkflow},
			service.Limit{Name: one.name + "_of_key", Value: int64(one.limits.OfKey()), Description: one.what + " at once of what one API key or person has started in one environment.", Setting: one.perKey})
	}
	return list
}

// DefaultLimits are the limits of an installation with default settings, for the page that lists them.
func DefaultLimits() []service.Limit {
	c, err := Config{Connections: 10_000}.withDefaults() // the default depends on the machine
	if err != nil {
		panic(err) // the zero value is valid
	}
	return service.Limits{PoolLimits: c.limits()}.WithDefaults().List()
}

// AuditActions are the actions of the audit log.
func AuditActions() (names []string) {
	for _, a := range audit.Actions() {
		names = append(names, string(a.Action))
	}
	return names
}

// CauseKinds are what starts executions, WaitKinds what they wait for: words of filters.
func CauseKinds() []string { return api.CauseKinds }
func WaitKinds() []string  { return api.WaitKinds }

// Problems are the errors of the API, by status and code, for the page that lists them.
func Problems() []api.ProblemType {
	list := api.Problems()
	slices.SortFunc(list, func(a, b api.ProblemType) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return list
}
