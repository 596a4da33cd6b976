package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/testrun"
)

// RealKinds are what tests may be allowed to do in the world (Test.Real), beside scripts in JavaScript, which can reach
// nothing and always run. "resources" lets definitions read external resources from the network.
var RealKinds = []string{"http", "openapi", "grpc", "asyncapi", "mcp", "a2a", "shell", "python", "container", "resources"}

// Test is what tests of workflows may use of this machine. The zero value lets nothing reach the network and starts no
// process but the engine of JavaScript, which is confined (package script).
type Test struct {
	Real         []string // of RealKinds
	ResourceRoot string   // folder of external resources, as of serve
	Log          *slog.Logger

	once sync.Once
	term *term
	runs map[string]activity.Runner
	dir  string
	err  error
}

// Runner returns a runner of tests. c says what is run; its fields of the world are filled in.
// Errors: *installation.SettingError.
func (t *Test) Runner(c testrun.Config) (*testrun.Runner, error) {
	root, err := resourceRoot(t.ResourceRoot)
	if err != nil {
		return nil, err
	}
	local := resource.New(resource.Config{Root: root, Transport: noNetwork{}})
	c.Version, c.CheckProto, c.Real = Version, checkProto, t.runner
	c.Resource = func(ctx context.Context, w plan.Wanted) ([]byte, error) {
		fetcher := local
		switch file := isFile(w.URI); {
		case file && root == "":
			return nil, errors.New("name the folder of resources: --resource-root")
		case !file && !slices.Contains(t.Real, "resources"):
			return nil, errNoNetwork
		case !file:
			if err := t.open(ctx); err != nil {
				return nil, err
			}
			fetcher = t.term.fetcher
		}
		content, err := fetcher.Fetch(ctx, resource.Request{URI: w.URI, Authentication: w.Authentication})
		return content.Data, err
	}
	return testrun.New(c), nil
}

// runner is the runner of a call, where it may be made.
func (t *Test) runner(call activity.Call) (activity.Runner, error) {
	kind := call.Kind
	if kind == "script" {
		args, _ := call.Args.(map[string]any)
		if kind, _ = args["language"].(string); kind != "python" {
			kind = ""
		}
	}
	if kind != "" && !slices.Contains(t.Real, kind) {
		return nil, fmt.Errorf("allow it with --real %s", kind)
	}
	if err := t.open(context.Background()); err != nil {
		return nil, err
	}
	runner := t.runs[call.Kind]
	if runner == nil {
		return nil, fmt.Errorf("there is no activity %q", call.Kind)
	}
	return runner, nil
}

// noNetwork reaches nothing.
type noNetwork struct{}

var errNoNetwork = errors.New("a test reads nothing from the network, unless --real resources says so")

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }

// everywhere are the addresses of machines: who says --real may reach their own.
var everywhere = []string{"0.0.0.0/0", "::/0"}

// open makes the activities when the first one is needed.
func (t *Test) open(ctx context.Context) error {
	t.once.Do(func() {
		if t.dir, t.err = os.MkdirTemp("", "chargehand-test-"); t.err != nil {
			return
		}
		log := t.Log
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		cfg := Config{AllowRun: t.Real, AllowEgress: everywhere, ResourceRoot: t.ResourceRoot}
		cfg.DataDir, cfg.Log = t.dir, log
		t.term = &term{cfg: cfg, log: log}
		if !slices.Contains(t.Real, "resources") { // scripts in JavaScript always run, and may name their source by data
			var root string
			if root, t.err = resourceRoot(t.ResourceRoot); t.err != nil {
				return
			}
			t.term.sources = resource.New(resource.Config{Root: root, Transport: noNetwork{}})
		}
		t.runs, t.err = t.term.activities(ctx, &memoryFiles{files: map[string]memoryFile{}})
	})
	return t.err
}

// Close stops what has been started.
func (t *Test) Close() {
	if t.term != nil && t.term.closeScripts != nil {
		t.term.closeScripts()
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir)
	}
}

// TestSchema is the JSON Schema of test files, for editors.
func TestSchema() []byte { return testfile.Schema() }

// memoryFiles are the files of real tasks in tests. It is safe for concurrent use.
type memoryFiles struct {
	mu    sync.Mutex
	files map[string]memoryFile
}

type memoryFile struct {
	machine.File
	content []byte
}

// maxMemoryFile bounds a file that a real task makes in a test.
const maxMemoryFile = 64 << 20

// Open implements activity.Files.
func (m *memoryFiles) Open(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, _ chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[uri[strings.LastIndexByte(uri, '/')+1:]]
	if !ok {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	return f.File, io.NopCloser(bytes.NewReader(f.content)), nil
}

// Put implements activity.Files.
func (m *memoryFiles) Put(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error) {
	data, err := io.ReadAll(io.LimitReader(content, maxMemoryFile+1))
	if err != nil {
		return machine.File{}, err
	}
	if len(data) > maxMemoryFile {
		return machine.File{}, fmt.Errorf("the file %s has more than %d MiB, the limit of tests", name, maxMemoryFile>>20)
	}
	sum := sha256.Sum256(data)
	f := machine.File{ID: uuid.NewString(), Name: name, MediaType: mediaType, Size: int64(len(data)), Digest: "sha256:" + hex.EncodeToString(sum[:])}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[f.ID] = memoryFile{f, data}
	return f, nil
}
