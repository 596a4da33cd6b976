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

var httpObject = object{known: []string{"method", "endpoint", "headers", "query", "body", "output", "redirect"}, required: []string{"method", "endpoint"},
	hints: map[string]string{
		"uri": "The address of the call is `endpoint`.", "url": "The address of the call is `endpoint`.",
		"authentication": "Write endpoint: {uri: …, authentication: …}.", "params": `Did you mean "query"?`, "data": `Did you mean "body"?`,
		"timeout": "Put `timeout` beside `call` and `with`.",
	}}

func (d *decoder) httpCall(at location) *HTTPCall {
	result := &HTTPCall{Pointer: at.pointer, Output: OutputContent}
	for key, value := range d.fields(at, &httpObject) {
		switch key {
		case "method":
			result.Method = d.filledOperand(value)
		case "endpoint":
			result.Endpoint = d.endpoint(value)
		case "headers":
			result.Headers = d.scalarMapOperand(value)
		case "query":
			result.Query = d.scalarMapOperand(value)
		case "body":
			result.Body = d.operand(value)
		case "output":
			result.Output = d.callOutput(value)
		case "redirect":
			result.Redirect = d.boolean(value, false)
		}
	}
	return result
}

func (d *decoder) callOutput(at location) string {
	return d.oneOf(at, OutputContent, OutputRaw, OutputResponse)
}

var openAPIObject = object{known: []string{"document", "operationId", "parameters", "authentication", "output", "redirect"}, required: []string{"document", "operationId"},
	hints: map[string]string{"operation": `Did you mean "operationId"?`, "endpoint": "Write document: {endpoint: …}."}}

func (d *decoder) openAPICall(at location) *OpenAPICall {
	result := &OpenAPICall{Pointer: at.pointer, Output: OutputContent}
	for key, value := range d.fields(at, &openAPIObject) {
		switch key {
		case "document":
			result.Document = d.resource(value)
		case "operationId":
			result.OperationID = d.filledOperand(value)
		case "parameters":
			result.Parameters = d.mapOperand(value)
		case "authentication":
			result.Authentication = d.authentication(value)
		case "output":
			result.Output = d.callOutput(value)
		case "redirect":
			result.Redirect = d.boolean(value, false)
		}
	}
	return result
}

var (
	grpcObject    = object{known: []string{"proto", "service", "method", "arguments"}, required: []string{"proto", "service", "method"}}
	serviceObject = object{known: []string{"name", "host", "port", "authentication"}, required: []string{"name", "host"}}
)

func (d *decoder) grpcCall(at location) *GRPCCall {
	result := &GRPCCall{Pointer: at.pointer}
	for key, value := range d.fields(at, &grpcObject) {
		switch key {
		case "proto":
			result.Proto = d.resource(value)
		case "service":
			d.grpcService(value, result)
		case "method":
			result.Method = d.filled(value)
		case "arguments":
			result.Arguments = d.mapOperand(value)
		}
	}
	return result
}

func (d *decoder) grpcService(at location, result *GRPCCall) {
	for key, value := range d.fields(at, &serviceObject) {
		switch key {
		case "name":
			result.Service = d.filled(value)
		case "host":
			result.Host = d.uri(value)
		case "port":
			result.Port, _ = d.integer(value, 0, maxPort)
		case "authentication":
			result.Authentication = d.authentication(value)
		}
	}
}

var (
	asyncAPIObject = object{known: []string{"document", "channel", "operation", "server", "protocol", "message", "subscription", "authentication"},
		required: []string{"document"}, hints: map[string]string{"operationRef": `Did you mean "operation"?`, "payload": "Write message: {payload: …}."}}
	serverObject  = object{known: []string{"name", "variables"}, required: []string{"name"}, hint: "Write {name: …}."}
	messageObject = object{known: []string{"payload", "headers"}}

	protocols = []string{"amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5",
		"nats", "pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws"}
)

func (d *decoder) asyncAPICall(at location) *AsyncAPICall {
	result := &AsyncAPICall{Pointer: at.pointer}
	for key, value := range d.fields(at, &asyncAPIObject) {
		switch key {
		case "document":
			result.Document = d.resource(value)
		case "channel":
			result.Channel = d.filled(value)
		case "operation":
			result.Operation = d.filled(value)
		case "server":
			for key, value := range d.fields(value, &serverObject) {
				if key == "name" {
					result.ServerName = d.filled(value)
				} else {
					result.ServerVariables = d.plainMapOperand(value)
				}
			}
		case "protocol":
			result.Protocol = d.oneOf(value, protocols...)
		case "message":
			result.Message = d.message(value)
		case "subscription":
			result.Subscription = d.subscription(value)
		case "authentication":
			result.Authentication = d.authentication(value)
		}
	}
	d.exactlyOne(at, "channel", "operation")
	d.exactlyOne(at, "message", "subscription")
	return result
}

func (d *decoder) message(at location) *Message {
	result := &Message{Pointer: at.pointer}
	for key, value := range d.fields(at, &messageObject) {
		if key == "payload" {
			result.Payload = d.mapOperand(value)
		} else {
			result.Headers = d.mapOperand(value)
		}
	}
	return result
}

var (
	subscriptionObject = object{known: []string{"filter", "consume", "foreach"}, required: []string{"consume"}}
	consumeObject      = object{known: []string{"amount", "while", "until", "for"}}
)

