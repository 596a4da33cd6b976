package container

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

// fakeEngine answers as Docker 28 does (shapes taken from its answers), and runs programs that
// are functions. Its containers are plain records.
type fakeEngine struct {
	host     string
	programs map[string]program // by the first word of entrypoint and command

	mu         sync.Mutex
	images     map[string]bool
	registry   map[string]string // answer to a pull by image: "" succeeds
	containers map[string]*fakeContainer
	next       int
	requests   []string
	failing    map[string]int // status by "METHOD path-suffix"
}

// program is what runs in a container. It returns the exit code.
type program func(p *fakeProcess) int

type fakeProcess struct {
	argv           []string
	env            map[string]string
	stdin          io.Reader
	stdout, stderr io.Writer
	files          map[string]string // the container's files: IN_DIR to read, OUT_DIR to write
	stop           <-chan struct{}   // closed by stop and kill
}

type fakeContainer struct {
	id, name string
	config   container.Config
	host     container.HostConfig
	state    container.ContainerState
	code     int
	oom      bool
	finished time.Time
	files    map[string]string
	modes    map[string]int64
	attached net.Conn
	stop     chan struct{}
	exited   chan struct{}
}

func newFakeEngine(t *testing.T, programs map[string]program) *fakeEngine {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	e := &fakeEngine{
		host: "unix://" + socket, programs: programs, images: map[string]bool{"box:1": true}, registry: map[string]string{},
		containers: map[string]*fakeContainer{}, failing: map[string]int{},
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
	})
	return e
}

func (e *fakeEngine) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, "/v1.") {
		path = path[strings.Index(path[1:], "/")+1:]
	}
	e.mu.Lock()
	e.requests = append(e.requests, r.Method+" "+path)
	for suffix, status := range e.failing {
		if method, rest, _ := strings.Cut(suffix, " "); method == r.Method && strings.HasSuffix(path, rest) {
			e.mu.Unlock()
			fail(w, status, "the engine is told to fail")
			return
		}
	}
	e.mu.Unlock()
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
		e.mu.Lock()
		c := e.containers[parts[1]]
		e.mu.Unlock()
		if c == nil {
			fail(w, http.StatusNotFound, "No such container: "+parts[1])
			return
		}
		e.one(w, r, c, strings.Join(parts[2:], "/"))
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

func (e *fakeEngine) one(w http.ResponseWriter, r *http.Request, c *fakeContainer, action string) {
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
		e.mu.Lock()
		running := c.state == container.StateRunning
		e.mu.Unlock()
		if !running {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		close(c.stop)
		<-c.exited
		w.WriteHeader(http.StatusNoContent)
	case "GET json":
		e.mu.Lock()
		defer e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer(w, map[string]any{"Id": c.id, "Name": "/" + c.name, "State": map[string]any{
			"Status": c.state, "OOMKilled": c.oom, "ExitCode": c.code, "FinishedAt": c.finished.Format(time.RFC3339Nano),
		}})
	case "DELETE ":
		e.remove(w, r, c)
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

func (e *fakeEngine) remove(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
	e.mu.Lock()
	running := c.state == container.StateRunning
	e.mu.Unlock()
	if running && r.URL.Query().Get("force") != "1" {
		fail(w, http.StatusConflict, "cannot remove a running container")
		return
	}
	if running {
		close(c.stop)
		<-c.exited
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.containers, c.id)
	w.WriteHeader(http.StatusNoContent)
}

func (e *fakeEngine) list(w http.ResponseWriter, r *http.Request) {
	var filters map[string]map[string]bool
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	e.mu.Lock()
	defer e.mu.Unlock()
	items := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(e.containers)) {
		c := e.containers[id]
		matches := r.URL.Query().Get("all") == "1"
		for label := range filters["label"] {
			key, value, exact := strings.Cut(label, "=")
			got, has := c.config.Labels[key]
			matches = matches && has && (!exact || got == value)
		}
		if matches {
			items = append(items, map[string]any{"Id": c.id, "Names": []string{"/" + c.name}, "State": c.state, "Labels": c.config.Labels})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, items)
}

func (e *fakeEngine) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		container.Config
		HostConfig container.HostConfig
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.URL.Query().Get("name")
	for _, c := range e.containers {
		if c.name == name {
			fail(w, http.StatusConflict, `Conflict. The container name "/`+name+`" is already in use by container "`+c.id+`".`)
			return
		}
	}
	if !e.images[body.Image] {
		fail(w, http.StatusNotFound, "No such image: "+body.Image)
		return
	}
	e.next++
	c := &fakeContainer{
		id: fmt.Sprintf("%064d", e.next), name: name, config: body.Config, host: body.HostConfig, state: container.StateCreated,
		files: map[string]string{}, modes: map[string]int64{}, stop: make(chan struct{}), exited: make(chan struct{}),
	}
	e.containers[c.id] = c
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"Id": c.id, "Warnings": []string{}})
}

