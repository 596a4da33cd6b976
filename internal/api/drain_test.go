package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
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
	for name, header := range map[string]string{"silent": "", "waiting for leave": "Expect: 100-continue\r\n"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		conn.SetDeadline(began.Add(20 * time.Second))
		fmt.Fprintf(conn, "POST %s/executions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nx-api-key: %s\r\n%sContent-Length: 99999999\r\n\r\n",
			pathW, goodKey, header)
		r := bufio.NewReader(conn)
		wantProblem(t, readAnswer(t, r), 413, "payload_too_large")
		answered := time.Since(began)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: %v after the answer", name, err)
		}
		closed := time.Since(began)
		if answered > drainTime || name != "silent" && closed > drainTime || closed > 5*drainTime {
			t.Errorf("%s: answered after %v, closed after %v", name, answered, closed)
		}
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
request = urllib.request.Request(sys.argv[1], data=b" " * (8 << 20), headers={"Content-Type": "application/json", "x-api-key": sys.argv[2]})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, "http://"+addr+pathW+"/executions", goodKey).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "413 ") || !strings.Contains(string(out), "payload_too_large") {
		t.Errorf("%v\n%s", err, out)
	}
}
