package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/service"
)

// TestRefusalsReachClientsThatSendFirst: many clients send the whole body before they read, and
// would find the connection broken.
func TestRefusalsReachClientsThatSendFirst(t *testing.T) {
	addr := start(t, newServer(t, &fake{}))
	const key = "Host: h\r\nContent-Type: application/json\r\nx-api-key: " + goodKey + "\r\n"
	sized := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", n, strings.Repeat(" ", n)) }
	const large = 12 << 20
	for name, c := range map[string]struct {
		head, body string
		status     int
		code       string
	}{
		"too large":            {"POST " + pathW + "/executions", sized(large), 413, "payload_too_large"},
		"too large, in chunks": {"POST " + pathW + "/executions", fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", large, strings.Repeat(" ", large)), 413, "payload_too_large"},
		"an upload":            {"POST /api/v1/files", sized(large), 413, "payload_too_large"},
		"no such workflow":     {"POST /api/v1/workflows/nope/batch", sized(large), 404, "workflow_not_found"},
		"no such parameter":    {"POST /api/v1/files?name=x", sized(large), 400, "unknown_parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(conn, c.head+" HTTP/1.1\r\n"+key+c.body); err != nil {
				t.Fatalf("the connection broke while the body was sent: %v", err)
			}
			r := bufio.NewReader(conn)
			a := readAnswer(t, r)
			wantProblem(t, a, c.status, c.code)
			if _, err := r.ReadByte(); err != io.EOF {
				t.Errorf("after the answer: %v", err)
			}
		})
	}
}

// TestRefusalsDoNotWait: the answer is there before the client has sent all, and a client that
// sends no more, or waits for leave to send, is not waited for.
func TestRefusalsDoNotWait(t *testing.T) {
	addr := start(t, newServer(t, &fake{}))
	const json, leave = "Content-Type: application/json\r\n", "Expect: 100-continue\r\n"
	for name, c := range map[string]struct {
		path, header string
		status       int
	}{
		"silent":                    {pathW + "/executions", json + "Content-Length: 99999999\r\n", 413},
		"waiting for leave":         {pathW + "/executions", json + leave + "Content-Length: 99999999\r\n", 413},
		"little, waiting for leave": {pathW + "/executions", json + leave + "Content-Encoding: gzip\r\nContent-Length: 10\r\n", 415},
		"little, silent":            {pathW + "/executions", "Content-Type: text/plain\r\nContent-Length: 10\r\n", 415},
		"no such path":              {"/api/v1/nope", json + "Content-Length: 10\r\n", 404},
		"no such path, closes":      {"/api/v1/nope", json + "Connection: close\r\nContent-Length: 10\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			conn.SetDeadline(began.Add(20 * time.Second))
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\n%s\r\n", c.path, goodKey, c.header)
			r := bufio.NewReader(conn)
			if a := readAnswer(t, r); a.status != c.status {
				t.Errorf("%d, want %d\n%s", a.status, c.status, a.body)
			}
			answered := time.Since(began)
			if _, err := r.ReadByte(); err != io.EOF {
				t.Errorf("%v after the answer", err)
			}
			closed := time.Since(began)
			// What fits into the buffers is read before the answer, if it comes within drainTime.
			if most := 2 * drainTime; answered > most || answered > drainTime && !strings.Contains(c.header, "Length: 10\r") {
				t.Errorf("answered after %v", answered)
			}
			if closed > 5*drainTime || strings.Contains(c.header, leave) && closed > 2*drainTime {
				t.Errorf("closed after %v", closed)
			}
			t.Logf("answered after %v, closed after %v", answered, closed)
		})
	}
}

