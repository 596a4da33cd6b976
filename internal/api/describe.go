package api

import (
	"github.com/danielgtaylor/huma/v2"
)

// What the document says in words, where the tables of routes and types do not say it.

const documentAbout = "Start workflows, one by one or in batches, and read their status and result files.\n\n" +
	"Times are RFC 3339 in UTC. Lists answer `data` and `cursor`; send the cursor back to get the next page, null is the end. " +
	"Errors are `application/problem+json` with a stable `code`. New fields may be added to answers at any time; " +
	"the values of `status` never change. Unknown query parameters are ignored by the four operations listWorkflows, createExecution, " +
	"getExecution and runBatch, and refused by all others. Where a path takes the id of a workflow, `namespace.name` is accepted too. " +
	"A request may carry an X-Request-Id of its own, up to 128 letters, digits and -_.:/+=@, which the answer and the log repeat."

// tags are the groups of operations, in the order of the document.
var tags = [][2]string{
	{"Workflows", "Definitions and their versions: list, apply, check, publish and delete them."},
	{"Executions", "Single runs of a workflow: start, read, list, cancel and repeat them, and see what their tasks did."},
	{"Batches", "One run of a workflow for each of many inputs, with a bounded number at a time."},
	{"Files", "Contents that workflows take and make."},
	{"Events", "CloudEvents that workflows listen to."},
	{"People", "Users of the account, their groups, and the roles that they have."},
	{"API keys", "Keys of the environment, and what each may do."},
	{"Me", "The person that asks: its roles, settings, sessions and personal keys."},
	{"Sign-in", "Sessions of persons: how they begin, end and stay fresh."},
	{"Secrets", "Values that workflows use and that no request reads."},
	{"Audit log", "Who changed what, when and from where."},
	{"Server", "The server itself: limits, health, metrics, this document and its errors."},
}

// pathAbout describes the parameters of paths.
var pathAbout = map[paramKind]string{
	workflowParam:  "Id of the workflow (a UUID), or its namespace and name as namespace.name.",
	executionParam: "Id of the execution.",
	batchParam:     "Id of the batch.",
	fileParam:      "Id of the file.",
	keyParam:       "Id of the API key, which is not the key itself.",
	userParam:      "Id of the user.",
	groupParam:     "Id of the group.",
	grantParam:     "Id of the grant.",
	sessionParam:   "Id of the session.",
	versionParam:   "Version of the workflow, as document.version says it.",
	secretParam:    "Name of the secret.",
	problemParam:   "Code of an error.",
}

// headerAbout describes the headers of answers, with an example of each.
var headerAbout = map[string][2]string{
	"X-Request-Id":         {"Names this request in the server's log: the request's own X-Request-Id, or a new one.", "req_5d1c0f6a3b9e8274"},
	"RateLimit":            {"What is left of the key's requests (r), and the seconds until all are back (t). Missing where there is no limit.", `"key";r=1999;t=1`},
	"RateLimit-Policy":     {"The key's requests (q) in a span of seconds (w). Missing where there is no limit.", `"key";q=2000;w=2`},
	"Location":             {"Absolute address of the new resource, or of where the content is.", exampleHost + "/api/v1/workflows/" + exampleWorkflowID + "/executions/" + exampleExecutionID},
	"ETag":                 {"Send it as If-None-Match to learn whether anything has changed.", `"d-a1b2c3"`},
	"Retry-After":          {"Seconds to wait before asking again.", ""},
	"Idempotency-Replayed": {"true if the answer belongs to an earlier request with the same Idempotency-Key.", "true"},
	"Preference-Applied":   {"The preference wait, if it was used.", "wait=30"},
	"Content-Disposition":  {"attachment, with the name of the file.", `attachment; filename="order.json"`},
	"Content-Range":        {"Which bytes of the content these are, or how many there are.", "bytes 0-9/21"},
	"Accept-Ranges":        {"bytes, because parts of the content can be asked for.", "bytes"},
	"WWW-Authenticate":     {"Bearer, the scheme of API keys.", "Bearer"},
	"Set-Cookie":           {"The cookie of the session, which only the browser reads; or one that takes it away.", "__Host-chargehand=TOKEN; Path=/; HttpOnly; Secure; SameSite=Lax"},
	"Vary":                 {"Which headers of the request the answer depends on.", "Accept"},
}

