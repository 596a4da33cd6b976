package asyncapi_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/machine"
)

// serveNATS starts a server in this process. Port -1 is a free one.
func serveNATS(t *testing.T, port int, edit func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true, MaxPayload: 128 << 10}
	if edit != nil {
		edit(options)
	}
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t *testing.T, s *server.Server, options ...client.Option) *client.Conn {
	t.Helper()
	conn, err := client.Connect(s.ClientURL(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// listening waits until the server has so many subscriptions of clients to the subject.
func listening(t *testing.T, s *server.Server, subject string, wanted int) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		infos, err := s.Subsz(&server.SubszOptions{Subscriptions: true, Test: subject, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if infos.Total == wanted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d subscriptions to %s, want %d", infos.Total, subject, wanted)
		}
	}
}

func TestPublishOverNATS(t *testing.T) {
	s := serveNATS(t, -1, func(o *server.Options) { o.Username, o.Password = "u", "p" })
	conn := connect(t, s, client.UserInfo("u", "p"))
	messages, err := conn.SubscribeSync("c")
	if err != nil || conn.Flush() != nil {
		t.Fatal(err)
	}
	r := runner(t, soon)
	basic := object{"authentication": object{"scheme": "basic", "username": "u", "password": "p"}}
	document := pinned(s.ClientURL(), "nats", "")
	wantOK(t, publish(t, r, document, object{"payload": object{"a": 1}, "headers": object{"x-trace": "t", "n": []any{1, 2}}}, basic))
	got, err := messages.NextMsg(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%s %s %s %s", got.Data, got.Header["x-trace"], got.Header["n"], got.Header["Nats-Msg-Id"]); shown != `{"a":1} [t] [1 2] [key-1]` {
		t.Errorf("message %s", shown)
	}
	wantFault(t, publish(t, r, document, object{"payload": 1}, nil), machine.ErrCommunication, 401, "credentials")
	wantFault(t, publish(t, r, document, object{"headers": object{"a:b": 1}}, basic), machine.ErrConfiguration, 400, "a:b")
}

func TestNATSTakesTokensAndTellsWhatIsNotPermitted(t *testing.T) {
	tokens := serveNATS(t, -1, func(o *server.Options) { o.Authorization = "tok" })
	r := runner(t, soon)
	bearer := object{"authentication": object{"scheme": "bearer", "token": "tok"}}
	wantOK(t, publish(t, r, pinned(tokens.ClientURL(), "nats", ""), object{"payload": 1}, bearer))

	none := &server.SubjectPermission{Deny: []string{">"}}
	limited := serveNATS(t, -1, func(o *server.Options) {
		o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{Publish: none, Subscribe: none}}}
	})
	basic := object{"scheme": "basic", "username": "u", "password": "p"}
	document := pinned(limited.ClientURL(), "nats", "")
	wantFault(t, publish(t, r, document, object{"payload": 1}, object{"authentication": basic}), machine.ErrCommunication, 403, "permit")
	subscribe(t, r, object{"document": document, "authentication": basic}).fault(machine.ErrCommunication, 403, "permit")

	small := serveNATS(t, -1, func(o *server.Options) { o.MaxPayload = 1024 })
	large := object{"payload": strings.Repeat("x", 2000)}
	wantFault(t, publish(t, r, pinned(small.ClientURL(), "nats", ""), large, nil), machine.ErrRuntime, 500, "1024")
}

