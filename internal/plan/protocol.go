package plan

import (
	"fmt"
	"slices"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// grpcCall compiles a call of a method of a service (T38). A proto file with a constant
// address is pinned and checked.
func (c *compiler) grpcCall(d *dsl.GRPCCall, at location) *Activity {
	a := &Activity{
		Kind:           dsl.CallGRPC,
		Authentication: c.authentication(d.Authentication, at),
		Constants:      map[string]value.Value{"service": d.Service, "method": d.Method},
	}
	if d.Port != 0 {
		a.Constants["port"] = d.Port
	}
	content := c.resource(a, "proto", ResourceProto, d.Proto, at)
	if content != nil && c.options.CheckProto != nil {
		if err := c.options.CheckProto(content, d.Service, d.Method); err != nil {
			c.fail(d.Proto.Pointer, CodeResource, fmt.Sprintf("The call does not fit the proto file: %s.", err), "")
		}
	}
	c.field(a, "host", d.Host, Text, at)
	c.field(a, "arguments", d.Arguments, Optional, at)
	return a
}

// mcpCall compiles a request to a server of tools. A server over stdio is a process.
func (c *compiler) mcpCall(d *dsl.MCPCall, at location) *Activity {
	a := &Activity{
		Kind: dsl.CallMCP,
		Constants: map[string]value.Value{
			"method": d.Method, "protocolVersion": d.ProtocolVersion,
		},
	}
	if d.ClientName != "" {
		client := map[string]any{"name": d.ClientName}
		if d.ClientVersion != "" {
			client["version"] = d.ClientVersion
		}
		a.Constants["client"] = client
	}
	c.field(a, "parameters", d.Parameters, Object, at)
	if d.Timeout != nil {
		a.Durations = append(a.Durations, DurationField{Name: "timeoutMs", Duration: c.duration(d.Timeout, at)})
	}
	switch {
	case d.HTTP != nil:
		c.address(a, "http", d.HTTP.Endpoint, at)
		a.addIn("http", "headers", c.value(d.HTTP.Headers, at), Object)
	case d.Stdio != nil:
		if !slices.Contains(c.options.Run, "shell") && !slices.Contains(c.options.Run, "mcp") {
			c.runNotAllowed(d.Stdio.Pointer, "call: mcp over stdio", "shell")
		}
		a.addIn("stdio", "command", c.value(d.Stdio.Command, at), Text)
		c.secretArguments(d.Stdio.Arguments)
		a.addIn("stdio", "arguments", c.value(d.Stdio.Arguments, at), Optional)
		a.addIn("stdio", "environment", c.value(d.Stdio.Environment, at), Object)
	}
	return a
}

// a2aCall compiles a request to an agent.
func (c *compiler) a2aCall(d *dsl.A2ACall, at location) *Activity {
	a := &Activity{Kind: dsl.CallA2A, Constants: map[string]value.Value{"method": d.Method}}
	c.address(a, "server", d.Server, at)
	if d.AgentCard != nil {
		c.address(a, "agentCard", d.AgentCard.Endpoint, at)
	}
	c.field(a, "parameters", d.Parameters, Object, at)
	return a
}
