package docker

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

func (e *Engine) one(w http.ResponseWriter, r *http.Request, c *Container, action string) {
	switch r.Method + " " + action {
	case "PUT archive":
		e.putArchive(w, r, c)
	case "GET archive":
		e.getArchive(w, r, c)
	case "POST attach":
		e.attach(w, c)
	case "POST start":
		e.start(w, c)
	case "POST wait":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select {
		case <-c.exited:
			answer(w, map[string]any{"StatusCode": c.code})
		case <-r.Context().Done():
		}
	case "POST stop", "POST kill":
		e.Lock()
		running := c.state == container.StateRunning
		e.Unlock()
		if !running {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		c.end()
		<-c.exited
		w.WriteHeader(http.StatusNoContent)
	case "GET json":
		e.Lock()
		defer e.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer(w, map[string]any{"Id": c.id, "Name": "/" + c.Name, "State": map[string]any{
			"Status": c.state, "OOMKilled": c.oom, "ExitCode": c.code, "FinishedAt": c.finished.Format(time.RFC3339Nano),
		}})
	case "DELETE ":
		e.remove(w, r, c)
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

func (e *Engine) remove(w http.ResponseWriter, r *http.Request, c *Container) {
	e.Lock()
	running := c.state == container.StateRunning
	e.Unlock()
	if running && r.URL.Query().Get("force") != "1" {
		fail(w, http.StatusConflict, "cannot remove a running container")
		return
	}
	if running {
		c.end()
		<-c.exited
	}
	e.Lock()
	defer e.Unlock()
	delete(e.Containers, c.id)
	w.WriteHeader(http.StatusNoContent)
}

func (e *Engine) list(w http.ResponseWriter, r *http.Request) {
	var filters map[string]map[string]bool
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	e.Lock()
	defer e.Unlock()
	items := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(e.Containers)) {
		c := e.Containers[id]
		matches := r.URL.Query().Get("all") == "1"
		for label := range filters["label"] {
			key, value, exact := strings.Cut(label, "=")
			got, has := c.Config.Labels[key]
			matches = matches && has && (!exact || got == value)
		}
		if matches {
			items = append(items, map[string]any{"Id": c.id, "Names": []string{"/" + c.Name}, "State": c.state, "Labels": c.Config.Labels})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, items)
}

func (e *Engine) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		container.Config
		HostConfig container.HostConfig
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.Lock()
	defer e.Unlock()
	name := r.URL.Query().Get("name")
	for _, c := range e.Containers {
		if c.Name == name {
			fail(w, http.StatusConflict, `Conflict. The container name "/`+name+`" is already in use by container "`+c.id+`".`)
			return
		}
	}
	if !e.Images[body.Image] {
		fail(w, http.StatusNotFound, "No such image: "+body.Image)
		return
	}
	e.next++
	c := &Container{
		id: fmt.Sprintf("%064d", e.next), Name: name, Config: body.Config, Host: body.HostConfig, state: container.StateCreated,
		files: map[string]string{}, Modes: map[string]int64{}, stop: make(chan struct{}), exited: make(chan struct{}),
	}
	e.Containers[c.id] = c
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"Id": c.id, "Warnings": []string{}})
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

func (e *Engine) putArchive(w http.ResponseWriter, r *http.Request, c *Container) {
	archive := tar.NewReader(r.Body)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		content, _ := io.ReadAll(archive)
		name := filepath.Join(r.URL.Query().Get("path"), header.Name)
		c.Modes[name] = header.Mode
		if header.Typeflag == tar.TypeReg {
			c.files[name] = string(content)
		}
	}
}

func (e *Engine) getArchive(w http.ResponseWriter, r *http.Request, c *Container) {
	dir := r.URL.Query().Get("path")
	stat, _ := json.Marshal(map[string]any{"name": filepath.Base(dir), "size": 4096, "mode": 2147484159, "mtime": time.Now(), "linkTarget": ""})
	w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString(stat))
	w.Header().Set("Content-Type", "application/x-tar")
	archive := tar.NewWriter(w)
	defer archive.Close()
	base := filepath.Base(dir)
	_ = archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: base + "/", Mode: 0o777})
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		rest, below := strings.CutPrefix(name, dir+"/")
		if !below {
			continue
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: base + "/" + rest, Size: int64(len(c.files[name])), Mode: 0o600}
		if target, isLink := strings.CutPrefix(c.files[name], "link:"); isLink {
			header = &tar.Header{Typeflag: tar.TypeSymlink, Name: base + "/" + rest, Linkname: target}
		}
		_ = archive.WriteHeader(header)
		if header.Typeflag == tar.TypeReg {
			_, _ = io.WriteString(archive, c.files[name])
		}
	}
}

func (e *Engine) attach(w http.ResponseWriter, c *Container) {
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	e.Lock()
	c.attached = &hijacked{conn, buffered.Reader} // before the answer, which start may follow at once
	e.Unlock()
	fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
}

type hijacked struct {
	net.Conn
	reader *bufio.Reader
}

func (h *hijacked) Read(p []byte) (int, error) { return h.reader.Read(p) }

func (e *Engine) start(w http.ResponseWriter, c *Container) {
	argv := slices.Concat(c.Config.Entrypoint, c.Config.Cmd)
	name := "default"
	if len(argv) > 0 {
		name = argv[0]
	}
	run, known := e.programs[name]
	if !known {
		fail(w, http.StatusBadRequest, `failed to create task for container: exec: "`+name+`": executable file not found in $PATH: unknown`)
		return
	}
	e.Lock()
	c.state = container.StateRunning
	conn := c.attached
	e.Unlock()
	env := map[string]string{}
	for _, pair := range c.Config.Env {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	p := &Process{Argv: argv, Env: env, Stdout: frames{conn, 1}, Stderr: frames{conn, 2}, Stdin: bytes.NewReader(nil), Files: c.files, Stop: c.stop}
	if c.Config.OpenStdin {
		p.Stdin = conn
	}
	go func() {
		code := run(p)
		e.Lock()
		c.code, c.state, c.finished, c.oom = code, container.StateExited, time.Now(), code == 137 && env["OOM"] != ""
		e.Unlock()
		_ = conn.Close()
		close(c.exited)
	}()
	w.WriteHeader(http.StatusNoContent)
}

// frames writes one stream as package stdcopy frames it.
type frames struct {
	w    io.Writer
	kind byte
}

func (f frames) Write(p []byte) (int, error) {
	header := [8]byte{f.kind}
	binary.BigEndian.PutUint32(header[4:], uint32(len(p)))
	if _, err := f.w.Write(append(header[:], p...)); err != nil {
		return 0, err
	}
	return len(p), nil
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