func TestSubscribeOverNATS(t *testing.T) {
	s := serveNATS(t, -1, nil)
	conn := connect(t, s)
	r := runner(t, soon)
	document := pinned(s.ClientURL(), "nats", "message: {correlationId: {location: '$message.header#/X-Trace'}}")
	all := subscribe(t, r, object{"document": document})
	some := subscribe(t, r, object{"document": document, "channel": "c.*"})
	listening(t, s, "c", 1)
	listening(t, s, "c.x", 1)
	message := client.NewMsg("c")
	message.Data = []byte(`{"n":9007199254740993}`)
	message.Header.Set("X-Trace", "t1")
	message.Header.Add("many", "a")
	message.Header.Add("many", "b")
	text := client.NewMsg("c.x")
	text.Data = []byte("7")
	text.Header.Set("Content-Type", "text/plain")
	for _, m := range []*client.Msg{message, text} {
		if err := conn.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	all.want(`{"correlationId":"t1","headers":{"X-Trace":"t1","many":["a","b"]},"payload":{"n":9007199254740993}}`)
	some.want(`{"correlationId":null,"headers":{"Content-Type":"text/plain"},"payload":"7"}`)
	all.stop()
	some.stop()
	listening(t, s, "c", 0)
}

func TestQueueGroupSharesMessages(t *testing.T) {
	s := serveNATS(t, -1, nil)
	conn := connect(t, s)
	r := runner(t, soon)
	document := pinned(s.ClientURL(), "nats", "bindings: {nats: {queue: workers}}")
	one, two := subscribe(t, r, object{"document": document}), subscribe(t, r, object{"document": document})
	listening(t, s, "c", 2)
	const messages = 20
	for i := range messages {
		if err := conn.Publish("c", []byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[any]bool{}
	for range messages {
		var got any
		select {
		case got = <-one.messages:
		case got = <-two.messages:
		case <-time.After(time.Minute):
			t.Fatalf("%d messages came", len(seen))
		}
		payload := got.(object)["payload"]
		if seen[payload] {
			t.Errorf("message %v came twice", payload)
		}
		seen[payload] = true
	}
	one.stop()
	two.stop()
}

func TestNATSSubscriptionComesBackAfterARestart(t *testing.T) {
	first := serveNATS(t, -1, nil)
	port := first.Addr().(*net.TCPAddr).Port
	s := subscribe(t, runner(t, soon), object{"document": pinned(first.ClientURL(), "nats", "")})
	listening(t, first, "c", 1)
	if err := connect(t, first).Publish("c", []byte("1")); err != nil {
		t.Fatal(err)
	}
	s.want(`{"correlationId":null,"headers":{},"payload":1}`)
	first.Shutdown()
	first.WaitForShutdown()
	second := serveNATS(t, port, nil)
	listening(t, second, "c", 1)
	if err := connect(t, second).Publish("c", []byte("2")); err != nil {
		t.Fatal(err)
	}
	s.want(`{"correlationId":null,"headers":{},"payload":2}`)
	s.stop()
}

// notToken lets in each client that has a token other than this one.
type notToken string

func (old notToken) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	return token != "" && token != string(old)
}

func TestNATSSubscriptionComesBackWithARenewedToken(t *testing.T) {
	var issued, hours atomic.Int64
	authority := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":600}`, issued.Add(1))
	})
	r := runnerWith(t, soon, func(_ *nats.Config, c *credential.Config) {
		c.Now = func() time.Time { return time.Unix(0, 0).Add(time.Duration(hours.Load()) * time.Hour) }
	})
	first := serveNATS(t, -1, func(o *server.Options) { o.Authorization = "token-1" })
	port := first.Addr().(*net.TCPAddr).Port
	s := subscribe(t, r, object{"document": pinned(first.ClientURL(), "nats", ""), "authentication": object{
		"scheme": "oauth2", "authority": authority, "grant": "client_credentials", "client": object{"id": "c", "secret": "s"},
	}})
	listening(t, first, "c", 1)
	hours.Add(1)
	first.Shutdown()
	first.WaitForShutdown()
	// Any but the first: the first server may have refused the second token before it closed.
	second := serveNATS(t, port, func(o *server.Options) { o.CustomClientAuthentication = notToken("token-1") })
	listening(t, second, "c", 1)
	if err := connect(t, second, client.Token("token-2")).Publish("c", []byte("2")); err != nil {
		t.Fatal(err)
	}
	s.want(`{"correlationId":null,"headers":{},"payload":2}`)
	s.stop()
}

func TestNATSFaults(t *testing.T) {
	s := serveNATS(t, -1, nil)
	conn := connect(t, s)
	r := runner(t, soon)
	document := pinned(s.ClientURL(), "nats", "")
	flooded := subscribe(t, r, object{"document": document})
	listening(t, s, "c", 1)
	for i := range 300 { // none is taken; 100 may wait
		if err := conn.Publish("c", []byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	listening(t, s, "c", 1)
	flooded.want(`{"correlationId":null,"headers":{},"payload":0}`)
	flooded.fault(machine.ErrRuntime, 500, "more than 100 messages")

	listening(t, s, "c", 0)
	large := subscribe(t, r, object{"document": document})
	listening(t, s, "c", 1)
	if err := conn.Publish("c", []byte(strings.Repeat("1", testMessageBytes+1))); err != nil {
		t.Fatal(err)
	}
	large.fault(machine.ErrRuntime, 500, "64 KiB")
}
