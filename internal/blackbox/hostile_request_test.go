package blackbox_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHostilePaths asks for paths that no honest client asks for.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	segments := []string{
		"%00", "a%00b", "%ff%fe", "%c0%80", "%2e%2e", "..", ".", "%2e", "%2F", "..%2f..%2fetc%2fpasswd", "%0d%0aX-Evil:%201", "%5c..%5c", strings.Repeat("a", 10_000),
		strings.Repeat("%41", 3_000), "'%20OR%201=1--", "%22", "<script>", "%3Cscript%3E", "{workflowId}", "null", "undefined", "0", "-1", "*", "%25", "%2500", "\u00e9", "%E2%80%AE",
		nobody + "%00", nobody + "%20", "%20" + nobody, nobody + nobody, strings.ReplaceAll(nobody, "-", ""), "{" + nobody + "}", "urn:uuid:" + nobody, ";x=1", "a;b", "a=b&c", "+", "~",
	}
	for _, segment := range segments {
		for _, format := range []string{
			"/workflows/%s", "/workflows/%s/executions", "/workflows/" + flow + "/executions/%s", "/workflows/" + flow + "/executions/%s/timeline", "/workflows/%s/batch",
			"/workflows/" + flow + "/batch/%s", "/workflows/" + flow + "/batch/%s/items", "/workflows/" + flow + "/versions/%s", "/files/%s", "/files/%s/content", "/api-keys/%s", "/secrets/%s", "/problems/%s", "/%s",
		} {
			path := fmt.Sprintf(format, segment)
			for _, method := range []string{"GET", "DELETE"} {
				a := raw(t, s, method+" /api/v1"+path+" HTTP/1.1\r\n"+common(s)+"\r\n")
				if a.Status != 404 && a.Status != 400 && a.Status != 405 {
					t.Errorf("%s %.200s: %d %.300s", method, path, a.Status, a.Body)
				}
				if a.Header.Get("X-Evil") != "" || a.Header.Get("Location") != "" {
					t.Errorf("%s %.200s: headers %v", method, path, a.Header)
				}
				wantRefusalOfHTTP(t, path, a)
			}
		}
	}
	for _, target := range []string{
		"*", "http://evil.example/api/v1/nothing", "//evil.example/api/v1/workflows", "/api/v1/%", "/api/v1/%zz", "/api/v1/workflows%", "/api/v1/workflows/\x7f", "/api/v1/\xff\xfe", "/%2e%2e/%2e%2e/etc/passwd",
		"/api/v1/../../etc/passwd", "/api/v1/workflows?\x00", "api/v1/workflows", "", "/api/v1/workflows#x", "/" + strings.Repeat("a/", 5_000), "/api/v1/" + strings.Repeat("%2e%2e%2f", 1_000),
	} {
		a := raw(t, s, "GET "+target+" HTTP/1.1\r\n"+common(s)+"\r\n")
		if a.Status == 200 && target == "/api/v1/workflows#x" {
			continue
		}
		wantRefusalOfHTTP(t, target, a)
	}
	if after := state(t, s, flow); after != before {
		t.Errorf("refused requests changed something")
	}
}

// wantRefusalOfHTTP is wantRefusal for a request that may be refused before its body is read, so that the problem
// names no pointer.
func wantRefusalOfHTTP(t *testing.T, what string, a answer) {
	t.Helper()
	p := a.Object()
	if a.Status < 400 || a.Status > 499 || a.Header.Get("Content-Type") != "application/problem+json" || p["status"] != a.Status || text(p["detail"]) == "" || text(p["code"]) == "" {
		t.Errorf("%.200q: %d %v %.500s", what, a.Status, a.Header, a.Body)
	}
}

// TestHostileQueries: parameters that are read are checked, others are ignored whatever they are.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	bad := []string{"%00", "%ff", "%zz", "%", "\xff", strings.Repeat("9", 10_000), strings.Repeat("a", 10_000), "%0d%0a", "[]", "{}", "null", "%2527", "\u202e", "1;2", "-", "1 2"}
	for _, value := range bad {
		target := strings.ReplaceAll(value, " ", "%20")
		for _, name := range []string{"limit", "cursor", "status", "batch_id", "created_after", "created_before"} {
			a := rawGet(t, s, "/api/v1"+executions(flow)+"?"+name+"="+target)
			wantRefusal(t, name+"="+value, a, 400)
		}
		for _, name := range []string{"wait", "executions"} {
			a := raw(t, s, "POST /api/v1"+batches(flow)+"/"+nobody+"/cancel?"+name+"="+target+" HTTP/1.1\r\n"+common(s)+"Content-Length: 0\r\n\r\n")
			wantRefusalOfHTTP(t, name+"="+value, a)
		}
		for _, ignored := range []string{"x=" + target, target + "=x", target, "limit[]=" + target, "&&=&" + target} {
			if a := rawGet(t, s, "/api/v1/workflows?"+ignored); a.Status != 200 {
				t.Errorf("an unknown parameter is ignored: ?%.100q: %d %s", ignored, a.Status, a.Body)
			}
		}
	}
	if a := rawGet(t, s, "/api/v1/workflows?"+strings.Repeat("a=b&", 10_000)+"limit=1"); a.Status != 200 || len(list(a.Object()["data"])) != 1 {
		t.Errorf("many parameters: %d", a.Status)
	}
}