func (d *decoder) subscription(at location) *Subscription {
	result := &Subscription{Pointer: at.pointer}
	for key, value := range d.fields(at, &subscriptionObject) {
		switch key {
		case "filter":
			result.Filter = d.expressionOperand(value)
		case "consume":
			d.consume(value, result)
		case "foreach":
			result.Foreach = d.iterator(value)
		}
	}
	return result
}

// maxAmount bounds the messages of one subscription.
const maxAmount = 1_000_000

func (d *decoder) consume(at location, result *Subscription) {
	for key, value := range d.fields(at, &consumeObject) {
		switch key {
		case "amount":
			if amount, ok := d.integer(value, 1, maxAmount); ok {
				result.Amount = &amount
			}
		case "while":
			result.While = d.expressionOperand(value)
		case "until":
			result.Until = d.expressionOperand(value)
		case "for":
			result.For = d.duration(value)
		}
	}
	d.exactlyOne(at, "amount", "while", "until")
}

var (
	a2aObject  = object{known: []string{"method", "agentCard", "server", "parameters"}, required: []string{"method"}}
	a2aMethods = []string{"message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
		"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"}
)

func (d *decoder) a2aCall(at location) *A2ACall {
	result := &A2ACall{Pointer: at.pointer}
	for key, value := range d.fields(at, &a2aObject) {
		switch key {
		case "method":
			result.Method = d.oneOf(value, a2aMethods...)
		case "agentCard":
			result.AgentCard = d.resource(value)
		case "server":
			result.Server = d.endpoint(value)
		case "parameters":
			result.Parameters = d.mapOperand(value)
		}
	}
	if !at.has("agentCard") && !at.has("server") {
		d.problem(at, CodeRequired, fmt.Sprintf("%s needs \"agentCard\" or \"server\".", label(at.pointer)), "")
	}
	return result
}

var (
	mcpObject = object{known: []string{"protocolVersion", "method", "parameters", "timeout", "transport", "client"}, required: []string{"method", "transport"},
		hints: map[string]string{"http": "Write transport: {http: …}.", "stdio": "Write transport: {stdio: …}."}}
	mcpMethods = []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
		"resources/templates/list"}
	transportObject = object{known: []string{"http", "stdio", "options"}}
	mcpHTTPObject   = object{known: []string{"endpoint", "headers"}, required: []string{"endpoint"}}
	mcpStdioObject  = object{known: []string{"command", "arguments", "environment"}, required: []string{"command"}, hints: misplaced}
	mcpClientObject = object{known: []string{"name", "version", "description"}, required: []string{"name"}}
)

func (d *decoder) mcpCall(at location) *MCPCall {
	result := &MCPCall{Pointer: at.pointer, ProtocolVersion: "2025-06-18"}
	for key, value := range d.fields(at, &mcpObject) {
		switch key {
		case "protocolVersion":
			result.ProtocolVersion = d.filled(value)
		case "method":
			result.Method = d.oneOf(value, mcpMethods...)
		case "parameters":
			result.Parameters = d.mapOperand(value)
		case "timeout":
			result.Timeout = d.duration(value)
		case "transport":
			d.transport(value, result)
		case "client":
			d.mcpClient(value, result)
		}
	}
	return result
}

// mcpClient reads the client. Up to 1.0.3 the schema asked for `description` where later it
// asks for `version`.
func (d *decoder) mcpClient(at location, result *MCPCall) {
	for key, value := range d.fields(at, &mcpClientObject) {
		switch key {
		case "name":
			result.ClientName = d.filled(value)
		case "version":
			result.ClientVersion = d.filled(value)
		case "description":
			d.text(value)
			d.warning(value, CodeDeprecated, `"description" of an MCP client means nothing.`, `Give its "version".`)
		}
	}
	if at.shape == shapeObject && !at.has("description") {
		d.require(at, "version")
	}
}

func (d *decoder) transport(at location, result *MCPCall) {
	for key, value := range d.fields(at, &transportObject) {
		switch key {
		case "http":
			result.HTTP = d.mcpHTTP(value)
		case "stdio":
			result.Stdio = d.mcpStdio(value)
		case "options":
			result.Options = d.scalarMapOperand(value)
			d.warning(value, CodeUnused, `"options" of the transport mean nothing here; they are ignored.`, `Remove them. Timeouts belong in "timeout", headers in "http".`)
		}
	}
	d.exactlyOne(at, "http", "stdio")
}

func (d *decoder) mcpHTTP(at location) *MCPHTTP {
	result := &MCPHTTP{Pointer: at.pointer}
	for key, value := range d.fields(at, &mcpHTTPObject) {
		if key == "endpoint" {
			result.Endpoint = d.endpoint(value)
		} else {
			result.Headers = d.scalarMapOperand(value)
		}
	}
	return result
}

func (d *decoder) mcpStdio(at location) *MCPStdio {
	result := &MCPStdio{Pointer: at.pointer}
	for key, value := range d.fields(at, &mcpStdioObject) {
		switch key {
		case "command":
			result.Command = d.filledOperand(value)
		case "arguments":
			result.Arguments = d.argumentList(value)
		case "environment":
			result.Environment = d.scalarMapOperand(value)
		}
	}
	return result
}
