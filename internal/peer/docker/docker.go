package docker

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
)

// Engine answers as Docker 28 does (shapes taken from its answers), and runs programs that
// are functions. Its containers are plain records.
type Engine struct {
	Host     string             // as DOCKER_HOST names it
	programs map[string]Program // by the first word of entrypoint and command

	sync.Mutex // for what follows
	Images     map[string]bool
	Registry   map[string]string // answer to a pull by image: "" succeeds
	Containers map[string]*Container
	Requests   []string
	Failing    map[string]int // status by "METHOD path-suffix"; Hang: no answer at all
	next       int
}

// Hang, as a status in Engine.Failing, is a request that is never answered.
const Hang = -1

// Program is what runs in a container. It returns the exit code.
type Program func(p *Process) int

// Process is what a program sees of its container.
type Process struct {
	Argv           []string
	Env            map[string]string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Files          map[string]string // the container's files: IN_DIR to read, OUT_DIR to write
	Stop           <-chan struct{}   // closed by stop and kill
}

// Container is a container as it was asked for.
type Container struct {
	Name     string
	Config   container.Config
	Host     container.HostConfig
	Modes    map[string]int64 // of what was copied into it
	id       string
	state    container.ContainerState
	code     int
	oom      bool
	finished time.Time
	files    map[string]string
	attached net.Conn
	stop     chan struct{}
	stopping sync.Once
	exited   chan struct{}
}

func (c *Container) end() { c.stopping.Do(func() { close(c.stop) }) }

// Start starts an engine that ends with the test, at a socket of its own. It has the image
// box:1. Programs are found by the first word of what a container runs; "default" is that of
// an image without a command.
func Start(t testing.TB, programs map[string]Program) *Engine {
	t.Helper()
	return StartAt(t, filepath.Join(t.TempDir(), "engine.sock"), programs)
}

// StartAt is Start at the given socket.
func StartAt(t testing.TB, socket string, programs map[string]Program) *Engine {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{
		Host: "unix://" + socket, programs: programs, Images: map[string]bool{"box:1": true}, Registry: map[string]string{},
		Containers: map[string]*Container{}, Failing: map[string]int{},
	}
	server := &http.Server{Handler: http.HandlerFunc(e.serve)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		e.Lock()
		defer e.Unlock()
		for _, c := range e.Containers {
			c.end()
		}
	})
	return e
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, "/v1.") {
		path = path[strings.Index(path[1:], "/")+1:]
	}
	e.Lock()
	e.Requests = append(e.Requests, r.Method+" "+path)
	for suffix, status := range e.Failing {
		if method, rest, _ := strings.Cut(suffix, " "); method == r.Method && strings.HasSuffix(path, rest) {
			e.Unlock()
			if status == Hang {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client leaves
				<-r.Context().Done()
				return
			}
			fail(w, status, "the test makes the engine fail")
			return
		}
	}
	e.Unlock()
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/_ping":
		w.Header().Set("Api-Version", "1.50")
		w.Header().Set("Ostype", "linux")
		fmt.Fprint(w, "OK")
	case path == "/containers/json":
		e.list(w, r)
	case path == "/containers/create":
		e.create(w, r)
	case path == "/images/create":
		e.pull(w, r)
	case parts[0] == "images" && parts[len(parts)-1] == "json":
		e.image(w, strings.Join(parts[1:len(parts)-1], "/"))
	case parts[0] == "containers" && len(parts) >= 2:
		e.Lock()
		c := e.Containers[parts[1]]
		e.Unlock()
		if c == nil {
			fail(w, http.StatusNotFound, "No such container: "+parts[1])
			return
		}
		e.one(w, r, c, strings.Join(parts[2:], "/"))
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

func (e *Engine) image(w http.ResponseWriter, name string) {
	e.Lock()
	defer e.Unlock()
	if !e.Images[name] {
		fail(w, http.StatusNotFound, "No such image: "+name)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, map[string]any{"Id": "sha256:" + strings.Repeat("0", 64), "RepoTags": []string{name}})
}

func (e *Engine) pull(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	name = strings.TrimPrefix(name, "docker.io/library/")
	e.Lock()
	defer e.Unlock()
	problem, known := e.Registry[name]
	if !known {
		fail(w, http.StatusNotFound, "pull access denied for "+name+", repository does not exist or may require 'docker login'")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, map[string]any{"status": "Pulling from library", "id": "1"})
	if problem != "" {
		answer(w, map[string]any{"errorDetail": map[string]any{"message": problem}, "error": problem})
		return
	}
	e.Images[name] = true
	answer(w, map[string]any{"status": "Status: Downloaded newer image"})
}

// Add puts a container there that an earlier server made.
func (e *Engine) Add(name string, state container.ContainerState, finished time.Time, labels map[string]string) {
	e.Lock()
	defer e.Unlock()
	e.next++
	id := fmt.Sprintf("%064d", e.next)
	c := &Container{id: id, Name: name, state: state, finished: finished, stop: make(chan struct{}), exited: make(chan struct{})}
	c.Config.Labels = labels
	e.Containers[id] = c
	if state == container.StateRunning {
		go func() {
			<-c.stop
			e.Lock()
			c.state, c.finished = container.StateExited, time.Now()
			e.Unlock()
			close(c.exited)
		}()
	}
}

// Left lists the containers that are there as "name state".
func (e *Engine) Left() []string {
	e.Lock()
	defer e.Unlock()
	list := []string{}
	for _, c := range e.Containers {
		list = append(list, c.Name+" "+string(c.state))
	}
	slices.Sort(list)
	return list
}

// Last is the container that was made last.
func (e *Engine) Last(t testing.TB) *Container {
	t.Helper()
	e.Lock()
	defer e.Unlock()
	c := e.Containers[fmt.Sprintf("%064d", e.next)]
	if c == nil {
		t.Fatal("the last container is gone")
	}
	return c
}

func answer(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) }

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	answer(w, map[string]any{"message": message})
}
