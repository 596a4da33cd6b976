package dsl

import "fmt"

// maxPort bounds the port of a gRPC service.
const maxPort = 65535

// call reads `call` and the `with` beside it.
func (d *decoder) call(task, at location) *Call {
	result := &Call{Pointer: at.pointer, Function: d.filled(at)}
	with, hasWith := task.get("with")
	switch {
	case at.shape != shapeText:
		return result
	case !hasWith:
		if !result.Custom() {
			d.problem(task, CodeRequired, fmt.Sprintf("%s lacks the required property %q for call: %s.", label(task.pointer), "with", result.Function), "")
		}
		return result
	}
	result.With = d.plainMapOperand(with)
	if with.shape != shapeObject {
		return result
	}
	switch result.Function {
	case CallHTTP:
		result.HTTP = d.httpCall(with)
	case CallOpenAPI:
		result.OpenAPI = d.openAPICall(with)
	case CallGRPC:
		result.GRPC = d.grpcCall(with)
	case CallAsyncAPI:
		result.AsyncAPI = d.asyncAPICall(with)
	case CallA2A:
		result.A2A = d.a2aCall(with)
	case CallMCP:
		result.MCP = d.mcpCall(with)
	}
	return result
}

var httpObject = object{required: []string{"method", "endpoint"},
	hints: map[string]string{
		"uri": "The address of the call is `endpoint`.", "url": "The address of the call is `endpoint`.",
		"authentication": "Write endpoint: {uri: …, authentication: …}.", "params": `Did you mean "query"?`, "data": `Did you mean "body"?`,
		"timeout": "Put `timeout` beside `call` and `with`.",
	}}

func (d *decoder) httpCall(at location) *HTTPCall {
	result := &HTTPCall{Pointer: at.pointer, Output: OutputContent}
	d.object(at, &httpObject,
		field("method", &result.Method, d.filledOperand),
		field("endpoint", &result.Endpoint, d.endpoint),
		field("headers", &result.Headers, d.scalarMapOperand),
		field("query", &result.Query, d.scalarMapOperand),
		field("body", &result.Body, d.operand),
		field("output", &result.Output, d.oneOf(OutputContent, OutputRaw, OutputResponse)),
		field("redirect", &result.Redirect, d.boolean(false)),
	)
	return result
}

var openAPIObject = object{required: []string{"document", "operationId"},
	hints: map[string]string{"operation": `Did you mean "operationId"?`, "endpoint": "Write document: {endpoint: …}."}}

func (d *decoder) openAPICall(at location) *OpenAPICall {
	result := &OpenAPICall{Pointer: at.pointer, Output: OutputContent}
	d.object(at, &openAPIObject,
		field("document", &result.Document, d.resource),
		field("operationId", &result.OperationID, d.filledOperand),
		field("parameters", &result.Parameters, d.mapOperand),
		field("authentication", &result.Authentication, d.authentication),
		field("output", &result.Output, d.oneOf(OutputContent, OutputRaw, OutputResponse)),
		field("redirect", &result.Redirect, d.boolean(false)),
	)
	return result
}

func (d *decoder) grpcCall(at location) *GRPCCall {
	result := &GRPCCall{Pointer: at.pointer}
	d.object(at, &object{required: []string{"proto", "service", "method"}},
		field("proto", &result.Proto, d.resource),
		property{"service", func(value location) { d.grpcService(value, result) }},
		field("method", &result.Method, d.filled),
		field("arguments", &result.Arguments, d.mapOperand),
	)
	return result
}

func (d *decoder) grpcService(at location, result *GRPCCall) {
	d.object(at, &object{required: []string{"name", "host"}},
		field("name", &result.Service, d.filled),
		field("host", &result.Host, d.uri),
		property{"port", func(value location) { result.Port, _ = d.integer(value, 0, maxPort) }},
		field("authentication", &result.Authentication, d.authentication),
	)
}

var (
	asyncAPIObject = object{
		required: []string{"document"}, hints: map[string]string{"operationRef": `Did you mean "operation"?`, "payload": "Write message: {payload: …}."}}
	serverObject = object{required: []string{"name"}, hint: "Write {name: …}."}

	protocols = []string{"amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5",
		"nats", "pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws"}
)

func (d *decoder) asyncAPICall(at location) *AsyncAPICall {
	result := &AsyncAPICall{Pointer: at.pointer}
	d.object(at, &asyncAPIObject,
		field("document", &result.Document, d.resource),
		field("channel", &result.Channel, d.filled),
		field("operation", &result.Operation, d.filled),
		property{"server", func(value location) {
			d.object(value, &serverObject,
				field("name", &result.ServerName, d.filled),
				field("variables", &result.ServerVariables, d.plainMapOperand),
			)
		}},
		field("protocol", &result.Protocol, d.oneOf(protocols...)),
		field("message", &result.Message, d.message),
		field("subscription", &result.Subscription, d.subscription),
		field("authentication", &result.Authentication, d.authentication),
	)
	d.exactlyOne(at, "channel", "operation")
	d.exactlyOne(at, "message", "subscription")
	return result
}

