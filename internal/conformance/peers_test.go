package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	natsserver "github.com/nats-io/nats-server/v2/server"
	nats "github.com/nats-io/nats.go"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/docker"
)

// peers are the servers of protocols that the scenarios of a test share:
//
//	auth.example.com:80    OAuth 2.0, OpenID Connect and digest (internal/peer/authserver)
//	nats.example.com:4222  a NATS server; on "ticks" comes {"tick": true} all the time
//	DOCKER_HOST            a container engine with the image box:1 (TestMain chooses the place)
//
// Others are started with each stand-in (join).
type peers struct {
	auth    *peer.Auth
	key     clientKey
	nats    *natsserver.Server
	engine  *docker.Engine
	letters mailbox
}

func newPeers(t *testing.T) *peers {
	t.Helper()
	p := &peers{key: newClientKey(t), letters: mailbox{arrived: make(chan struct{}), last: map[string]any{}}}
	p.auth = peer.StartAuthAs(t, p.key.public, "http://auth.example.com")
	p.startNATS(t)
	p.engine = docker.StartAt(t, strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://"), programs)
	return p
}

func (p *peers) startNATS(t *testing.T) {
	t.Helper()
	server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go server.Start()
	t.Cleanup(server.Shutdown)
	if !server.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	p.nats = server
	conn, err := nats.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	_, err = conn.Subscribe("box.>", func(m *nats.Msg) {
		headers := map[string]any{}
		for name, values := range m.Header {
			headers[name] = strings.Join(values, ",")
		}
		p.letters.put(m.Subject, headers, m.Data)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = conn.Publish("ticks", []byte(`{"tick":true}`))
			}
		}
	}()
}

// mailbox keeps the last message to each address, so that a scenario can look at what it sent.
type mailbox struct {
	mu      sync.Mutex
	last    map[string]any
	arrived chan struct{} // closed at the next message
}

func (m *mailbox) put(address string, headers map[string]any, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var payload any = string(body)
	if json.Valid(body) {
		payload = json.RawMessage(body)
	}
	m.last[address] = map[string]any{"headers": headers, "payload": payload}
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// get waits for the first message to an address.
func (m *mailbox) get(ctx context.Context, address string) any {
	for {
		m.mu.Lock()
		letter, arrived := m.last[address], m.arrived
		m.mu.Unlock()
		if letter != nil {
			return letter
		}
		select {
		case <-ctx.Done():
			return nil
		case <-arrived:
		}
	}
}

// join makes the peers reachable beside the stand-in, and starts those that need its
// certificate or are cheap.
func (s *standIn) join(t *testing.T, p *peers) {
	t.Helper()
	s.peers = p
	authority, auth := p.nats.Addr().(*net.TCPAddr), strings.TrimPrefix(p.auth.URL, "http://")
	s.further = []string{
		"auth.example.com:80:" + auth,
		"nats.example.com:4222:127.0.0.1:" + strconv.Itoa(authority.Port),
		"nobody.example.com:443:127.0.0.1:1",
		"grpc.example.com:50051:" + serveGRPC(t, nil),
		"grpc.example.com:443:" + serveGRPC(t, &s.certificate),
	}
	s.handlers = map[string]http.Handler{
		"mcp.example.com": mcpHandler(), "agent.example.com": agentHandler(),
		"ws.example.com": http.HandlerFunc(s.serveSocket), "tokens.example.com": http.HandlerFunc(serveTokens),
	}
}

// servePeers answers what is none of the stand-in's own:
//
//	things.example.com/mailbox/ADDRESS  POST and PUT leave a message, GET waits for one
//	things.example.com/events/…         server-sent events: {"room": 1}, {"room": 2}, {"room": 1} …
//	things.example.com/lines/N          the lines {"n": 1} to {"n": N}
func (s *standIn) servePeers(w http.ResponseWriter, r *http.Request) bool {
	if handler := s.handlers[r.Host]; handler != nil {
		handler.ServeHTTP(w, r)
		return true
	}
	verb, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if s.peers == nil || r.Host != "things.example.com" {
		return false
	}
	switch verb {
	case "mailbox":
		s.serveMailbox(w, r, rest)
	case "events":
		w.Header().Set("Content-Type", "text/event-stream")
		ticking(w, r, func(n int) string { return fmt.Sprintf("data: {\"room\":%d}\n\n", 1+n%2) })
	case "lines":
		w.Header().Set("Content-Type", "application/x-ndjson")
		last, _ := strconv.Atoi(rest)
		ticking(w, r, func(n int) string {
			if n >= last {
				return ""
			}
			return fmt.Sprintf("{\"n\":%d}\n", n+1)
		})
	default:
		return false
	}
	return true
}

func (s *standIn) serveMailbox(w http.ResponseWriter, r *http.Request, address string) {
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		headers := map[string]any{"Method": r.Method, "Content-Type": r.Header.Get("Content-Type"), "X-Trace": r.Header.Get("X-Trace")}
		s.peers.letters.put(address, headers, body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.peers.letters.get(ctx, address))
}

// ticking writes the text of 0, 1 and so on, one each 2 ms, until the caller leaves.
func ticking(w http.ResponseWriter, r *http.Request, text func(n int) string) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		_, _ = io.WriteString(w, text(n))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// serveSocket is ws.example.com: it keeps what comes to /box/…, and sends {"tick": true} to
// those who listen at /ticks.
func (s *standIn) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	if r.URL.Path != "/ticks" {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		s.peers.letters.put("ws"+r.URL.Path, map[string]any{"X-Trace": r.Header.Get("X-Trace")}, data)
		_, _, _ = conn.Read(r.Context()) // answers the closing handshake
		return
	}
	ctx := conn.CloseRead(r.Context())
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for conn.Write(ctx, websocket.MessageText, []byte(`{"tick":true}`)) == nil {
		<-tick.C
	}
}

// toolServer is the name of this program as an MCP server over stdio, in a folder of PATH:
// commands of workflows may read and execute nothing else below the temporary folder.
const toolServer = "things-tools"

// prepareTools makes that folder and chooses the place of the container engine. Servers of
// this test process inherit both by their environment.
func prepareTools() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Link(self, filepath.Join(dir, toolServer)); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, toolServer), data, 0o755); err != nil {
			return nil, err
		}
	}
	_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	_ = os.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "engine.sock"))
	return func() { _ = os.RemoveAll(dir) }, nil
}

// named counts the containers that are there by their names.
func (p *peers) named(count, pattern string) error {
	name := regexp.MustCompile("^" + pattern + " ")
	there := p.engine.Left()
	n := 0
	for _, c := range there {
		if name.MatchString(c) {
			n++
		}
	}
	if strconv.Itoa(n) != count {
		return fmt.Errorf("%d containers are, want %s, among %q", n, count, there)
	}
	return nil
}

// programs are what containers of box:1 run.
var programs = map[string]docker.Program{
	// show tells what it was given, on both streams, and ends with the code in CODE.
	"show": func(p *docker.Process) int {
		stdin, _ := io.ReadAll(p.Stdin)
		fmt.Fprintf(p.Stdout, "%s|%s|%s\n", strings.Join(p.Argv, " "), p.Env["GREETING"], stdin)
		fmt.Fprintln(p.Stderr, "a warning")
		code, _ := strconv.Atoi(p.Env["CODE"])
		return code
	},
}
