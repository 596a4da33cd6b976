package bench_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
	"github.com/chargehand/chargehand/internal/servertest"
)

// site is an installation in one of the set-ups.
type site struct {
	name          string
	folder        string
	postgres      *peer.Postgres       // nil: SQLite
	temporal      *temporalpeer.Server // nil: the embedded engine
	tables        string               // name of the database of Temporal's server
	namespace     string
	database      string   // URL
	databaseFlags []string // flags of everything that opens the database
	cluster       []string // flags of the cluster

	server     *servertest.Server
	worker     *worker
	key        string
	costs      map[string]float64
	weights    map[string]float64 // of the databases, before the executions that are counted
	statements string
}

func newSite(b *testing.B, name string, postgres *peer.Postgres) *site {
	b.Helper()
	s := &site{name: name, folder: b.TempDir(), postgres: postgres, costs: map[string]float64{}, weights: map[string]float64{}}
	if postgres == nil {
		return s
	}
	s.database = postgres.NewDatabase(b)
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	path := filepath.Join(s.folder, "master.key")
	if err := os.WriteFile(path, key, 0o600); err != nil {
		b.Fatal(err)
	}
	s.databaseFlags = []string{"--database-url", s.database, "--master-key-file", path, "--files-url", "file://" + filepath.Join(s.folder, "shared")}
	return s
}

// on starts a Temporal server for the site, with its tables in a database of its own. It is
// down while another site is measured.
func (s *site) on(b *testing.B, tables string, settings ...string) *site {
	b.Helper()
	s.tables = tables
	s.temporal = temporalpeer.Start(b, temporalpeer.Options{Database: s.postgres.URL(tables), Settings: settings})
	s.namespace = s.temporal.NewNamespace(b)
	s.cluster = []string{"--temporal-address", s.temporal.Address(), "--temporal-namespace", s.namespace}
	if out, err := servertest.Command(b, append([]string{"temporal", "setup"}, s.cluster...)...).CombinedOutput(); err != nil {
		b.Fatalf("temporal setup: %v\n%s", err, out)
	}
	s.temporal.Kill()
	return s
}

// start starts the processes of the site: a server, and with Temporal a worker.
func (s *site) start(b *testing.B) {
	b.Helper()
	args := append([]string{"--rate-limit", "0", "--allow-egress", "127.0.0.1"}, s.databaseFlags...)
	if s.temporal != nil {
		s.temporal.Restart()
		args = append(append(args, "--engine", "temporal", "--workers", "0"), s.cluster...)
	}
	s.server = servertest.Launch(b, servertest.Options{DataDir: s.folder, Args: args})
	if s.key == "" {
		s.key = servertest.CreateKey(b, s.folder, append([]string{"--preset", "all"}, s.databaseFlags...)...)
	}
	s.server.Key = s.key
	if s.temporal != nil {
		s.worker = startWorker(b, s)
	}
}

func (s *site) stop() {
	s.server.Stop()
	if s.temporal != nil {
		s.worker.stop()
		s.temporal.Kill()
	}
}

// worker is a process of `chargehand worker`.
type worker struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer // until it has exited
}

func startWorker(b *testing.B, s *site) *worker {
	b.Helper()
	address := freeAddress(b)
	args := []string{"worker", "--listen", address, "--data-dir", filepath.Join(s.folder, "worker"), "--allow-egress", "127.0.0.1"}
	w := &worker{exited: make(chan struct{}), cmd: servertest.Command(b, append(append(args, s.databaseFlags...), s.cluster...)...)}
	w.cmd.Stderr = &w.log
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal is tied to the thread that started the process
		defer close(w.exited)
		err := w.cmd.Start()
		started <- err
		if err == nil {
			_ = w.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.stop)
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	for {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return w
			}
		}
		select {
		case <-w.exited:
			b.Fatalf("the worker ended at once\n%s", w.log.String())
		case <-ctx.Done():
			b.Fatal("the worker is not ready")
		case <-time.After(5 * time.Millisecond): // readiness has no other signal from outside
		}
	}
}

// freeAddress is an address that was free a moment ago.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (w *worker) stop() {
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	<-w.exited
}

// processes are the ids of the processes of the site, by what they are.
func (s *site) processes(b *testing.B) map[string][]int {
	all := map[string][]int{"server": {s.server.PID()}}
	if s.worker != nil {
		all["worker"] = []int{s.worker.cmd.Process.Pid}
	}
	if s.temporal != nil {
		all["Temporal"] = []int{s.temporal.PID()}
	}
	if s.postgres == nil {
		return all
	}
	s.query(b, `SELECT coalesce(datname, ''), pid, datname = current_database() FROM pg_stat_activity WHERE pid <> pg_backend_pid()`, func(values []any) {
		kind := "PostgreSQL, its own work"
		switch own, _ := values[2].(bool); {
		case own:
			kind = "PostgreSQL, for Chargehand"
		case s.temporal != nil && (values[0] == s.tables || values[0] == s.tables+"_visibility"):
			kind = "PostgreSQL, for Temporal"
		}
		all[kind] = append(all[kind], int(values[1].(int32)))
	})
	return all
}