// TestStrangersAreNotWaitedFor: who is refused without having shown a key, and sends no body after its announcement, is
// not waited for as long as a body may take.
func TestStrangersAreNotWaitedFor(t *testing.T) {
	addr := start(t, newServer(t, &fake{}))
	const json = "Content-Type: application/json\r\n"
	for name, c := range map[string]struct {
		head, header string
		status       int
	}{
		"no key, a large body":  {"POST " + pathW + "/executions", json + "Content-Length: 1048576\r\n", 401},
		"no key, a small body":  {"POST " + pathW + "/executions", json + "Content-Length: 10\r\n", 401},
		"no key, chunks":        {"POST " + pathW + "/executions", json + "Transfer-Encoding: chunked\r\n", 401},
		"no key, leave to send": {"POST " + pathW + "/executions", json + "Expect: 100-continue\r\nContent-Length: 1048576\r\n", 401},
		"a wrong key":           {"POST " + pathW + "/executions", "x-api-key: nonsense\r\nContent-Length: 10\r\n", 401},
		"no such path":          {"POST /nowhere", "Content-Length: 10\r\n", 404},
		"not this method":       {"POST /healthz", "Content-Length: 10\r\n", 405},
		"a probe with a body":   {"GET /healthz", "Content-Length: 10\r\n", 200},
		"what is allowed here":  {"OPTIONS /healthz", "Content-Length: 10\r\n", 204},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(readTimeout / 2))
			began := time.Now()
			io.WriteString(conn, c.head+" HTTP/1.1\r\nHost: h\r\n"+c.header+"\r\n")
			r := bufio.NewReader(conn)
			if a := readAnswer(t, r); a.status != c.status {
				t.Errorf("%d, want %d\n%s", a.status, c.status, a.body)
			}
			answered := time.Since(began)
			if _, err := r.ReadByte(); err != io.EOF {
				t.Errorf("after the answer: %v", err)
			}
			t.Logf("answered after %v, closed after %v", answered, time.Since(began))
		})
	}
}

// TestLateBodiesDoNotLoseTheAnswer: a client that sends a body slowly, and reads the answer meanwhile or behind it,
// finds no broken connection, whether it has shown no key, a key or the secret of a link, and whether it is refused or
// sends a body that nothing reads. net/http itself reads nothing behind an answer to a client that has said that it
// closes the connection.
func TestLateBodiesDoNotLoseTheAnswer(t *testing.T) {
	s, _ := linkServer(asking(t, `{type: object}`, nil))
	s.linger = 3 * time.Second
	addr := start(t, s)
	for name, c := range map[string]struct {
		head   string
		piece  int // bytes
		status int
	}{
		"no key":           {"POST " + pathW + "/executions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n", 20_000, 401},
		"no key, closes":   {"POST " + pathW + "/executions HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 200000\r\n", 20_000, 401},
		"no key, HTTP/1.0": {"POST " + pathW + "/executions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n", 20_000, 401},
		"no key, more":     {"POST " + pathW + "/executions HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 3000000\r\n", 300_000, 401},
		"a key, closes":    {"POST " + pathW + "/executions HTTP/1.1\r\nx-api-key: " + goodKey + "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 200000\r\n", 20_000, 415},
		"done, closes":     {"DELETE " + pathB + " HTTP/1.1\r\nx-api-key: " + goodKey + "\r\nConnection: close\r\nContent-Length: 200000\r\n", 20_000, 204},
		"done, HTTP/1.0":   {"GET " + pathE + " HTTP/1.0\r\nx-api-key: " + goodKey + "\r\nContent-Length: 200000\r\n", 20_000, 200},
		"a page, closes":   {"GET /setup HTTP/1.1\r\nConnection: close\r\nContent-Length: 200000\r\n", 20_000, 200},
		"a link, too much": {fmt.Sprintf("POST %s HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n", pathLink, maxTaskForm+1), 1 << 20, 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			piece := strings.Repeat(" ", c.piece)
			io.WriteString(conn, c.head+"Host: "+addr+"\r\n\r\n"+piece)
			r := bufio.NewReader(conn)
			if a := readAnswer(t, r); a.status != c.status {
				t.Fatalf("%d, want %d\n%s", a.status, c.status, a.body)
			}
			for range 9 {
				if _, err := io.WriteString(conn, piece); err != nil {
					t.Fatalf("the connection broke while the body was sent: %v", err)
				}
			}
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Error(err)
			}
			if _, err := r.ReadByte(); err != io.EOF {
				t.Errorf("after the body: %v", err)
			}
		})
	}
}