// describe says what a schema and its fields are, where their types do not.
func describe(name string, schema *huma.Schema) {
	if schema.Description == "" {
		schema.Description = schemaAbout[name]
	}
	for field, property := range schema.Properties {
		if property.Description == "" {
			property.Description = fieldAbout[name+"."+field]
		}
		if property.Description == "" {
			property.Description = fieldAbout[field]
		}
	}
}

var schemaAbout = map[string]string{
	"Workflow":            "A workflow as lists show it.",
	"WorkflowPage":        "A page of workflows, newest first.",
	"WorkflowDetail":      "A workflow with what a start of it runs.",
	"AppliedWorkflow":     "What became of a definition that was applied.",
	"Validation":          "What is wrong with a definition.",
	"Graph":               "The control flow of a definition, without coordinates.",
	"GraphScope":          "A list of tasks. Control enters it at its first task.",
	"GraphNode":           "A task.",
	"GraphEdge":           "A way that control may take from one task to another of the same list, or out of it.",
	"GraphExtension":      "What runs around a task.",
	"GraphWorkflow":       "Another workflow that a task runs.",
	"FieldError":          "One thing that is wrong in a body, a definition or a query.",
	"Version":             "A version of a workflow: its newest revision.",
	"VersionPage":         "A page of versions, the most recently applied first.",
	"Execution":           "An execution as it is read. In lists output is left out.",
	"CreatedExecution":    "An execution that was just created.",
	"RetriedExecution":    "An execution that repeats another one, and whether something newer would run now.",
	"ExecutionPage":       "A page of executions, newest first.",
	"ExecutionError":      "Why an execution or a task ended in error.",
	"Result":              "A file that an execution or a task made.",
	"TimelineEntry":       "One run of a task.",
	"TimelinePage":        "A page of the tasks of an execution that have started, in order of start.",
	"Batch":               "A batch of executions of one workflow.",
	"BatchEntry":          "One item of a batch.",
	"BatchPage":           "A page of batches, newest first.",
	"BatchItemPage":       "A page of the items of a batch, in input order.",
	"File":                "A stored file.",
	"FileReference":       "A file as the input and output of workflows name it.",
	"ApiKey":              "An API key and what it may do, without the key itself.",
	"SetupBody":           "The first admin.",
	"SignInBody":          "Who signs in.",
	"VerifyBody":          "The password of the person that is signed in.",
	"SwitchBody":          "The account to switch to.",
	"InvitationBody":      "The invitation, and what a new person chooses.",
	"ResetBody":           "The link, and the new password.",
	"PasswordBody":        "The old password and the new one.",
	"DeviceBody":          "What a program asks for.",
	"DeviceCode":          "What a program shows to its person, and asks for its keys with.",
	"DeviceTokenBody":     "The secret of the program.",
	"DeviceKeys":          "The person who has confirmed, and the keys.",
	"DeviceKey":           "A personal key, whole.",
	"SignInMethods":       "The ways to sign in.",
	"Session":             "A person that is signed in.",
	"SessionUser":         "A person.",
	"SessionAccount":      "An account.",
	"ApiKeyPage":          "A page of API keys, newest first.",
	"User":                "A person as a member of the account.",
	"Me":                  "The person that asks, and what it may do.",
	"MeScopes":            "Scopes of each environment.",
	"PatchMeBody":         "The new name or language.",
	"OwnSession":          "A session of the person.",
	"OwnSessionPage":      "A page of the sessions of the person, newest first.",
	"StartedBy":           "A user or an API key.",
	"UserPage":            "A page of users, newest first.",
	"OneUseLink":          "An address that can be used once.",
	"UserGroup":           "A group of users.",
	"UserGroupPage":       "A page of groups, newest first.",
	"MemberPage":          "A page of the members of a group.",
	"FoundUser":           "What those who assign tasks may know of a user.",
	"FoundGroup":          "What those who assign tasks may know of a group.",
	"FoundPeople":         "Users and groups whose names begin with a text.",
	"Grant":               "A role that a user or a group has.",
	"GrantPage":           "A page of grants, newest first.",
	"InviteUserBody":      "The person to invite.",
	"Quota":               "A quota that the request would exceed.",
	"QuotaOwner":          "Whose quota it is.",
	"PatchUserBody":       "What is to change about a user.",
	"GroupBody":           "The name of a group.",
	"FirstGrant":          "A role that a user begins with, what it is over, and where it counts.",
	"GiveGrantBody":       "A role, the user or group that gets it, what it is over, and where it counts.",
	"RotateKeyBody":       "How long the key before still counts.",
	"Secret":              "A secret, without its value.",
	"SecretPage":          "A page of secrets, newest first.",
	"Limit":               "One limit of the installation.",
	"LimitPage":           "All limits of the installation, on one page.",
	"Health":              "The state of the server.",
	"Problem":             "An error (RFC 9457).",
	"ProblemPage":         "What an error code means.",
	"CloudEvent":          "An event in the JSON format of CloudEvents 1.0. Further attributes are kept.",
	"CreateExecutionBody": "What an execution starts with.",
	"CreateBatchBody":     "What the executions of a batch start with.",
	"CancelBody":          "Why something is cancelled.",
	"Nothing":             "An empty object.",
	"PublishBody":         "Which revision of the version is published.",
	"CreateKeyBody":       "What a new API key may do.",
	"PatchKeyBody":        "What is to change about an API key. Fields that are left out stay as they are.",
	"PutSecretBody":       "The value of a secret.",
	"RollBackSecretBody":  "The version of a secret whose value counts again.",
	"SecretUser":          "A workflow that declares a secret.",
	"SecretVersion":       "A version of a secret, without its value.",
	"AuditPage":           "A page of the audit log, newest first.",
	"AuditEntry":          "An entry of the audit log: a change, who made it and from where.",
	"AuditActor":          "Who made a change.",
	"AuditTarget":         "What was changed.",
	"AuditChange":         "A value before and after.",
}

