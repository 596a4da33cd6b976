package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// sent is what the server saw of one attempt.
type sent struct {
	method, uri, key, idempotency, contentType, body string
}

// server answers attempt n, counted from 0, with answers[n], and the last one from then on.
type server struct {
	mu      sync.Mutex
	seen    []sent
	answers []http.HandlerFunc
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.seen)
	s.seen = append(s.seen, sent{
		r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body),
	})
	s.mu.Unlock()
	s.answers[min(n, len(s.answers)-1)](w, r)
}

// serve starts a server with these answers, and a client of it that pauses shortly.
func serve(t *testing.T, options []Option, answers ...http.HandlerFunc) (*Client, *server) {
	t.Helper()
	s := &server{answers: answers}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	c := New(h.URL, "the-key", options...)
	c.pause = time.Millisecond
	return c, s
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func problemAnswer(status int, code string) http.HandlerFunc {
	return answer(status, fmt.Sprintf(`{"status":%d,"code":%q,"title":"T","detail":"D"}`, status, code))
}

// hangUp ends the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

var created = answer(201, `{"execution_id":"e-1","workflow_id":"w-1","status":"initial"}`)

func TestAStartIsRepeatedUnderTheSameIdempotencyKey(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"busy": problemAnswer(429, "queue_full"), "unavailable": problemAnswer(503, "unavailable"), "hung up": hangUp,
		"a proxy without a server":           answer(502, "<html>"),
		"the first attempt is still running": problemAnswer(409, "idempotency_in_progress"),
	} {
		t.Run(name, func(t *testing.T) {
			c, s := serve(t, nil, first, first, created)
			e, err := c.Start(t.Context(), "w/1", json.RawMessage(`{"a":1}`), StartOptions{Version: "1.0.0", Wait: 1500 * time.Millisecond})
			if err != nil || e.ID != "e-1" || e.Status != "initial" {
				t.Fatalf("%+v, %v", e, err)
			}
			if len(s.seen) != 3 || s.seen[0].idempotency == "" {
				t.Fatalf("attempts %+v", s.seen)
			}
			want := sent{
				"POST", "/api/v1/workflows/w%2F1/executions?version=1.0.0&wait=1.5s", "Bearer the-key", s.seen[0].idempotency,
				"application/json", `{"input":{"a":1}}`,
			}
			for _, got := range s.seen {
				if got != want {
					t.Errorf("sent %+v, want %+v", got, want)
				}
			}
			if _, err := c.Start(t.Context(), "w", nil, StartOptions{}); err != nil || s.seen[3].idempotency == want.idempotency {
				t.Errorf("another start has the same Idempotency-Key, %v", err)
			}
		})
	}
}

func TestWhatIsNotRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		do     func(*Client) error
		opts   []Option
	}{
		"a refusal": {problemAnswer(422, "input_invalid"), func(c *Client) error {
			_, err := c.Start(t.Context(), "w", nil, StartOptions{})
			return err
		}, nil},
		"a conflict": {problemAnswer(409, "state_conflict"), func(c *Client) error {
			_, err := c.CancelExecution(t.Context(), "w", "e", "")
			return err
		}, nil},
		"content that can be read once": {problemAnswer(503, "unavailable"), func(c *Client) error {
			_, err := c.Upload(t.Context(), "a", "", strings.NewReader("abc"))
			return err
		}, nil},
		"with WithoutRetries": {problemAnswer(503, "unavailable"), func(c *Client) error {
			_, err := c.GetFile(t.Context(), "f")
			return err
		}, []Option{WithoutRetries()}},
		"a wait longer than the client waits": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "86400")
			problemAnswer(503, "unavailable")(w, r)
		}, func(c *Client) error {
			_, err := c.GetFile(t.Context(), "f")
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := serve(t, test.opts, test.answer)
			var answered *Error
			if err := test.do(c); !errors.As(err, &answered) {
				t.Errorf("error %v", err)
			}
			if len(s.seen) != 1 {
				t.Errorf("%d attempts", len(s.seen))
			}
		})
	}
}

func TestAttemptsEnd(t *testing.T) {
	c, s := serve(t, nil, problemAnswer(503, "unavailable"))
	_, err := c.GetFile(t.Context(), "f")
	var answered *Error
	if !errors.As(err, &answered) || answered.Code != "unavailable" || len(s.seen) != 4 {
		t.Errorf("%d attempts, %v", len(s.seen), err)
	}
}

