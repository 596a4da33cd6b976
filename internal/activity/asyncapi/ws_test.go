package asyncapi_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/chargehand/chargehand/internal/machine"
)

// serveSockets is a WebSocket server; it tells its ws address.
func serveSockets(t *testing.T, talk func(r *http.Request, conn *websocket.Conn)) string {
	t.Helper()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/closed") {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(1 << 20)
		talk(r, conn)
	})
	return "ws" + strings.TrimPrefix(url, "http")
}

func TestPublishOverWebSocket(t *testing.T) {
	type arrival struct{ path, authorization, kind, header, text string }
	arrived := make(chan arrival, 10)
	url := serveSockets(t, func(r *http.Request, conn *websocket.Conn) {
		kind, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		arrived <- arrival{r.URL.String(), r.Header.Get("Authorization"), kind.String(), r.Header.Get("X-Kind"), string(data)}
		switch string(data) {
		case `"refuse"`:
			_ = conn.Close(websocket.StatusPolicyViolation, "not you")
		case `"leave"`: // without a closing handshake
			_, _, _ = conn.Reader(r.Context())
			_ = conn.CloseNow()
		default:
			_, _, _ = conn.Read(r.Context()) // answers the closing handshake
		}
	})
	r := runner(t, soon)
	basic := object{"authentication": object{"scheme": "basic", "username": "u", "password": "p"}}
	wantOK(t, publish(t, r, pinned(url+"/chat/", "ws", ""), object{"payload": object{"a": 1}, "headers": object{"X-Kind": 5}}, basic))
	if got, want := <-arrived, (arrival{"/chat/c", "Basic dTpw", "MessageText", "5", `{"a":1}`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	wantOK(t, publish(t, r, pinned(url, "ws", "message: {contentType: application/octet-stream}"), object{"payload": "raw"}, nil))
	if got := <-arrived; got.kind != "MessageBinary" || got.text != "raw" {
		t.Errorf("%+v", got)
	}
	wantOK(t, publish(t, r, pinned(url, "ws", ""), object{"payload": "leave"}, nil))
	wantFault(t, publish(t, r, pinned(url, "ws", ""), object{"payload": "refuse"}, nil), machine.ErrCommunication, 500, "1008", "not you")
	wantFault(t, publish(t, r, pinned(url+"/closed", "ws", ""), object{"payload": 1}, nil), machine.ErrCommunication, 403, "not here")
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	wantFault(t, publish(t, r, pinned("ws"+strings.TrimPrefix(plain, "http"), "ws", ""), object{"payload": 1}, nil), machine.ErrCommunication, 500, "no WebSocket")
}

func TestSubscribeOverWebSocketComesBack(t *testing.T) {
	var connections atomic.Int32
	url := serveSockets(t, func(r *http.Request, conn *websocket.Conn) {
		ctx := conn.CloseRead(r.Context())
		switch connections.Add(1) {
		case 1:
			_ = conn.Write(ctx, websocket.MessageText, []byte(`{"id":"m1"}`))
			_ = conn.Write(ctx, websocket.MessageBinary, []byte{0xff})
			_ = conn.Close(websocket.StatusGoingAway, "restart")
		case 2:
			_ = conn.Write(ctx, websocket.MessageText, []byte(`2`))
			_ = conn.CloseNow()
		default:
			_ = conn.Write(ctx, websocket.MessageText, []byte(`3`))
			<-ctx.Done()
		}
	})
	s := subscribe(t, runner(t, soon), object{"document": pinned(url, "ws", "message: {correlationId: {location: '$message.payload#/id'}}")})
	s.want(`{"correlationId":"m1","headers":{},"payload":{"id":"m1"}}`)
	s.want(`{"correlationId":null,"headers":{},"payload":"/w=="}`)
	s.want(`{"correlationId":null,"headers":{},"payload":2}`)
	s.want(`{"correlationId":null,"headers":{},"payload":3}`)
	s.stop()
}

func TestWebSocketFaults(t *testing.T) {
	r := runner(t, soon)
	large := serveSockets(t, func(r *http.Request, conn *websocket.Conn) {
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(strings.Repeat("1", testMessageBytes+1)))
		_, _, _ = conn.Read(r.Context())
	})
	subscribe(t, r, object{"document": pinned(large, "ws", "")}).fault(machine.ErrRuntime, 500, "64 KiB")
	refusing := serveSockets(t, func(_ *http.Request, conn *websocket.Conn) {
		_ = conn.Close(websocket.StatusPolicyViolation, "not you")
	})
	subscribe(t, r, object{"document": pinned(refusing, "ws", "")}).fault(machine.ErrCommunication, 500, "1008", "not you")
}