func (e *fakeEngine) image(w http.ResponseWriter, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.images[name] {
		fail(w, http.StatusNotFound, "No such image: "+name)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, map[string]any{"Id": "sha256:" + strings.Repeat("0", 64), "RepoTags": []string{name}})
}

func (e *fakeEngine) pull(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	name = strings.TrimPrefix(name, "docker.io/library/")
	e.mu.Lock()
	defer e.mu.Unlock()
	problem, known := e.registry[name]
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
	e.images[name] = true
	answer(w, map[string]any{"status": "Status: Downloaded newer image"})
}

func (e *fakeEngine) putArchive(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
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
		c.modes[name] = header.Mode
		if header.Typeflag == tar.TypeReg {
			c.files[name] = string(content)
		}
	}
}

func (e *fakeEngine) getArchive(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
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

func (e *fakeEngine) attach(w http.ResponseWriter, c *fakeContainer) {
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	e.mu.Lock()
	c.attached = &hijacked{conn, buffered.Reader} // before the answer, which start may follow at once
	e.mu.Unlock()
	fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
}

type hijacked struct {
	net.Conn
	reader *bufio.Reader
}

func (h *hijacked) Read(p []byte) (int, error) { return h.reader.Read(p) }

func (e *fakeEngine) start(w http.ResponseWriter, c *fakeContainer) {
	argv := slices.Concat(c.config.Entrypoint, c.config.Cmd)
	name := "default"
	if len(argv) > 0 {
		name = argv[0]
	}
	run, known := e.programs[name]
	if !known {
		fail(w, http.StatusBadRequest, `failed to create task for container: exec: "`+name+`": executable file not found in $PATH: unknown`)
		return
	}
	e.mu.Lock()
	c.state = container.StateRunning
	conn := c.attached
	e.mu.Unlock()
	env := map[string]string{}
	for _, pair := range c.config.Env {
		key, value, _ := strings.Cut(pair, "=")
		env[key] = value
	}
	p := &fakeProcess{argv: argv, env: env, stdout: frames{conn, 1}, stderr: frames{conn, 2}, stdin: bytes.NewReader(nil), files: c.files, stop: c.stop}
	if c.config.OpenStdin {
		p.stdin = conn
	}
	go func() {
		code := run(p)
		e.mu.Lock()
		c.code, c.state, c.finished, c.oom = code, container.StateExited, time.Now(), code == 137 && env["OOM"] != ""
		e.mu.Unlock()
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

// add puts a container there that an earlier server made.
func (e *fakeEngine) add(name string, state container.ContainerState, finished time.Time, labels map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	id := fmt.Sprintf("%064d", e.next)
	c := &fakeContainer{id: id, name: name, state: state, finished: finished, stop: make(chan struct{}), exited: make(chan struct{})}
	c.config.Labels = labels
	e.containers[id] = c
	if state == container.StateRunning {
		go func() {
			<-c.stop
			e.mu.Lock()
			c.state, c.finished = container.StateExited, time.Now()
			e.mu.Unlock()
			close(c.exited)
		}()
	}
}

// left lists the containers that are there as "name state".
func (e *fakeEngine) left() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []string{}
	for _, c := range e.containers {
		list = append(list, c.name+" "+string(c.state))
	}
	slices.Sort(list)
	return list
}

// last is the container that was made last.
func (e *fakeEngine) last(t *testing.T) *fakeContainer {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.containers[fmt.Sprintf("%064d", e.next)]
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