// TestRefusedFormsDoNotDrip: a form of a link that was refused is read for drainTime, however it keeps coming.
func TestRefusedFormsDoNotDrip(t *testing.T) {
	s, _ := linkServer(asking(t, `{type: object}`, nil))
	s.idle, s.slowest = time.Second, 1
	addr := start(t, s)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * drainTime))
	io.WriteString(conn, "POST "+pathLink+" HTTP/1.1\r\nHost: "+addr+"\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 9999999\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"comment\"\r\n\r\n")
	go func() {
		_, err := io.WriteString(conn, strings.Repeat("x", maxTaskTexts+1)) // one byte too many
		for tick := time.NewTicker(10 * time.Millisecond); err == nil; <-tick.C {
			_, err = io.WriteString(conn, "x")
		}
	}()
	r := bufio.NewReader(conn)
	if a := readAnswer(t, r); a.status != 413 {
		t.Fatalf("%d\n%s", a.status, a.body)
	}
	began := time.Now()
	if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("after the answer: %v", err)
	}
	if took := time.Since(began); took > 4*drainTime {
		t.Errorf("hung up on after %v", took)
	}
}

// TestRefusedStrangersKeepTheirConnection: a body that arrives at once is read, and the next request is answered.
func TestRefusedStrangersKeepTheirConnection(t *testing.T) {
	conn, err := net.Dial("tcp", start(t, newServer(t, &fake{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(conn)
	for range 3 {
		io.WriteString(conn, "POST "+pathW+"/executions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		wantProblem(t, readAnswer(t, r), 401, "missing_api_key")
	}
}

// TestPythonReadsARefusal: the client in which it was noticed.
func TestPythonReadsARefusal(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		peer.Skip(t, "there is no python3 on this machine's PATH")
	}
	addr := start(t, newServer(t, &fake{}))
	script := `import sys, urllib.request, urllib.error
request = urllib.request.Request(sys.argv[1], data=b" " * int(sys.argv[3]), headers={"Content-Type": sys.argv[4], "x-api-key": sys.argv[2]})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
`
	for _, c := range []struct {
		size        int
		media, code string
	}{{8 << 20, "application/json", "payload_too_large"}, {200 << 10, "text/plain", "unsupported_media_type"}} {
		out, err := exec.CommandContext(t.Context(), python, "-c", script, "http://"+addr+pathW+"/executions", goodKey,
			fmt.Sprint(c.size), c.media).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "41") || !strings.Contains(string(out), c.code) {
			t.Errorf("%d bytes: %v\n%s", c.size, err, out)
		}
	}
}

// TestWaitForNoBody: a request that waits lifts the read timeout, but not for a body that is announced, never sent, and
// read by nothing. A body that has come meanwhile is no reason to close the connection.
func TestWaitForNoBody(t *testing.T) {
	asked, proceed := make(chan struct{}, 2), make(chan struct{})
	s := newServer(t, &fake{getExecution: func(ctx context.Context, _ service.View) (*service.Execution, error) {
		asked <- struct{}{}
		<-proceed
		return fixtureInitial(), ctx.Err()
	}})
	s.http.ReadTimeout = 100 * time.Millisecond
	addr := start(t, s)
	head := "GET " + pathE + "?wait=1 HTTP/1.1\r\nHost: h\r\nx-api-key: " + goodKey + "\r\nContent-Length: 10\r\n\r\n"
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(conn)
	for range 2 { // on one connection
		io.WriteString(conn, head)
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
			t.Fatal("the connection was closed behind an answer")
		}
		io.WriteString(conn, "0123456789")
		time.AfterFunc(3*s.http.ReadTimeout, func() { proceed <- struct{}{} })
		if a := readAnswer(t, r); a.status != 200 {
			t.Fatalf("with a body: %d", a.status)
		}
	}
	close(proceed)
	if a := raw(t, addr, head); a.status != 200 {
		t.Errorf("without its body: %d", a.status)
	}
}

// TestFormsDoNotWaitForMore: a form with its last boundary is answered soon, though more of the body was announced.
func TestFormsDoNotWaitForMore(t *testing.T) {
	s, _ := linkServer(&fakeLink{})
	addr := start(t, s)
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"a file":      {"POST /api/v1/files HTTP/1.1\r\nx-api-key: " + goodKey, 201},
		"a sign-in":   {"POST /sign-in HTTP/1.1\r\nSec-Fetch-Site: same-origin", 303},
		"a task link": {"POST " + pathLink + " HTTP/1.1\r\nSec-Fetch-Site: same-origin", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, contentType := multipartForm(t, [2]string{"@a.png", "PNG"})
			began := time.Now()
			a := raw(t, addr, fmt.Sprintf("%s\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", c.head, addr, contentType, len(body)+10, body))
			if took := time.Since(began); a.status != c.status || took > 2*drainTime {
				t.Errorf("%d after %v, want %d\n%s", a.status, took, c.status, a.body)
			}
		})
	}
}

