package temporalpeer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"
)

// namespaceRetention is how long a namespace of a test keeps what has ended.
const namespaceRetention = 24 * time.Hour

// Options say how a server is started. The zero value is a server on a database
// file that ends with its test.
type Options struct {
	// Database is the URL of a PostgreSQL server with a database that need not exist yet
	// (Postgres.URL); another with _visibility after its name is made beside it. It stays
	// when the server ends. Empty: a file in a temporary folder.
	Database string
	// Settings are dynamic configuration of the server, as key=value:
	// "limit.historyCount.suggestContinueAsNew=50" has it suggest that after 50 events,
	// "limit.numPendingActivities.error=100" bounds what pends in a run.
	Settings []string
	// Metrics has the server tell its metrics to Prometheus (MetricsURL).
	Metrics bool
	// Keep leaves the end to the caller (Stop), who shares one server between the tests of a
	// package: TestMain stops it.
	Keep bool
}

// Server is a Temporal server with data of its own. Methods that fail end the test that
// started it. Address, Client and NewNamespace may be called by tests side by side.
type Server struct {
	process    *peer.Process
	port       int
	metrics    string
	folder     string // of the database file; empty on PostgreSQL
	namespaces atomic.Int64
}

// Start starts a server, which takes a few tenths of a second.
func Start(tb testing.TB, options ...Options) *Server {
	tb.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	path := peer.Program(tb, "temporal-server")
	s := &Server{port: peer.FreePort(tb)}
	if o.Database == "" {
		folder, err := os.MkdirTemp("", "chargehand-temporal-")
		if err != nil {
			tb.Fatal(err)
		}
		s.folder, o.Database = folder, "file:"+filepath.Join(folder, "temporal.db")
	}
	args := []string{"--address", s.Address(), "--database", o.Database}
	for _, setting := range o.Settings {
		args = append(args, "--set", setting)
	}
	if o.Metrics {
		s.metrics = fmt.Sprint("127.0.0.1:", peer.FreePort(tb))
		args = append(args, "--metrics", s.metrics)
	}
	s.process = &peer.Process{TB: tb, Ready: s.answers, Command: func() *exec.Cmd { return exec.Command(path, args...) }}
	if !o.Keep {
		tb.Cleanup(s.Stop)
	}
	s.process.Start()
	return s
}

// Address is where clients connect: host:port, the same after Restart.
func (s *Server) Address() string { return fmt.Sprint("127.0.0.1:", s.port) }

// MetricsURL is where the server tells its metrics; empty without Options.Metrics.
func (s *Server) MetricsURL() string {
	if s.metrics == "" {
		return ""
	}
	return "http://" + s.metrics + "/metrics"
}

// answers reports whether the server takes work: all its services, not only the one that
// listens, are asked for an answer that is in the database.
func (s *Server) answers() error {
	if err := peer.Listens(s.port); err != nil {
		return err // the SDK would wait between its attempts
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := client.NewLazyClient(clientOptions(s.Address(), "temporal-system"))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	_, err = c.DescribeTaskQueue(ctx, "ready", 1)
	return err
}

func clientOptions(address, namespace string) client.Options {
	return client.Options{
		HostPort: address, Namespace: namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
}

// Folder holds the database file; empty on PostgreSQL.
func (s *Server) Folder() string { return s.folder }

// Client connects to a namespace. It ends with the test.
func (s *Server) Client(tb testing.TB, namespace string) client.Client {
	tb.Helper()
	c, err := client.DialContext(tb.Context(), clientOptions(s.Address(), namespace))
	if err != nil {
		tb.Fatalf("connect to Temporal: %v", err)
	}
	tb.Cleanup(c.Close)
	return c
}

// NewNamespace makes a namespace for this test alone, which can be used at once, and
// returns its name. It keeps what has ended for a day.
func (s *Server) NewNamespace(tb testing.TB) string {
	tb.Helper()
	c, err := client.NewNamespaceClient(clientOptions(s.Address(), ""))
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	name := fmt.Sprintf("test-%d-%s", s.namespaces.Add(1), strings.ToLower(rand.Text()[:8]))
	err = c.Register(tb.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(namespaceRetention),
	})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	return name
}

// Kill ends the server at once, as kill -9 does. What it has acknowledged stays.
func (s *Server) Kill() { s.process.Signal(syscall.SIGKILL) }

// Restart brings the server back at the same address with the same data, after Kill or from
// whatever it did.
func (s *Server) Restart() {
	s.Kill()
	s.process.Start()
}

// Pause stops and continues the server, as SIGSTOP and SIGCONT do.
func (s *Server) Pause(paused bool) { s.process.Pause(paused) }

// Stop ends the server, with its data unless that is in PostgreSQL.
func (s *Server) Stop() {
	s.Kill() // to end in good order takes seconds, and keeps no more
	if s.folder != "" {
		if err := os.RemoveAll(s.folder); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.process.TB.Errorf("remove the data of Temporal: %v", err)
		}
	}
}

// Log is what the server has said: warnings and errors.
func (s *Server) Log() string { return s.process.Text() }

// PID is the process id of the running server, for measurements.
func (s *Server) PID() int { return s.process.PID() }
