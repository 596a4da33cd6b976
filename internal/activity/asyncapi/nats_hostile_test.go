package asyncapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/machine"
)

// hostile is a server that behaves until a client has subscribed or published, and then says
// what it wants. An empty greeting is that of a good server.
func hostile(t *testing.T, greeting, says string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	if greeting == "" {
		greeting = `INFO {"headers":true,"max_payload":1048576}` + "\r\n"
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go talk(conn, greeting, says)
		}
	}()
	return "nats://" + listener.Addr().String()
}

// talk ends when the other side does.
func talk(conn net.Conn, greeting, says string) {
	defer conn.Close()
	if _, err := fmt.Fprint(conn, greeting); err != nil {
		return
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer := ""
		switch operation, _, _ := strings.Cut(lines.Text(), " "); operation {
		case "PING":
			answer = "PONG\r\n"
		case "SUB", "HPUB", "PUB":
			answer = says
		}
		if _, err := fmt.Fprint(conn, answer); err != nil {
			return
		}
	}
}

// The library makes room for what a server announces; with these sizes it would end the process.
func TestHostileNATSServerEndsTheCallAlone(t *testing.T) {
	r := runner(t, soon)
	for says, want := range map[string]struct{ kind, detail string }{
		"MSG ticks 1 9000000000000000000\r\nabc": {machine.ErrRuntime, "more than 64 KiB, the limit of messages"},
		"MSG ticks 1 65537\r\nabc":               {machine.ErrRuntime, "more than 64 KiB, the limit of messages"},
		"HMSG ticks 1 99999999 99999999\r\nabc":  {machine.ErrCommunication, "65536 bytes, the limit of headers"},
		"MSG " + strings.Repeat("x", 10_000):     {machine.ErrCommunication, "8192 bytes, the limit of lines"},
		"MSG ticks 1 -1\r\nabc":                  {machine.ErrCommunication, "numbers that cannot be"},
		"GET / HTTP/1.1\r\n":                     {machine.ErrCommunication, "no operation of NATS"},
	} {
		document := pinned(hostile(t, "", says), "nats", "")
		subscribe(t, r, object{"document": document}).fault(want.kind, 500, want.detail)
		wantFault(t, publish(t, r, document, object{"payload": 1}, nil), want.kind, 500, want.detail)
	}
}

func TestHostileNATSGreeting(t *testing.T) {
	r := runner(t, soon)
	for greeting, detail := range map[string]string{
		"INFO " + strings.Repeat("x", 1<<20) + "\r\n": "1048576 bytes, the limit of lines",
		"MSG ticks 1 9000000000000000000\r\nabc":      "64 KiB",
		"SSH-2.0-Open\r\n":                            "no operation of NATS",
		"PING\r\n":                                    "INFO",
		"INFO {\"tls_required\":true}\r\n+OK\r\n":     "in the clear",
		"INFO {\"headers\":true,\"max_payload\":999}\r\nMSG ticks 1 9000000000000000000\r\nabc": "64 KiB",
	} {
		got := publish(t, r, pinned(hostile(t, greeting, ""), "nats", ""), object{"payload": 1}, nil)
		if got.Fault == nil || !strings.Contains(got.Fault.Detail, detail) {
			t.Errorf("%.40q: %v, want %q", greeting, got.Fault, detail)
		}
	}
}

func TestNATSOverTLS(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	s := serveNATS(t, -1, func(o *server.Options) { o.TLSConfig = certified.TLS.Clone() })
	plain := serveNATS(t, -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	trusting := runnerWith(t, soon, func(c *nats.Config, _ *credential.Config) {
		c.TLS = certified.Client().Transport.(*http.Transport).TLSClientConfig
	})
	for _, scheme := range []string{"tls", "nats"} { // the server demands TLS in any case
		document := pinned(fmt.Sprintf("%s://127.0.0.1:%d", scheme, port), "nats", "")
		all := subscribe(t, trusting, object{"document": document})
		listening(t, s, "c", 1)
		wantOK(t, publish(t, trusting, document, object{"payload": 1}, nil))
		all.want(`{"correlationId":null,"headers":{"Nats-Msg-Id":"key-1"},"payload":1}`)
		all.stop()
		listening(t, s, "c", 0)
		wantFault(t, publish(t, runner(t, soon), document, object{"payload": 1}, nil), machine.ErrCommunication, 500, "certificate")
	}
	wantFault(t, publish(t, trusting, pinned(fmt.Sprintf("tls://127.0.0.1:%d", plain.Addr().(*net.TCPAddr).Port), "nats", ""),
		object{"payload": 1}, nil), machine.ErrCommunication, 500, "secure")
}