// TestStreamsForNoBody: answers that begin before their end is known do not wait either for a body that is announced,
// never sent, and read by nothing, and come to their end.
func TestStreamsForNoBody(t *testing.T) {
	const size = 1 << 20
	archive := fixtureArchive()
	archive.Files, archive.Files[0].Size = archive.Files[:1], size
	archive.Open = func(context.Context, int) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(&noise{}, size)), nil
	}
	addr := start(t, newServer(t, &fake{
		archive: func() (*service.Archive, error) { return archive, nil }, entries: manyEntries(5000, nil),
	}))
	for path, ended := range map[string]func(*testing.T, []byte) bool{
		pathF + "/content": func(_ *testing.T, b []byte) bool { return string(b) == "0123456789" },
		pathE + "/events":  func(_ *testing.T, b []byte) bool { return bytes.Contains(b, []byte("event: end\n")) },
		"/metrics":         func(_ *testing.T, b []byte) bool { return bytes.Contains(b, []byte("chargehand_http")) },
		pathB:              func(_ *testing.T, b []byte) bool { return len(b) > streamBytes && json.Valid(b) },
		pathE + "/archive": func(t *testing.T, b []byte) bool {
			_, files := unzipped(t, b)
			return len(files["files/0001-a.txt"]) == size
		},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			a := raw(t, addr, "GET "+path+" HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\nContent-Length: 10\r\n\r\n")
			if took := time.Since(began); a.status != 200 || !ended(t, a.body) || took > 2*drainTime {
				t.Errorf("%d, %d bytes after %v", a.status, len(a.body), took)
			}
		})
	}
}

// TestBodyBesideAStream: a body that comes while the answer does is read behind that, however long it took. Else the
// connection would be broken, and the end of the answer might be lost.
func TestBodyBesideAStream(t *testing.T) {
	proceed := make(chan struct{})
	s := newServer(t, &fake{openLink: func(service.Link) (*service.File, io.ReadSeekCloser, error) {
		f := fixtureFile()
		f.Size = 1 << 20
		return f, &waitingContent{Reader: bytes.NewReader(make([]byte, f.Size)), proceed: proceed}, nil
	}})
	s.linger = 200 * time.Millisecond
	conn, err := net.Dial("tcp", start(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, "GET "+pathF+"/content?expires=1&signature=good HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n")
	r := bufio.NewReader(conn)
	if _, err := r.Peek(1); err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "0123456789")
	time.AfterFunc(3*s.linger, func() { close(proceed) })
	if a := readAnswer(t, r); a.status != 200 || len(a.body) != 1<<20 {
		t.Fatalf("%d with %d bytes", a.status, len(a.body))
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after the answer: %v", err)
	}
}

// waitingContent waits before its second half.
type waitingContent struct {
	*bytes.Reader
	proceed <-chan struct{}
}

func (c *waitingContent) Read(b []byte) (int, error) {
	if int64(c.Len()) <= c.Size()/2 {
		<-c.proceed
	}
	return c.Reader.Read(b)
}

func (*waitingContent) Close() error { return nil }