// TestHostileHeaders sends requests that net/http would never send.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	host := "Host: " + strings.TrimPrefix(s.URL, "http://") + "\r\n"
	key := "X-Api-Key: " + s.Key + "\r\n"
	end := "Connection: close\r\n\r\n"
	post := "POST /api/v1" + executions(flow) + " HTTP/1.1\r\n" + host + key + "Content-Type: application/json\r\n"
	get := "GET /api/v1/workflows HTTP/1.1\r\n"
	for name, request := range map[string]string{
		"no host":               get + key + end,
		"two hosts":             get + host + "Host: other\r\n" + key + end,
		"bad host":              get + "Host: a b<>\r\n" + key + end,
		"no colon":              get + host + key + "nonsense\r\n" + end,
		"space in name":         get + host + key + "a b: c\r\n" + end,
		"space before colon":    get + host + key + "a : c\r\n" + end,
		"NUL in value":          get + host + key + "A: b\x00c\r\n" + end,
		"NUL in name":           get + host + key + "A\x00: b\r\n" + end,
		"huge header":           get + host + key + "A: " + strings.Repeat("b", 1<<20) + "\r\n" + end,
		"many headers":          get + host + key + strings.Repeat("A: b\r\n", 50_000) + end,
		"huge name":             get + host + key + strings.Repeat("A", 1<<20) + ": b\r\n" + end,
		"huge target":           "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\n" + host + key + end,
		"version 3":             "GET / HTTP/3.0\r\n" + host + key + end,
		"no version":            "GET /api/v1/workflows\r\n" + host + key + end,
		"bad method":            "G(T /api/v1/workflows HTTP/1.1\r\n" + host + key + end,
		"negative length":       post + "Content-Length: -1\r\n" + end + "{}",
		"two lengths":           post + "Content-Length: 2\r\nContent-Length: 3\r\n" + end + "{}",
		"length as text":        post + "Content-Length: two\r\n" + end + "{}",
		"length out of range":   post + "Content-Length: 99999999999999999999\r\n" + end + "{}",
		"length with plus":      post + "Content-Length: +2\r\n" + end + "{}",
		"unknown encoding":      post + "Transfer-Encoding: gzip\r\n" + end + "{}",
		"two encodings":         post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" + end + "0\r\n\r\n",
		"bad chunk":             post + "Transfer-Encoding: chunked\r\n" + end + "zz\r\n{}\r\n0\r\n\r\n",
		"huge chunk":            post + "Transfer-Encoding: chunked\r\n" + end + "ffffffffffffffffff\r\n{}",
		"chunk without end":     post + "Transfer-Encoding: chunked\r\n" + end + "2\r\n{}x\r\n0\r\n\r\n",
		"unknown expectation":   post + "Expect: miracles\r\nContent-Length: 2\r\n" + end + "{}",
		"key with control":      get + host + "X-Api-Key: a\x01b\r\n" + end,
		"key of 60 KB":          get + host + "X-Api-Key: " + strings.Repeat("k", 60_000) + "\r\n" + end,
		"bearer of 60 KB":       get + host + "Authorization: Bearer " + strings.Repeat("k", 60_000) + "\r\n" + end,
		"bearer not UTF-8":      get + host + "Authorization: Bearer \xff\xfe\r\n" + end,
		"digest":                get + host + "Authorization: Digest a=\"b\r\n" + end,
		"prefer wait":           "GET /api/v1" + executions(flow) + "/" + nobody + " HTTP/1.1\r\n" + host + key + "Prefer: wait=99999999999999999999\r\n" + end,
		"content type of 60 KB": "POST /api/v1" + executions(flow) + " HTTP/1.1\r\n" + host + key + "Content-Type: " + strings.Repeat("a", 60_000) + "\r\nContent-Length: 2\r\n" + end + "{}",
		"HTTP/2 preface":        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"TLS":                   "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 64) + "\r\n\r\n",
		"bytes":                 strings.Repeat("\xff\x00", 100) + "\r\n\r\n",
		"empty line":            "\r\n\r\n\r\n\r\n",
		"CONNECT":               "CONNECT evil.example:443 HTTP/1.1\r\n" + host + key + end,
	} {
		t.Run(name, func(t *testing.T) {
			if a, ok := rawMaybe(t, s, request); ok {
				wantRefusalOfHTTP(t, request, a)
			}
		})
	}
	for name, request := range map[string]string{
		"folded header":         get + host + key + "A: b\r\n c\r\n" + end,
		"strange but harmless":  get + host + key + "A: \xff\xfe\r\nCookie: " + strings.Repeat("a=b; ", 2_000) + "\r\n" + end,
		"If-None-Match of 50KB": get + host + key + "If-None-Match: " + strings.Repeat(`"x", `, 10_000) + "\r\n" + end,
		"forwarded":             get + host + key + "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\n" + end,
		"line feeds alone":      strings.ReplaceAll(get+host+key+end, "\r\n", "\n"),
		"method override":       get + host + key + "X-HTTP-Method-Override: DELETE\r\n" + end,
		"HTTP/1.0":              "GET /api/v1/workflows HTTP/1.0\r\n" + host + key + "\r\n",
		"absolute target":       "GET " + s.URL + "/api/v1/workflows HTTP/1.1\r\n" + host + key + end,
	} {
		t.Run(name, func(t *testing.T) {
			a := raw(t, s, request)
			if a.Status != 200 && a.Status != 400 || a.Status == 400 && a.Object()["code"] == nil || strings.Contains(string(a.Body), "evil") {
				t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
			}
		})
	}
	if after := state(t, s, flow); after != before {
		t.Error("refused requests changed something")
	}
}

