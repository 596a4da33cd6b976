package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The environment variable that makes the test binary an MCP server over stdio, and the kinds
// of servers.
const (
	serverVariable = "TEST_MCP_SERVER"
	serverGood     = "good"
	serverDies     = "dies"
	serverSilent   = "silent"
)

// serveStdio is the server process.
func serveStdio(kind string) int {
	switch kind {
	case serverDies:
		fmt.Fprintln(os.Stderr, "no token was given")
		return 3
	case serverSilent:
		time.Sleep(time.Hour) // not select {}: without cgo that is a deadlock
	}
	if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil && !strings.Contains(err.Error(), "EOF") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newServer is a server of the official SDK with something behind each of the seven methods.
func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	anything := json.RawMessage(`{"type":"object"}`)
	tools := map[string]sdk.ToolHandler{
		"echo": func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: req.Params.Arguments}, nil
		},
		"who": func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			client := req.Session.InitializeParams()
			return text("%s %s %s", client.ClientInfo.Name, client.ClientInfo.Version, client.ProtocolVersion), nil
		},
		"ask": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			err := req.Session.Ping(ctx, nil)
			return text("ping %v", err), nil
		},
		"broken": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{}}, nil
		},
		"large": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("%s", strings.Repeat("x", 2*testBytes)), nil
		},
		"wait": func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"environment": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("%s|%s|%s", os.Getenv("TOKEN"), strings.Join(os.Args[1:], ","), os.Getenv("SERVER_SECRET")), nil
		},
	}
	for name, handler := range tools {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: anything}, handler)
	}
	server.AddPrompt(&sdk.Prompt{Name: "greet"}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Description: "for " + req.Params.Arguments["name"], Messages: []*sdk.PromptMessage{}}, nil
	})
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "content"}}}, nil
	}
	server.AddResource(&sdk.Resource{Name: "page", URI: "test://page"}, read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "pages", URITemplate: "test://pages/{n}"}, read)
	return server
}

func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}
