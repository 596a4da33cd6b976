package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// session is one connection to a server. One request at a time.
type session struct {
	conn sdk.Connection
	last int // id of the last request
}

// protocolVersions are those whose seven methods are the same to a client that passes them
// through.
var protocolVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// exchange begins the session and makes the call. The error is a *jsonrpc.Error where the
// server answered one, a *machine.Fault where its answer is unusable, else the connection's.
// agreed is called with the version of the protocol once it is known.
func (s *session) exchange(ctx context.Context, req *request, agreed func(version string)) (value.Value, error) {
	begun, err := s.request(ctx, "initialize", map[string]any{
		"protocolVersion": req.protocolVersion, "capabilities": map[string]any{}, "clientInfo": req.client,
	})
	if err != nil {
		return nil, err
	}
	var hello struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(begun, &hello); err != nil || hello.ProtocolVersion == "" {
		return nil, failure.Runtime("MCP server cannot be used", "the server's answer to initialize names no protocol version")
	}
	if hello.ProtocolVersion != req.protocolVersion && !slices.Contains(protocolVersions, hello.ProtocolVersion) {
		return nil, failure.Runtime("MCP server cannot be used",
			fmt.Sprintf("the server speaks version %q of the protocol, the task asks for %q", excerpt.Clip(hello.ProtocolVersion, failure.ClipBytes), req.protocolVersion))
	}
	agreed(hello.ProtocolVersion)
	if err := s.conn.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized"}); err != nil {
		return nil, err
	}
	raw, err := s.request(ctx, req.method, req.parameters)
	if err != nil {
		return nil, err
	}
	value, err := value.Parse(raw, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, failure.Runtime("MCP server answered unusable data", fmt.Sprintf("the result of %s: %v", req.method, err))
	}
	return value, nil
}

// request sends one request and returns its result.
func (s *session) request(ctx context.Context, method string, parameters value.Value) (json.RawMessage, error) {
	s.last++
	id, err := jsonrpc.MakeID(float64(s.last))
	if err != nil {
		return nil, err
	}
	out := &jsonrpc.Request{ID: id, Method: method}
	if parameters != nil {
		out.Params = value.Marshal(parameters)
	}
	if err := s.conn.Write(ctx, out); err != nil {
		return nil, err
	}
	for {
		in, err := s.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch in := in.(type) {
		case *jsonrpc.Response:
			if in.ID != id {
				continue // of a request that the server makes up
			}
			if in.Error != nil {
				return nil, in.Error
			}
			return in.Result, nil
		case *jsonrpc.Request:
			if err := s.answer(ctx, in); err != nil {
				return nil, err
			}
		}
	}
}

// abandon notifies the server that the answer of the last request is not wanted any more.
func (s *session) abandon(ctx context.Context) {
	_ = s.conn.Write(ctx, &jsonrpc.Request{
		Method: "notifications/cancelled",
		Params: value.Marshal(map[string]any{"requestId": s.last, "reason": "the call was cancelled or took too long"}),
	})
}

// answer answers what the server asks: a ping, and nothing else.
func (s *session) answer(ctx context.Context, in *jsonrpc.Request) error {
	if !in.IsCall() {
		return nil
	}
	response := &jsonrpc.Response{ID: in.ID, Result: json.RawMessage("{}")}
	if in.Method != "ping" {
		response.Result = nil
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client offers no " + excerpt.Clip(in.Method, failure.ClipBytes)}
	}
	return s.conn.Write(ctx, response)
}

// answeredFault is the fault of an error that the server itself told; nil: it told none.
func answeredFault(method string, err error) *machine.Fault {
	var fault *machine.Fault
	if errors.As(err, &fault) {
		return fault
	}
	var answered *jsonrpc.Error
	if !errors.As(err, &answered) {
		return nil
	}
	detail := fmt.Sprintf("%s: the server answered error %d: %s", method, answered.Code, excerpt.Clip(answered.Message, failure.ClipBytes))
	if len(answered.Data) > 0 {
		detail += " " + excerpt.Clip(string(answered.Data), failure.ClipBytes)
	}
	return failure.Runtime("MCP server answered an error", detail)
}