// rawMaybe is raw for bytes that need no answer at all, such as those of another protocol:
// then the server closes the connection.
func rawMaybe(t *testing.T, s *server, request string) (answer, bool) {
	t.Helper()
	conn := dial(t, s)
	_, _ = io.WriteString(conn, request) // the server may close before it has read all
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	reader := bufio.NewReader(conn)
	if _, err := reader.Peek(1); err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Errorf("neither an answer nor an end of the connection")
		}
		return answer{}, false
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		t.Errorf("what came back is no answer: %v", err)
		return answer{}, false
	}
	defer resp.Body.Close()
	a := answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, _ = io.ReadAll(resp.Body)
	if strings.Contains(resp.Header.Get("Content-Type"), "json") && method != "HEAD" {
		a.JSON = parse(t, string(a.Body))
	}
	return a, true
}

// TestHostileConnections: many connections that never finish their request keep no other client out.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	for i := range 300 {
		conn := dial(t, s)
		part := "POST /api/v1" + executions(flow) + " HTTP/1.1\r\n" + common(s) + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
		_, _ = io.WriteString(conn, part[:len(part)*(i%10+1)/10])
	}
	began := time.Now()
	a := s.Do(t, "POST", executions(flow)+"?wait=60s", "{}")
	if a.Status != 201 || time.Since(began) > 30*time.Second {
		t.Errorf("beside 300 unfinished requests: %d after %s", a.Status, time.Since(began))
	}
	if n := len(list(s.Do(t, "GET", executions(flow), "").Object()["data"])); n != 1 {
		t.Errorf("%d executions, one was started", n)
	}
}

// TestHostilePipelines: several requests in one piece, good and bad ones, are answered in
// order on one connection.
func TestHostilePipelines(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	head := "Host: " + strings.TrimPrefix(s.URL, "http://") + "\r\nX-Api-Key: " + s.Key + "\r\n"
	post := func(body string) string {
		return fmt.Sprintf("POST /api/v1%s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", executions(flow), head, len(body), body)
	}
	chunked := "POST /api/v1" + executions(flow) + " HTTP/1.1\r\n" + head + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	get := "GET /api/v1/workflows HTTP/1.1\r\n" + head + "\r\n"
	steps := []struct {
		request string
		status  int
	}{
		{post("{}"), 201}, {post("{"), 400}, {get, 200}, {chunked + "2\r\n{}\r\n0\r\n\r\n", 201}, {chunked + "0\r\n\r\n", 201}, {"GET /api/v1/nothing HTTP/1.1\r\n" + head + "\r\n", 404},
		{post(`{"input":5}`), 400}, {post(""), 201}, {"PUT /api/v1/workflows HTTP/1.1\r\n" + head + "Content-Length: 2\r\n\r\n{}", 405}, {get, 200},
	}
	conn := dial(t, s)
	var all strings.Builder
	for _, step := range steps {
		all.WriteString(step.request)
	}
	if _, err := io.WriteString(conn, all.String()); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	for i, step := range steps {
		resp, err := http.ReadResponse(reader, &http.Request{Method: strings.SplitN(step.request, " ", 2)[0]})
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != step.status {
			t.Errorf("request %d: %d, want %d: %s %v", i, resp.StatusCode, step.status, body, err)
		}
	}
	// A body that waits to be asked for.
	conn = dial(t, s)
	request := strings.Replace(post("{}"), "Content-Type", "Expect: 100-continue\r\nContent-Type", 1)
	cut := len(request) - 2
	_, _ = io.WriteString(conn, request[:cut])
	reader = bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("not asked for the body: %q %v", line, err)
	}
	_, _ = io.WriteString(conn, request[cut:])
	for range 2 {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "201") {
			return
		}
	}
	t.Error("no 201 after the body")
}
