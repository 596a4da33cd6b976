package apptest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Server is an app.App.
type Server interface {
	Start() <-chan error
	Stop(ctx context.Context)
	Address() net.Addr
}

// Installation is a server that serves, and a key of it.
type Installation struct {
	T       *testing.T
	Dir     string // data directory
	Base    string // address of the API
	Key     string
	server  Server
	stopped bool
}

// Serve starts a server, which the end of the test stops.
func Serve(t *testing.T, server Server, dir, key string) *Installation {
	t.Helper()
	server.Start()
	i := &Installation{T: t, Dir: dir, Key: key, Base: "http://" + server.Address().String() + "/api/v1", server: server}
	t.Cleanup(i.Halt)
	return i
}

// Halt stops the server once.
func (i *Installation) Halt() {
	if i.stopped {
		return
	}
	i.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	i.server.Stop(ctx)
}

// Ask makes a request and decodes the JSON of the answer.
func (i *Installation) Ask(method, path, mediaType, body string) (int, map[string]any) {
	i.T.Helper()
	status, raw := i.Fetch(method, i.Base+path, mediaType, body)
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		i.T.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	return status, v
}

// Fetch makes a request of an absolute address.
func (i *Installation) Fetch(method, address, mediaType, body string) (int, []byte) {
	i.T.Helper()
	r, err := http.NewRequestWithContext(i.T.Context(), method, address, strings.NewReader(body))
	if err != nil {
		i.T.Fatal(err)
	}
	r.Header.Set("x-api-key", i.Key)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		i.T.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		i.T.Fatal(err)
	}
	return resp.StatusCode, raw
}

// Apply applies a definition and returns the id of the workflow.
func (i *Installation) Apply(definition string) string {
	i.T.Helper()
	status, v := i.Ask("POST", "/workflows", "application/yaml", definition)
	if status != 201 {
		i.T.Fatalf("apply: %d %v", status, v)
	}
	return v["id"].(string)
}

// Definition is a workflow of one task.
func Definition(name, task string) string {
	return fmt.Sprintf("document: {dsl: '1.0.3', namespace: default, name: %s, version: '1.0.0'}\ndo:\n  - step: %s\n", name, task)
}

// Await waits until something is the case.
func Await(t *testing.T, so func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen in time")
		}
	}
}

// Damage changes the content of a stored file in a data directory.
func Damage(t *testing.T, dataDir, digest string) {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(dataDir, "files"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(strings.ReplaceAll(path, string(filepath.Separator), ""), digest[4:]) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no content %s: %v", digest, err)
	}
	if err := os.Chmod(found, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found, []byte("not content"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// MasterFile makes a file with a random master key.
// masterFile makes a master key as an operator does for several servers.
func MasterFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "master.key")
	key := make([]byte, 32)
	rand.Read(key)
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