// fieldAbout describes fields by name; Schema.name comes before name.
var fieldAbout = map[string]string{
	"id": "Its id.", "name": "Its name.", "data": "The items of this page.", "title": "Its title in the definition, if it has one.",
	"cursor":    "Send it as cursor to get the next page; null: there is none.",
	"namespace": "Namespace of the workflow.", "version": "Version, as document.version says it.",
	"created_at": "When it was created.", "updated_at": "When it was changed last.",
	"started_at": "When it started; left out before.", "finished_at": "When it ended; left out before.",
	"expires_at": "When it expires; left out: never.", "environment": "live or test: the environment of the key that made it.",
	"workflow_id": "The workflow that it belongs to.", "workflow_version": "Version of the workflow that it runs.",
	"execution_id": "The execution.", "batch_id": "The batch that it belongs to, if any.", "retry_of": "The execution that it repeats, if any.",
	"status":       "Where it stands. finished and error never change.",
	"phase":        "Where it stands, in the words of the workflow language: waiting means waiting for a timer, an event or another workflow; an execution that was cancelled has the status error and the phase cancelled.",
	"revision":     "Revision of the version, counted from 1: applying other content under the same version makes a new one.",
	"definition":   "The definition as JSON.",
	"source":       "The definition as it was applied, with its comments.",
	"source_type":  "Media type of source: application/yaml or application/json.",
	"draft":        "It was never published.",
	"warnings":     "What is allowed and probably not meant.",
	"errors":       "What is wrong, one entry for each pointer or parameter.",
	"code":         "Stable word for it, in snake_case.",
	"detail":       "What happened, and what to do.",
	"size":         "Bytes.",
	"sha256":       "SHA-256 of the content, in hexadecimal digits.",
	"content_type": "Media type of the content.",
	"output":       "What it has put out; left out unless it has completed.",
	"input":        "What it was started with.",
	"error":        "Why it ended in error; left out otherwise.",
	"reason":       "Shown in the error of what was cancelled.",

	"WorkflowDetail.version": "The version that a start without a version runs.", "WorkflowDetail.revision": "The revision of version that a start runs.",
	"WorkflowDetail.published_version": "The version that is published, if any: what live runs.",
	"AppliedWorkflow.revision":         "The revision of version that the definition is.", "AppliedWorkflow.draft": "It was not published: live does not run it.",
	"Validation.valid":  "There are no errors: the definition can be applied.",
	"FieldError.column": "Column in the text, from 1, where a text has lines.", "FieldError.line": "Line in the text, from 1, where a text has lines.",
	"Graph.digest": "Changes with the ids of the nodes and with the edges, and with nothing else: as long as it is the same, a picture keeps its layout.",
	"Graph.scopes": "The lists of tasks.", "Graph.nodes": "The tasks.", "Graph.edges": "The ways between them.",
	"GraphScope.id":    "JSON pointer of the list, or of the one task of a function.",
	"GraphScope.owner": "The task that holds the list; null: the workflow itself, an extension or a function.",
	"GraphScope.role":  "What the list is for: list (of the workflow, a do, a loop, or what a try guards), branch of a fork, catch, before and after of an extension, function.",
	"GraphScope.label": "Which errors are caught; the name of the extension or function.", "GraphScope.nodes": "Ids of the tasks, in the order of the definition.",
	"GraphNode.id": "JSON pointer of the task.", "GraphNode.kind": "Keyword of the task: call, do, emit, for, fork, listen, raise, run, set, switch, try or wait.",
	"GraphNode.type":   "Of a call and a run: http, openapi, grpc, asyncapi, a2a, mcp or function; container, script, shell or workflow.",
	"GraphNode.name":   "Name of the task.",
	"GraphNode.detail": "What it does, in one line: an address, events, the expression of a loop. At most 120 bytes and an ellipsis.",
	"GraphNode.scope":  "The list that holds it.", "GraphNode.line": "Line in the source of the definition, from 1.",
	"GraphNode.container": "It holds lists of its own.", "GraphNode.human": "A person does it.",
	"GraphNode.if": "The expression without which the task is skipped.", "GraphNode.timeout": "Its time limit, or the name of a timeout of the definition.",
	"GraphNode.detached": "It does not wait for what it runs.", "GraphNode.compete": "Of a fork: the first branch wins.",
	"GraphNode.extensions": "What runs around it.", "GraphNode.workflow": "The workflow that it runs.",
	"GraphNode.function": "The scope with the body, of a call of a function of the definition.",
	"GraphEdge.from":     "Id of a task.", "GraphEdge.to": "Id of a task of the same list; null: leaves says where it leads.",
	"GraphEdge.kind":  "next: to what follows; then: a directive leads elsewhere; case: of a switch; skip: the task was skipped; caught: after an error that a try caught.",
	"GraphEdge.label": "Which case or error.", "GraphEdge.back": "It leads to the task itself or to one before it.",
	"GraphEdge.leaves": "Where an edge without a target leads: out of the list, or to the end of the workflow.", "GraphEdge.scope": "The list of both tasks.",
	"GraphExtension.name": "Name of the extension.", "GraphExtension.before": "The scope that runs before the task.", "GraphExtension.after": "The scope that runs after it.",
	"GraphWorkflow.namespace": "Its namespace.", "GraphWorkflow.name": "Its name.", "GraphWorkflow.version": "Its version; latest: the published one.",
	"Version.published": "This version is the published one: what live runs.",

	"CreatedExecution.execution_id": "The same as id.", "RetriedExecution.execution_id": "The same as id.",
	"ExecutionError.type": "Address of the type of error, as the workflow language names it.", "ExecutionError.title": "The type of error in words.",
	"ExecutionError.status": "Status code of the error, as in HTTP.", "ExecutionError.detail": "What happened.",
	"ExecutionError.origin": "workflow: the definition, a call or a cancellation caused it; system: the server did.", "ExecutionError.retryable": "Trying again may help.",
	"TimelineEntry.seq": "Number of the entry, in order of start, from 1.", "TimelineEntry.name": "Name of the task.",
	"TimelineEntry.iteration": "Which pass of the innermost loop it is, from 0.", "TimelineEntry.attempt": "Which try it is, from 1.",
	"TimelineEntry.input": "The input of the task.", "TimelineEntry.files": "Files that the task made.",

	"Batch.batch_id": "Its id.", "Batch.status": "pending: nothing has started; running; completed: all items have ended and one at least is finished; failed: none is finished, or the batch was cancelled.",
	"Batch.total": "Items.", "Batch.running": "Executions that are at work.", "Batch.waiting": "Executions that have started and wait for a timer, an event or their turn.",
	"Batch.queued": "Executions that have not started.", "Batch.concurrency": "Executions at a time, as asked for.",
	"Batch.effective_concurrency": "Executions at a time, as the server grants it.", "Batch.completed_at": "When the last item ended; left out before.",
	"BatchEntry.inputs": "The item: what the execution was started with.", "BatchEntry.index": "Place of the item in the batch, from 0.",
	"BatchEntry.item_id": "Name of the item, if it has one.", "BatchEntry.execution_id": "The execution of the item.",

	"FileReference.uri": "Address of the file, without a host.", "FileReference.name": "Name of the file, for display only.",
	"FileReference.mediaType": "Media type of the content.", "FileReference.digest": "sha256: and the SHA-256 of the content.",
	"File.expires_at": "When url expires.", "Result.expires_at": "When url expires.",

	"User.email": "The e-mail address that the person signs in with.", "User.name": "The name of the person.", "User.locale": "The language that the person has chosen; left out: none.",
	"User.status": "invited: the invitation is not accepted yet; active; disabled.", "User.groups": "The groups that the user is in.",
	"User.last_seen_at": "When the user was seen last, to within a minute; left out: never.",
	"FoundUser.email":   "The e-mail address of the user.", "InviteUserBody.email": "The e-mail address of the person.", "InviteUserBody.name": "The name of the person.",
	"PatchUserBody.status": "active or disabled.", "OneUseLink.expires_at": "When it can be used no longer.",
	"SetupBody.email": "The e-mail with which the admin signs in.", "SignInBody.email": "The e-mail of the person.", "SignInBody.password": "The password of the person.",
	"PatchMeBody.name":    "The name that others see.",
	"VerifyBody.password": "The password of the person.", "SessionUser.email": "The e-mail of the person.", "Session.user": "The person.", "Session.account": "The account that the session is in.",
	"DeviceKeys.user": "The person who has confirmed.", "DeviceKeys.account": "The account that the keys belong to.", "DeviceKey.environment": "live or test.",
	"AuditEntry.actor": "Who made the change.", "AuditEntry.target": "What was changed.",
	"ApiKey.prefix": "The beginning of the key, which says its environment.", "ApiKey.last_four": "The last four characters of the key.",
	"ApiKey.scopes": "What the key may do.", "ApiKey.last_used_at": "When it was used last, to within a minute; left out: never.",
	"CreateKeyBody.name": "What the key is for.", "CreateKeyBody.scopes": "What the key may do.",
	"PatchKeyBody.name": "What the key is for.", "PatchKeyBody.preset": "Instead of scopes.", "PatchKeyBody.scopes": "What the key may do.",
	"PatchKeyBody.workflows":  "The only workflows that the key may see; null: all.",
	"PatchKeyBody.expires_at": "When it expires; null: never.", "PatchKeyBody.rate_limit": "Requests per second, 0: no limit; null: the installation's.",

	"Limit.name": "Name of the limit; the unit is its last word.", "Limit.value": "The limit; 0 means none where the description says so.", "Limit.description": "What is limited.",
	"Health.status": "ok: the process is alive; ready: requests are served.",

	"Problem.title": "The kind of error in words.", "Problem.status": "Status code of the answer.", "Problem.instance": "Path of the request.",
	"ProblemPage.type": "Address of this page.", "ProblemPage.status": "Status code of answers with this code.",
	"ProblemPage.title": "The kind of error in words.", "ProblemPage.description": "What happened, and what to do.",

	"CloudEvent.source": "What publishes it.", "CloudEvent.type": "What kind of thing has happened.", "CloudEvent.subject": "What it has happened to.",
	"CloudEvent.time": "When it happened.", "CloudEvent.dataschema": "Address of the schema of the data.",
}
