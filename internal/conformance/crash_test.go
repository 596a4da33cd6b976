package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/store"
)

// maxCommits bounds the commits of a scenario at which it is crashed.
const maxCommits = 200

// crashedApart is how far the scenarios are apart that a sample crashes, and commitsApart the commits at which it does.
// Few commits between them spend more of the time on crashes than on scenarios that end before the first one.
const crashedApart, commitsApart = 5, 3

// TestConformanceCrash runs each scenario of our own with a crash after its first commit, after its
// second, and so on, until it makes no more; a sample of these where not everything is run.
func TestConformanceCrash(t *testing.T) { crashEverywhere(t, ownFeatures(t)) }

// TestKitCrash does the same with the scenarios of the kit.
func TestKitCrash(t *testing.T) {
	crashEverywhere(t, readFeatures(t, filepath.Join(servertest.Kit(t), "ctk")))
}

func crashEverywhere(t *testing.T, all []*feature) {
	servertest.Only(t, servertest.SQLite)
	shared := newPeers(t)
	installed := install(t)
	var crashes, scenarios atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		one, apart := sample.Every(t, crashedApart)
		for i := one; i <= len(all); i += apart {
			f := all[i-1]
			if f.has("@slow") || f.has("@binary") {
				continue
			}
			t.Run(f.title(), func(t *testing.T) {
				t.Parallel()
				scenarios.Add(1)
				first, step := sample.Every(t, commitsApart)
				for k := first; k <= maxCommits; k += step {
					outside := newStandIn(t)
					outside.join(t, shared)
					h := startMortal(t, outside, installed, f, int64(k))
					err := f.run(newScenario(t, h, outside))
					h.end()
					if err != nil {
						t.Fatalf("crash after commit %d: %v", k, err)
					}
					if h.lives.Load() == 1 {
						return
					}
					crashes.Add(1)
				}
				t.Errorf("the scenario makes more than %d commits", maxCommits)
			})
		}
	})
	t.Logf("%d scenarios survived %d crashes", scenarios.Load(), crashes.Load())
	if crashes.Load() == 0 {
		t.Error("nothing was crashed")
	}
}

// mortal is an installation inside the test that crashes after a commit, once, and comes back.
type mortal struct {
	t     *testing.T
	cfg   app.Config
	key   string
	at    int64 // crash after that commit
	armed atomic.Bool
	count atomic.Int64
	lives atomic.Int64

	mu     sync.RWMutex // held for writing while it is dead
	app    *app.App
	base   string
	ended  bool
	reborn sync.WaitGroup
}

// installation is an empty one with a key, made once: many begin as a copy of it.
type installation struct {
	files map[string][]byte
	key   string
}

func install(t *testing.T) installation {
	t.Helper()
	dir := t.TempDir()
	var cfg app.Config
	cfg.DataDir = dir
	key, err := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	made := installation{files: map[string][]byte{}, key: key}
	entries, err := os.ReadDir(dir)
	for i := 0; i < len(entries) && err == nil; i++ {
		if entries[i].Type().IsRegular() {
			made.files[entries[i].Name()], err = os.ReadFile(filepath.Join(dir, entries[i].Name()))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// copyTo writes the installation into an empty folder.
func (i installation) copyTo(t *testing.T, dir string) {
	t.Helper()
	for name, data := range i.files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func startMortal(t *testing.T, outside *standIn, made installation, f *feature, at int64) *mortal {
	t.Helper()
	h := &mortal{t: t, at: at, key: made.key}
	dir := t.TempDir()
	made.copyTo(t, dir)
	chosen, processes := f.settings(), allowed
	if !f.mentions("python") { // each life would start it, to ask for its version
		processes = slices.DeleteFunc(slices.Clone(allowed), func(kind string) bool { return kind == "python" })
	}
	h.cfg = app.Config{
		Listen: "127.0.0.1:0", AllowRun: processes, TrustedCA: []string{outside.caFile},
		ConnectTo: outside.mappings(), ResourceRoot: files(t), WrapDatabase: h.wrap,
		LifecycleEvents: chosen.lifecycle, LifecyclePrefix: chosen.prefix,
	}
	h.cfg.DataDir = dir
	h.begin()
	return h
}

// begin makes a new life from what is stored.
func (h *mortal) begin() {
	a, err := app.New(context.Background(), h.cfg)
	if err != nil {
		h.t.Errorf("start after a crash: %v", err)
		return
	}
	a.Start()
	h.lives.Add(1)
	h.app, h.base = a, "http://"+a.Address().String()+"/api/v1"
}

// end lets go of the installation.
func (h *mortal) end() {
	h.mu.Lock()
	h.ended = true // what the stop writes is no commit of the scenario
	h.mu.Unlock()
	h.reborn.Wait()
	h.stop()
}

// stop ends a life without letting anything end in order.
func (h *mortal) stop() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	h.app.Stop(now)
}

func (h *mortal) Arm() { h.armed.Store(true) }

// Try implements host. A request that the crash cut off is sent again; what makes something has
// a key of its own for that.
func (h *mortal) Try(method, path, body string, headers ...string) (servertest.Answer, error) {
	if method == http.MethodPost {
		sum := sha256.Sum256([]byte(path + " " + body))
		headers = append(headers, "Idempotency-Key", hex.EncodeToString(sum[:]))
	}
	for deadline := time.Now().Add(stepTimeout); ; {
		h.mu.RLock()
		server := servertest.Server{URL: h.base[:len(h.base)-len("/api/v1")], Key: h.key}
		h.mu.RUnlock()
		a, err := server.Try(method, path, body, headers...)
		var refused net.Error
		cut := errors.As(err, &refused) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
		if cut || err == nil && a.Status == http.StatusServiceUnavailable {
			if time.Now().Before(deadline) {
				time.Sleep(2 * time.Millisecond) // it comes back without a word
				continue
			}
		}
		return a, err
	}
}

// wrap stands between the store and the database of one life.
func (h *mortal) wrap(db store.DB) store.DB { return &life{DB: db, host: h} }

// crash throws the life away and begins the next one, unless the scenario is over.
func (h *mortal) crash() {
	h.reborn.Go(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.ended {
			h.stop()
			h.begin()
		}
	})
}

// life is the database as one life sees it: after the crash it is gone.
type life struct {
	store.DB
	host *mortal
	dead atomic.Bool
}

func (l *life) Update(ctx context.Context, fn func(store.Conn) error) error {
	if l.dead.Load() {
		return store.ErrUnavailable
	}
	err := l.DB.Update(ctx, fn)
	if l.dead.Load() {
		return store.ErrUnavailable // the host died meanwhile; the caller does not learn whether that was written
	}
	if err == nil && l.host.armed.Load() && l.host.count.Add(1) == l.host.at {
		l.dead.Store(true)
		l.host.crash()
		return store.ErrUnavailable
	}
	return err
}

func (l *life) View(ctx context.Context, fn func(store.Conn) error) error {
	if l.dead.Load() {
		return store.ErrUnavailable
	}
	return l.DB.View(ctx, fn)
}
