package servertest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/value"
)

// Root is the top folder of the repository.
func Root() string { return peer.Root() }

// Kit is the folder with the conformance kit of the workflow language and the examples of its
// specification, in the folder that CHARGEHAND_SHARED names or in one beside the repository. A clone
// alone does not have it: the tests that read it (TestKit…) are a step of their own (scripts/test).
func Kit(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("CHARGEHAND_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared")
		if _, err := os.Stat(filepath.Join(dir, "openworkflow")); err != nil {
			t.Skip("the conformance kit is not here; CHARGEHAND_SHARED names the folder that holds it")
		}
	}
	return filepath.Join(dir, "openworkflow")
}

var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CHARGEHAND_TEST_BINARY"); path != "" {
		return path, nil
	}
	path := filepath.Join(Root(), "bin", "chargehand")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/chargehand")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
})

// Binary builds the program once per test process and returns its path.
// CHARGEHAND_TEST_BINARY names one that is already built.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Environment is the environment of this process without what the program reads: a shell may name an installation that
// people work with (its database, its address and a key).
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CHARGEHAND_") })
}

// Command is a command of the program, with that environment.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	cmd.Env = Environment()
	return cmd
}

// Options of a server.
type Options struct {
	DataDir string   // default: a new temporary one
	Args    []string // further flags of serve
	Env     []string // further NAME=value
	Listen  string   // default 127.0.0.1:0
}

// Server is a running `chargehand serve`.
type Server struct {
	URL     string // http://127.0.0.1:port
	DataDir string
	Key     string // a live key with the preset all

	cmd    *exec.Cmd
	exited chan struct{}
	err    error

	mu  sync.Mutex
	log bytes.Buffer
}

// Start runs a server, waits until it is ready, and stops it when the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	s := Launch(t, o)
	s.Key = CreateKey(t, s.DataDir, "--preset", "all")
	return s
}

var listening = regexp.MustCompile(`url=(http://[0-9.:\[\]]+)`)

// Launch is Start without a key.
func Launch(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	s := &Server{DataDir: o.DataDir, exited: make(chan struct{})}
	args := append([]string{"serve", "--data-dir", o.DataDir, "--listen", o.Listen}, Location(t, o.DataDir)...)
	args = append(append(args, Engine(t, o.DataDir)...), o.Args...)
	s.cmd = Command(t, args...)
	s.cmd.Env = append(s.cmd.Env, o.Env...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout = io.Discard
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	address := make(chan string, 1)
	logRead := make(chan struct{})
	go func() {
		defer close(logRead)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.log.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case address <- m[1]:
				default:
				}
			}
		}
	}()
	go func() {
		<-logRead
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.Log())
		}
	})
	select {
	case s.URL = <-address:
	case <-s.exited:
		t.Fatalf("the server ended at once: %v\n%s", s.err, s.Log())
	case <-time.After(2 * time.Minute):
		t.Fatalf("the server does not say its address\n%s", s.Log())
	}
	s.awaitReady(t)
	return s
}

func (s *Server) awaitReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-s.exited:
			t.Fatalf("the server ended before it was ready: %v\n%s", s.err, s.Log())
		case <-ctx.Done():
			t.Fatalf("the server is not ready: %v\n%s", err, s.Log())
		case <-time.After(2 * time.Millisecond): // readiness has no other signal from outside
		}
	}
}

// Log is what the server wrote to stderr so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// PID is the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Kill ends the server as kill -9 does, and waits until it is gone.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// Stop ends the server with SIGTERM and returns its exit code.
func (s *Server) Stop() int {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.exited
	return s.cmd.ProcessState.ExitCode()
}

// CreateKey makes a key with `chargehand keys create`, beside the running server.
func CreateKey(t testing.TB, dataDir string, args ...string) string {
	t.Helper()
	all := append([]string{"keys", "create", "--data-dir", dataDir}, Location(t, dataDir)...)
	out, err := Command(t, append(all, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("keys create: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("keys create: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Answer is an HTTP answer, with its body parsed when it is JSON.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   value.Value
}

// Object is the body as an object; nil if it is none.
func (a Answer) Object() map[string]any {
	object, _ := a.JSON.(map[string]any)
	return object
}

// Do sends a request with the server's key; path is absolute or relative to /api/v1.
// headers are pairs of name and value and replace the defaults.
func (s *Server) Do(t testing.TB, method, path, body string, headers ...string) Answer {
	t.Helper()
	a, err := s.Try(method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Try is Do for tests in which the server may be down.
func (s *Server) Try(method, path, body string, headers ...string) (Answer, error) {
	url := path
	if !strings.HasPrefix(path, "http") {
		url = s.URL + "/api/v1" + path
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("X-Api-Key", s.Key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return Answer{}, err
	}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		a.JSON, err = value.Parse(a.Body, value.Limits{Depth: 300})
	}
	return a, err
}

// Apply deploys a definition and returns the workflow's id.
func (s *Server) Apply(t testing.TB, definition string) string {
	t.Helper()
	a := s.Do(t, http.MethodPost, "/workflows", definition, "Content-Type", "application/yaml")
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		t.Fatalf("apply: %d %s", a.Status, a.Body)
	}
	id, _ := a.Object()["id"].(string)
	return id
}

// Run starts one execution, waits for its end and returns the execution as it is read.
func (s *Server) Run(t testing.TB, workflow, input string) map[string]any {
	t.Helper()
	a := s.Do(t, http.MethodPost, "/workflows/"+workflow+"/executions?wait=60s", `{"input":`+input+`}`)
	if a.Status != http.StatusCreated {
		t.Fatalf("start: %d %s", a.Status, a.Body)
	}
	id, _ := a.Object()["execution_id"].(string)
	read := s.Do(t, http.MethodGet, "/workflows/"+workflow+"/executions/"+id+"?wait=60s", "")
	if read.Status != http.StatusOK {
		t.Fatalf("read: %d %s", read.Status, read.Body)
	}
	return read.Object()
}
