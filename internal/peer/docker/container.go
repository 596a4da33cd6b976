package docker

import (
	"archive/tar"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
)

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
