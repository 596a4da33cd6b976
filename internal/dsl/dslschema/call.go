package dslschema

import "slices"

// calls are the calls whose arguments the language defines, each with its part.
var calls = []struct{ name, arguments, about string }{
	{"http", "httpArguments", "The request to send."},
	{"openapi", "openapiArguments", "The operation to call."},
	{"grpc", "grpcArguments", "The method to call."},
	{"asyncapi", "asyncapiArguments", "The message to send, or the messages to wait for."},
	{"a2a", "a2aArguments", "What to ask of the agent."},
	{"mcp", "mcpArguments", "What to ask of the MCP server."},
	{humanFunction, "humanArguments", "What to ask of a person."},
}

var (
	protocols = []string{"amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5",
		"nats", "pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws"}
	a2aMethods = []string{"message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
		"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"}
	mcpMethods = []string{"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
		"resources/templates/list"}
)

func outputOfCall() schema {
	return choice("What is given on: the content, the content as Base64, or the whole response.", "content", "raw", "response").with("default", "content")
}

func redirectOfCall() schema {
	return flag("Whether a redirection (3xx) counts as success.", false)
}

func callParts() schema {
	return slices.Concat(httpParts(), asyncAPIParts(), mcpParts(), humanParts(), schema{
		{"grpcArguments", closed("A method of a gRPC service.", []string{"proto", "service", "method"},
			property("proto", ref("resource", "The .proto file that describes the service.")),
			property("service", ref("grpcService", "The service.")),
			property("method", filled("The method to call.")),
			property("arguments", ref("map", "The message to send.")),
		)},
		{"grpcService", closed("A gRPC service.", []string{"name", "host"},
			property("name", filled("Its name, with its package.")),
			property("host", ref("uri", "The host that serves it.")),
			property("port", whole("The port of the host.", 0, 65535)),
			property("authentication", ref("authentication", "How to authenticate there.")),
		)},
		{"a2aArguments", closed("What to ask of an agent.", []string{"method"},
			property("method", choice("The method of the protocol.", a2aMethods...)),
			property("agentCard", ref("resource", "The card that describes the agent.")),
			property("server", ref("endpoint", "The address of the agent.")),
			property("parameters", ref("map", "The parameters of the method.")),
		).with("anyOf", oneOf("agentCard", "server"))},
	})
}

func httpParts() schema {
	return schema{
		{"httpArguments", closed("A request.", []string{"method", "endpoint"},
			property("method", filled("The method, such as get or post.").with("examples", []string{"get", "post", "put", "patch", "delete"})),
			property("endpoint", ref("endpoint", "The address, and how to authenticate there.")),
			property("headers", ref("values", "Headers of the request.")),
			property("query", ref("values", "Parameters of the query.")),
			property("body", anything("The body of the request.")),
			property("output", outputOfCall()),
			property("redirect", redirectOfCall()),
		)},
		{"openapiArguments", closed("An operation of an OpenAPI document.", []string{"document", "operationId"},
			property("document", ref("resource", "The OpenAPI document.")),
			property("operationId", filled("The operation to call.")),
			property("parameters", ref("map", "The parameters of the operation.")),
			property("authentication", ref("authentication", "How to authenticate at the service.")),
			property("output", outputOfCall()),
			property("redirect", redirectOfCall()),
		)},
	}
}

func asyncAPIParts() schema {
	return schema{
		{"asyncapiArguments", closed("Messages of an AsyncAPI document.", []string{"document"},
			property("document", ref("resource", "The AsyncAPI document.")),
			property("channel", filled("The channel.")),
			property("operation", filled("The operation.")),
			property("server", ref("asyncapiServer", "The server of the document to use.")),
			property("protocol", choice("The protocol to use, if the document has servers for several.", protocols...)),
			property("message", ref("message", "The message to send.")),
			property("subscription", ref("subscription", "The messages to wait for.")),
			property("authentication", ref("authentication", "How to authenticate at the server.")),
		).with("allOf", []schema{{{"oneOf", oneOf("channel", "operation")}}, {{"oneOf", oneOf("message", "subscription")}}})},
		{"asyncapiServer", closed("A server of the document.", []string{"name"},
			property("name", filled("Its name in the document.")),
			property("variables", open("Values for the variables of its address.")),
		)},
		{"message", closed("A message.", nil,
			property("payload", ref("map", "What it says.")),
			property("headers", ref("map", "Its headers.")),
		)},
		{"subscription", closed("Messages to wait for.", []string{"consume"},
			property("filter", ref("expression", "Take only messages for which this is true.")),
			property("consume", ref("consumption", "How many to take, or for how long.")),
			property("foreach", ref("iterator", "What is done with every message, as it comes in.")),
		)},
		{"consumption", closed("How many messages to take.", nil,
			property("amount", whole("This many.", 1, 1_000_000)),
			property("while", ref("expression", "As long as this is true.")),
			property("until", ref("expression", "Until this is true.")),
			property("for", ref("duration", "At most for this long.")),
		).with("oneOf", oneOf("amount", "while", "until"))},
	}
}

func mcpParts() schema {
	return schema{
		{"mcpArguments", closed("What to ask of an MCP server.", []string{"method", "transport"},
			property("protocolVersion", filled("The version of the protocol.").with("default", "2025-06-18")),
			property("method", choice("The method of the protocol.", mcpMethods...)),
			property("parameters", ref("map", "The parameters of the method.")),
			property("timeout", ref("duration", "The time that one request takes at most.")),
			property("transport", ref("mcpTransport", "How the server is reached.")),
			property("client", ref("mcpClient", "Who asks.")),
		)},
		{"mcpClient", closed("Who asks.", []string{"name"},
			property("name", filled("The name of the client.")),
			property("version", filled("The version of the client.")),
			property("description", text("Means nothing; give the version.").with("deprecated", true)),
		).with("anyOf", oneOf("version", "description"))},
		{"mcpTransport", closed("How an MCP server is reached: by http or stdio.", nil,
			property("http", ref("mcpHTTP", "At an address.")),
			property("stdio", ref("mcpStdio", "As a program that is started.")),
			property("options", ref("values", "Mean nothing here.").with("deprecated", true)),
		).with("oneOf", oneOf("http", "stdio"))},
		{"mcpHTTP", closed("An MCP server at an address.", []string{"endpoint"},
			property("endpoint", ref("endpoint", "The address, and how to authenticate there.")),
			property("headers", ref("values", "Headers of every request.")),
		)},
		{"mcpStdio", closed("An MCP server that is started as a program.", []string{"command"},
			property("command", filled("The program.")),
			property("arguments", ref("argumentList", "Its arguments.")),
			property("environment", ref("values", "Its environment variables.")),
		)},
	}
}
