package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
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
//	/keys/PLAN/…     PLAN is cut-503-200, say: the first connection breaks, the second call is answered
//	                 503, the third {"keys": […]} with the numbers of the idempotency keys that came, by
//	                 first appearance
//	/slow/MS/…       an answer after so many milliseconds
//	/redirect/CODE/… a redirect to /echo/CODE/…
//	/elsewhere/CODE/… the same on other.example.com, which is another origin
//	/hops/N/…        a redirect to /hops/N-1/…; {"hops": 0} at last
//	/large/BYTES/…   text of that length
//	/cookie/…        a text, and a cookie
//	/basic/USER/PASSWORD/…, /bearer/TOKEN/…, /digest/USER/PASSWORD/…
//	                 401 without these credentials, else {"authenticated": true}
//	/type/KIND       text, xml, binary, empty, json, problem
//	/catalog/…       a catalog of functions: NAME.function.yaml of testdata/resources
//	/resources/FILE  a file of testdata/resources
func (s *standIn) serveThings(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls[r.URL.Path]++
	calls := s.calls[r.URL.Path]
	s.keys[r.URL.Path] = append(s.keys[r.URL.Path], r.Header.Get("Idempotency-Key"))
	keys := slices.Clone(s.keys[r.URL.Path])
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
	case "keys":
		plan := strings.Split(argument, "-")
		switch next := plan[min(calls, len(plan))-1]; next {
		case "cut":
			panic(http.ErrAbortHandler)
		case "200":
			answer(http.StatusOK, map[string]any{"keys": numbered(keys)})
		default:
			status, _ := strconv.Atoi(next)
			answer(status, nil)
		}
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(number) * time.Millisecond):
			answer(http.StatusOK, map[string]any{"waited": number})
		}
	case "redirect":
		w.Header().Set("Location", "/echo/"+rest)
		w.WriteHeader(number)
	case "elsewhere":
		w.Header().Set("Location", "https://other.example.com/echo/"+rest)
		w.WriteHeader(number)
	case "hops":
		if number == 0 {
			answer(http.StatusOK, map[string]any{"hops": 0})
			return
		}
		w.Header().Set("Location", "/hops/"+strconv.Itoa(number-1)+strings.TrimPrefix(rest, argument))
		w.WriteHeader(http.StatusFound)
	case "large":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", number))
	case "cookie":
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "cookie-value"})
		answer(http.StatusOK, "sent")
	case "basic", "bearer", "digest":
		guard(w, r, verb, strings.Split(rest, "/"), answer)
	case "type":
		serveType(w, argument)
	case "catalog":
		name := strings.TrimSuffix(strings.TrimPrefix(rest, "functions/"), "/1.0.0/function.yaml")
		http.ServeFile(w, r, filepath.Join("testdata", "resources", filepath.Base(name)+".function.yaml"))
	case "resources":
		http.ServeFile(w, r, filepath.Join("testdata", "resources", filepath.Base(rest)))
	default:
		answer(http.StatusNotFound, map[string]any{"path": r.URL.Path})
	}
}

// numbered gives equal texts the same number, from 1 in the order in which they appear first; 0 for none.
func numbered(texts []string) []int {
	numbers, seen := []int{}, []string{}
	for _, text := range texts {
		if text != "" && !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
		numbers = append(numbers, slices.Index(seen, text)+1)
	}
	return numbers
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

// guard answers only to those who have the credentials in the path.
func guard(w http.ResponseWriter, r *http.Request, scheme string, path []string, answer func(int, any)) {
	user, password, _ := r.BasicAuth()
	authorization := r.Header.Get("Authorization")
	ok, challenge := false, ""
	switch {
	case scheme == "basic" && len(path) > 1:
		ok, challenge = user == path[0] && password == path[1], `Basic realm="things"`
	case scheme == "bearer":
		ok, challenge = authorization == "Bearer "+path[0], "Bearer"
	case scheme == "digest" && len(path) > 1:
		ok = digests(authorization, r, path[0], path[1])
		challenge = `Digest realm="things", nonce="n0", qop="auth", algorithm=SHA-256, opaque="o0"`
	}
	if !ok {
		w.Header().Set("WWW-Authenticate", challenge)
		answer(http.StatusUnauthorized, map[string]any{"authenticated": false})
		return
	}
	answer(http.StatusOK, map[string]any{"authenticated": true})
}

// digests checks an answer to the challenge of guard (RFC 7616).
func digests(authorization string, r *http.Request, user, password string) bool {
	given, isDigest := strings.CutPrefix(authorization, "Digest ")
	fields := map[string]string{}
	for part := range strings.SplitSeq(given, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = strings.Trim(value, `"`)
	}
	hash := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(sum[:])
	}
	secret, request := hash(user, "things", password), hash(r.Method, r.URL.RequestURI())
	return isDigest && fields["username"] == user && fields["nonce"] == "n0" && fields["opaque"] == "o0" &&
		fields["uri"] == r.URL.RequestURI() &&
		fields["response"] == hash(secret, "n0", fields["nc"], fields["cnonce"], "auth", request)
}