func (d *decoder) message(at location) *Message {
	result := &Message{Pointer: at.pointer}
	d.object(at, &object{},
		field("payload", &result.Payload, d.mapOperand),
		field("headers", &result.Headers, d.mapOperand),
	)
	return result
}

func (d *decoder) subscription(at location) *Subscription {
	result := &Subscription{Pointer: at.pointer}
	d.object(at, &object{required: []string{"consume"}},
		field("filter", &result.Filter, d.expressionOperand),
		property{"consume", func(value location) { d.consume(value, result) }},
		field("foreach", &result.Foreach, d.iterator),
	)
	return result
}

// maxAmount bounds the messages of one subscription.
const maxAmount = 1_000_000

func (d *decoder) consume(at location, result *Subscription) {
	d.object(at, &object{},
		property{"amount", func(value location) {
			if amount, ok := d.integer(value, 1, maxAmount); ok {
				result.Amount = &amount
			}
		}},
		field("while", &result.While, d.expressionOperand),
		field("until", &result.Until, d.expressionOperand),
		field("for", &result.For, d.duration),
	)
	d.exactlyOne(at, "amount", "while", "until")
}

var (
	a2aMethods = []string{"message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
		"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"}
)

func (d *decoder) a2aCall(at location) *A2ACall {
	result := &A2ACall{Pointer: at.pointer}
	d.object(at, &object{required: []string{"method"}},
		field("method", &result.Method, d.oneOf(a2aMethods...)),
		field("agentCard", &result.AgentCard, d.resource),
		field("server", &result.Server, d.endpoint),
		field("parameters", &result.Parameters, d.mapOperand),
	)
	if !at.has("agentCard") && !at.has("server") {
		d.problem(at, CodeRequired, fmt.Sprintf("%s needs \"agentCard\" or \"server\".", label(at.pointer)), "")
	}
	return result
}

var (
	mcpObject = object{required: []string{"method", "transport"},
		hints: map[string]string{"http": "Write transport: {http: …}.", "stdio": "Write transport: {stdio: …}."}}
	mcpMethods = []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
		"resources/templates/list"}
	mcpStdioObject = object{required: []string{"command"}, hints: misplaced}
)

func (d *decoder) mcpCall(at location) *MCPCall {
	result := &MCPCall{Pointer: at.pointer, ProtocolVersion: "2025-06-18"}
	d.object(at, &mcpObject,
		field("protocolVersion", &result.ProtocolVersion, d.filled),
		field("method", &result.Method, d.oneOf(mcpMethods...)),
		field("parameters", &result.Parameters, d.mapOperand),
		field("timeout", &result.Timeout, d.duration),
		property{"transport", func(value location) { d.transport(value, result) }},
		property{"client", func(value location) { d.mcpClient(value, result) }},
	)
	return result
}

// mcpClient reads the client. Up to 1.0.3 the schema asked for `description` where later it
// asks for `version`.
func (d *decoder) mcpClient(at location, result *MCPCall) {
	d.object(at, &object{required: []string{"name"}},
		field("name", &result.ClientName, d.filled),
		field("version", &result.ClientVersion, d.filled),
		property{"description", func(value location) {
			d.text(value)
			d.warning(value, CodeDeprecated, `"description" of an MCP client means nothing.`, `Give its "version".`)
		}},
	)
	if at.shape == shapeObject && !at.has("description") {
		d.require(at, "version")
	}
}

func (d *decoder) transport(at location, result *MCPCall) {
	d.object(at, &object{},
		field("http", &result.HTTP, d.mcpHTTP),
		field("stdio", &result.Stdio, d.mcpStdio),
		property{"options", func(value location) {
			result.Options = d.scalarMapOperand(value)
			d.warning(value, CodeUnused, `"options" of the transport mean nothing here; they are ignored.`, `Remove them. Timeouts belong in "timeout", headers in "http".`)
		}},
	)
	d.exactlyOne(at, "http", "stdio")
}

func (d *decoder) mcpHTTP(at location) *MCPHTTP {
	result := &MCPHTTP{Pointer: at.pointer}
	d.object(at, &object{required: []string{"endpoint"}},
		field("endpoint", &result.Endpoint, d.endpoint),
		field("headers", &result.Headers, d.scalarMapOperand),
	)
	return result
}

func (d *decoder) mcpStdio(at location) *MCPStdio {
	result := &MCPStdio{Pointer: at.pointer}
	d.object(at, &mcpStdioObject,
		field("command", &result.Command, d.filledOperand),
		field("arguments", &result.Arguments, d.argumentList),
		field("environment", &result.Environment, d.scalarMapOperand),
	)
	return result
}
