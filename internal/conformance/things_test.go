package conformance

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// serveThings is things.example.com, which scenarios of our own call. Scenarios run at the same
// time, so one that counts requests uses a path of its own: the part after the verb is free.
//
//	/echo/…          what was sent: method, path, query, headers (lower case), body
//	/status/CODE/…   an answer with that status, {"status": CODE}
//	/flaky/N/…       503 the first N times, then {"calls": n}
//	/slow/MS/…       an answer after so many milliseconds
//	/redirect/CODE/… a redirect to /echo/…
//	/type/KIND       text, xml, binary, empty, json, problem
//	/resources/FILE  a file of testdata/resources
func (s *standIn) serveThings(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls[r.URL.Path]++
	calls := s.calls[r.URL.Path]
	s.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	verb, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	argument, _, _ := strings.Cut(rest, "/")
	number, _ := strconv.Atoi(argument)
	switch verb {
	case "echo":
		answer(http.StatusOK, echo(r))
	case "status":
		answer(number, map[string]any{"status": number})
	case "flaky":
		if calls <= number {
			answer(http.StatusServiceUnavailable, map[string]any{"calls": calls})
			return
		}
		answer(http.StatusOK, map[string]any{"calls": calls})
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(number) * time.Millisecond):
			answer(http.StatusOK, map[string]any{"waited": number})
		}
	case "redirect":
		w.Header().Set("Location", "/echo/"+rest)
		w.WriteHeader(number)
	case "type":
		serveType(w, argument)
	case "resources":
		http.ServeFile(w, r, filepath.Join("testdata", "resources", filepath.Base(rest)))
	default:
		answer(http.StatusNotFound, map[string]any{"path": r.URL.Path})
	}
}

// echo is a request as data.
func echo(r *http.Request) map[string]any {
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	headers := map[string]any{}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	query := map[string]any{}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, ",")
	}
	var body any = string(raw)
	if json.Valid(raw) {
		body = json.RawMessage(raw)
	}
	return map[string]any{"method": r.Method, "path": r.URL.Path, "query": query, "headers": headers, "body": body}
}

func serveType(w http.ResponseWriter, kind string) {
	bodies := map[string]struct{ mediaType, body string }{
		"text":    {"text/plain; charset=utf-8", "plain text"},
		"xml":     {"application/xml", "<a>1</a>"},
		"binary":  {"application/octet-stream", "\x00\x01\x02"},
		"json":    {"application/json", `{"n": 12345678901234567890}`},
		"problem": {"application/problem+json", `{"title": "no"}`},
	}
	one, ok := bodies[kind]
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", one.mediaType)
	w.Header().Set("X-Base64", base64.StdEncoding.EncodeToString([]byte(one.body)))
	_, _ = io.WriteString(w, one.body)
}