func TestProblem(t *testing.T) {
	c, _ := serve(t, []Option{WithoutRetries()}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(422)
		io.WriteString(w, `{"type":"http://h/p","title":"Bad definition","status":422,"detail":"It is wrong.","code":"definition_invalid",
 "errors":[{"pointer":"/do/0","code":"x","detail":"No such task.","line":4,"column":7},{"pointer":"/a","code":"y","detail":"Odd."}],"request_id":"req_1"}`)
	})
	_, err := c.GetFile(t.Context(), "f")
	var answered *Error
	if !errors.As(err, &answered) {
		t.Fatalf("error %v", err)
	}
	if answered.Status != 422 || answered.Code != "definition_invalid" || answered.RetryAfter != 7*time.Second ||
		answered.RequestID != "req_1" || len(answered.Errors) != 2 {
		t.Errorf("%+v", answered)
	}
	if want := "It is wrong.\n  4:7 /do/0: No such task.\n  /a: Odd. (422 definition_invalid)"; err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

// TestAProblemIsPrintedOnce: a problem that the detail names already is not repeated.
func TestAProblemIsPrintedOnce(t *testing.T) {
	for problem, want := range map[string]string{
		`{"detail":"status must be one of a, b.","code":"invalid_parameter","errors":[{"parameter":"status","code":"x","detail":"status must be one of a, b."}]}`:         "status must be one of a, b. (400 invalid_parameter)",
		`{"detail":"The input is wrong: /input/n: must be a number.","code":"input_invalid","errors":[{"pointer":"/input/n","code":"type","detail":"must be a number"}]}`: "The input is wrong: /input/n: must be a number. (400 input_invalid)",
		`{"detail":"The input is wrong: 2 problems: /a: Odd; /b: Even.","code":"c","errors":[{"pointer":"/a","detail":"Odd"},{"pointer":"/b","detail":"Even"}]}`:          "The input is wrong: 2 problems:\n  /a: Odd\n  /b: Even (400 c)",
		`{"detail":"Two problems.","code":"c","errors":[{"pointer":"/a","detail":"Odd."},{"parameter":"b","detail":"Even."}]}`:                                            "Two problems.\n  /a: Odd.\n  Even. (400 c)",
	} {
		c, _ := serve(t, []Option{WithoutRetries()}, answer(400, problem))
		if _, err := c.GetFile(t.Context(), "f"); err == nil || err.Error() != want {
			t.Errorf("says %q, want %q", err, want)
		}
	}
}

func TestAnswersThatAreNoProblems(t *testing.T) {
	c, _ := serve(t, []Option{WithoutRetries()}, answer(404, "<html>nothing here</html>"))
	_, err := c.GetFile(t.Context(), "f")
	var answered *Error
	if !errors.As(err, &answered) || answered.Status != 404 || answered.Code != "unexpected_answer" {
		t.Errorf("error %v", err)
	}
	c, _ = serve(t, nil, answer(200, "{"))
	if _, err := c.GetFile(t.Context(), "f"); err == nil || errors.Is(err, ErrUnreachable) {
		t.Errorf("half an answer: %v", err)
	}
	c, _ = serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"file_id":"f",`)
	})
	if _, err := c.GetFile(t.Context(), "f"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a part of an answer: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	c := New(h.URL, "k")
	c.pause = time.Millisecond
	if _, err := c.GetFile(t.Context(), "f"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v", err)
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, s := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		problemAnswer(503, "unavailable")(w, r)
	})
	c.pause = time.Hour
	if _, err := c.GetFile(ctx, "f"); !errors.Is(err, context.Canceled) || len(s.seen) != 1 {
		t.Errorf("%d attempts, %v", len(s.seen), err)
	}
}

// TestTheKeyStaysWithItsServer: an address elsewhere, such as a result behind another public
// address, is fetched without the key.
func TestTheKeyStaysWithItsServer(t *testing.T) {
	c, own := serve(t, nil, answer(200, "own"))
	_, other := serve(t, nil, answer(200, "other"))
	elsewhere := httptest.NewServer(other)
	defer elsewhere.Close()
	for _, address := range []string{elsewhere.URL + "/api/v1/files/f/content?signature=s", "0190-id", c.base + "/files/f/content"} {
		if _, err := c.Download(t.Context(), address, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if len(other.seen) != 1 || other.seen[0].key != "" {
		t.Errorf("elsewhere: %+v", other.seen)
	}
	if len(own.seen) != 2 || own.seen[0].key != "Bearer the-key" || own.seen[1].uri != "/api/v1/files/f/content" {
		t.Errorf("own: %+v", own.seen)
	}
}

func TestAddressWithOrWithoutThePath(t *testing.T) {
	for _, address := range []string{"http://h:1", "http://h:1/", "http://h:1/api/v1", "http://h:1/api/v1/"} {
		if c := New(address, ""); c.base != "http://h:1/api/v1" {
			t.Errorf("%s: %s", address, c.base)
		}
	}
}
