package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	mcp "github.com/modelcontextprotocol/go-sdk/mcp"
)

// newTools is an MCP server of the official SDK with something behind each of the methods.
func newTools() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "things", Version: "1"}, nil)
	anything := json.RawMessage(`{"type":"object"}`)
	said := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	tools := map[string]mcp.ToolHandler{
		"add": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var given struct{ A, B int }
			if err := json.Unmarshal(req.Params.Arguments, &given); err != nil {
				return nil, err
			}
			return said("%d", given.A+given.B), nil
		},
		"broken": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := said("no paper")
			answer.IsError = true
			return answer, nil
		},
		"who": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			client := req.Session.InitializeParams()
			return said("%s %s %s", client.ClientInfo.Name, client.ClientInfo.Version, client.ProtocolVersion), nil
		},
		"environment": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return said("%s %s", os.Getenv("GREETING"), strings.Join(os.Args[1:], ",")), nil
		},
		"wait": func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	for name, handler := range tools {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: anything}, handler)
	}
	server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "for " + req.Params.Arguments["name"], Messages: []*mcp.PromptMessage{}}, nil
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "a page"}}}, nil
	}
	server.AddResource(&mcp.Resource{Name: "page", URI: "things://page"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "pages", URITemplate: "things://pages/{n}"}, read)
	return server
}

// mcpHandler is mcp.example.com: /mcp is the server, any other path is forbidden.
func mcpHandler() http.Handler {
	server := newTools()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not for you", http.StatusForbidden) })
	return mux
}

// serveTools is this program as an MCP server over stdio.
func serveTools() int {
	if err := newTools().Run(context.Background(), &mcp.StdioTransport{}); err != nil && !strings.Contains(err.Error(), "EOF") {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// agent repeats what it hears in four events: the task, that it works, an artifact, the end.
type agent struct{}

func (agent) Execute(ctx context.Context, req *a2asrv.RequestContext, q eventqueue.Queue) error {
	said, _ := req.Message.Parts[0].(a2a.TextPart)
	done := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCompleted, nil)
	done.Final = true
	events := []a2a.Event{
		a2a.NewSubmittedTask(req, req.Message), a2a.NewStatusUpdateEvent(req, a2a.TaskStateWorking, nil),
		a2a.NewArtifactEvent(req, a2a.TextPart{Text: "heard " + said.Text + " from " + string(req.Message.Role)}), done,
	}
	for _, event := range events {
		if err := q.Write(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

func (agent) Cancel(ctx context.Context, req *a2asrv.RequestContext, q eventqueue.Queue) error {
	return q.Write(ctx, a2a.NewStatusUpdateEvent(req, a2a.TaskStateCanceled, nil))
}

// agentHandler is agent.example.com: /card.json leads to /invoke; /gone is not there any more.
func agentHandler() http.Handler {
	card := &a2a.AgentCard{
		Name: "things", PreferredTransport: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0", URL: "https://agent.example.com/invoke",
		Capabilities: a2a.AgentCapabilities{Streaming: true},
	}
	mux := http.NewServeMux()
	mux.Handle("/invoke", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(agent{})))
	mux.Handle("/card.json", a2asrv.NewStaticAgentCardHandler(card))
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "moved away", http.StatusGone) })
	return mux
}
