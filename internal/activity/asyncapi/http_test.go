package asyncapi_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/machine"
)

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// The digest is reported whatever comes of the call (T69).
func TestResultTellsTheDocument(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	r := runner(t, soon)
	for address, faults := range map[string]bool{url: false, "http://127.0.0.1:1": true} {
		document := pinned(address, "http", "")
		want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(document["content"].(string))))
		if got := publish(t, r, document, object{"payload": 1}, nil); got.Document != want || (got.Fault != nil) != faults {
			t.Errorf("document %q, want %q; fault %v", got.Document, want, got.Fault)
		}
	}
}

func TestPublishOverHTTP(t *testing.T) {
	var seen string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = fmt.Sprintf("%s %s %s %s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("X-Kind"),
			r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), body)
		w.WriteHeader(http.StatusAccepted)
	})
	r := runner(t, soon)
	bearer := object{"authentication": object{"scheme": "bearer", "token": "tok"}}
	message := object{"payload": object{"n": 9007199254740993}, "headers": object{"X-Kind": "a"}}
	wantOK(t, publish(t, r, pinned(url+"/base", "http", ""), message, bearer))
	if want := `POST /base/c application/json a Bearer tok key-1 {"n":9007199254740993}`; seen != want {
		t.Errorf("request %s, want %s", seen, want)
	}
	bound := "bindings: {http: {method: PUT, query: {properties: {v: {const: 2}, w: {type: string}}}}}, message: {contentType: text/csv}"
	wantOK(t, publish(t, r, pinned(url, "http", bound), object{"payload": "a,b"}, nil))
	if want := `PUT /c?v=2 text/csv   key-1 a,b`; seen != want {
		t.Errorf("request %s, want %s", seen, want)
	}
	refused := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusTooManyRequests) })
	wantFault(t, publish(t, r, pinned(refused, "http", ""), message, nil), machine.ErrCommunication, 429, "full")
}

// The document is fetched with its own credentials, once, and names an operation (3.0).
func TestDocumentIsFetchedAndKept(t *testing.T) {
	var fetched, posted atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders/7" {
			posted.Add(1)
			return
		}
		if user, _, _ := r.BasicAuth(); user != "doc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fetched.Add(1)
		w.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprintf(w, `{"asyncapi":"3.0.0","servers":{"s":{"host":"{at}","protocol":"http","variables":{"at":{}}}},
			"channels":{"orders":{"address":"orders/{id}","parameters":{"id":{"location":"$message.payload#/id"}}}},
			"operations":{"place":{"action":"receive","channel":{"$ref":"#/channels/orders"}}}}`)
	})
	r := runner(t, soon)
	document := object{"endpoint": url + "/doc.json", "authentication": object{"scheme": "basic", "username": "doc", "password": "p"}}
	args := object{"document": document, "operation": "place", "channel": "",
		"server": object{"name": "s", "variables": object{"at": strings.TrimPrefix(url, "http://")}}}
	for range 2 {
		wantOK(t, publish(t, r, document, object{"payload": object{"id": 7}}, args))
	}
	if fetched.Load() != 1 || posted.Load() != 2 {
		t.Errorf("fetched %d times, posted %d times", fetched.Load(), posted.Load())
	}
	wantFault(t, publish(t, r, object{"endpoint": url + "/doc.json"}, object{}, nil), machine.ErrCommunication, 401)
}

func TestEventsAreSubscribedToAndResumed(t *testing.T) {
	var streams atomic.Int32
	last := make(chan string, 10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		last <- r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		if streams.Add(1) == 1 {
			io.WriteString(w, "retry: 1\nid: 1\nevent: tick\ndata: {\"who\":\"a\"}\n\ndata: no json\n\ndata: {\"cut\":")
			return
		}
		io.WriteString(w, "id: 3\ndata: {\"who\":\"c\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := subscribe(t, runner(t, soon), object{"document": pinned(url, "http", "message: {correlationId: {location: '$message.payload#/who'}}")})
	s.want(`{"correlationId":"a","headers":{"event":"tick","id":"1"},"payload":{"who":"a"}}`)
	s.want(`{"correlationId":null,"headers":{"event":"message","id":"1"},"payload":"no json"}`)
	s.want(`{"correlationId":"c","headers":{"event":"message","id":"3"},"payload":{"who":"c"}}`)
	s.stop()
	if first, second := <-last, <-last; first != "" || second != "1" {
		t.Errorf("Last-Event-ID %q, then %q", first, second)
	}
}

func TestLinesAreSubscribedTo(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, "{\"a\":1}\r\n\n\x1e[2]\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := subscribe(t, runner(t, soon), object{"document": pinned(url, "http", "")})
	s.want(`{"correlationId":null,"headers":{},"payload":{"a":1}}`)
	s.want(`{"correlationId":null,"headers":{},"payload":[2]}`)
	s.stop()
}

func TestStreamsThatCannotBeReadAreFaults(t *testing.T) {
	r := runner(t, soon)
	answer := func(media, body string) object {
		return object{"document": pinned(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			io.WriteString(w, body)
		}), "http", "")}
	}
	subscribe(t, r, answer("application/json", "{}")).fault(machine.ErrCommunication, 500, "application/json", "no stream")
	large := strings.Repeat("x", testMessageBytes+10)
	subscribe(t, r, answer("text/event-stream", "data: 1\n\ndata: "+large+"\n\n")).fault(machine.ErrRuntime, 500, "64 KiB")
	subscribe(t, r, answer("application/jsonl", "1\n"+large+"\n")).fault(machine.ErrRuntime, 500, "64 KiB")
	forbidden := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	subscribe(t, r, object{"document": pinned(forbidden, "http", "")}).fault(machine.ErrCommunication, 403, "no")
}
