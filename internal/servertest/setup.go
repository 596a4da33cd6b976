package servertest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
)

// The set-ups of an installation that the tests know (CHARGEHAND_TEST_SETUP).
const (
	// SQLite is everything in one process; the default.
	SQLite = "sqlite"
	// Postgres is the embedded engine on PostgreSQL.
	Postgres = "postgres"
	// Temporal is the Temporal engine on PostgreSQL.
	Temporal = "temporal"
)

// Setup is the set-up that servers of this test process get.
func Setup(t testing.TB) string {
	t.Helper()
	switch setup := os.Getenv("CHARGEHAND_TEST_SETUP"); setup {
	case "", SQLite:
		return SQLite
	case Postgres, Temporal:
		return setup
	default:
		t.Fatalf("CHARGEHAND_TEST_SETUP: %q is not %s, %s or %s", setup, SQLite, Postgres, Temporal)
		return ""
	}
}

// Only skips a test that is about one set-up in the others.
func Only(t testing.TB, setup string) {
	t.Helper()
	if got := Setup(t); got != setup {
		t.Skipf("this is about %s; the set-up is %s", setup, got)
	}
}

// peers are the servers that all servers of this test process share. Main stops them.
var peers struct {
	mu        sync.Mutex
	postgres  *peer.Postgres
	temporal  *temporalpeer.Server
	locations map[string][]string // flags by data directory
}

// Main runs the tests of a package whose servers may need others, and stops those.
func Main(m *testing.M) int {
	code := m.Run()
	peers.mu.Lock()
	defer peers.mu.Unlock()
	if peers.temporal != nil {
		peers.temporal.Stop()
	}
	if peers.postgres != nil {
		peers.postgres.Stop()
	}
	return code
}

// Location returns the flags that say where the installation of a data directory keeps its rows
// and which engine drives it. Each data directory has a database and a namespace of its own.
func Location(t testing.TB, dataDir string) []string {
	t.Helper()
	setup := Setup(t)
	if setup == SQLite {
		return nil
	}
	peers.mu.Lock()
	defer peers.mu.Unlock()
	if flags, ok := peers.locations[dataDir]; ok {
		return flags
	}
	if peers.postgres == nil {
		peers.postgres = peer.StartPostgres(t, peer.PostgresOptions{Keep: true, Careless: true})
		peers.locations = make(map[string][]string)
	}
	key := filepath.Join(dataDir, "master.key")
	makeKey(t, key)
	flags := []string{"--database-url", peers.postgres.NewDatabase(t), "--master-key-file", key}
	peers.locations[dataDir] = flags
	return flags
}

// Engine returns the flags of `serve` that say which engine drives the installation of a data
// directory.
func Engine(t testing.TB, dataDir string) []string {
	t.Helper()
	if Setup(t) != Temporal {
		return nil
	}
	peers.mu.Lock()
	defer peers.mu.Unlock()
	name := "engine of " + dataDir
	if flags, ok := peers.locations[name]; ok {
		return flags
	}
	if peers.temporal == nil {
		peers.temporal = temporalpeer.Start(t, temporalpeer.Options{Keep: true})
	}
	namespace := peers.temporal.NewNamespace(t)
	cluster := []string{"--temporal-address", peers.temporal.Address(), "--temporal-namespace", namespace}
	out, err := Command(t, append([]string{"temporal", "setup"}, cluster...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("temporal setup: %v\n%s", err, out)
	}
	flags := append([]string{"--engine", "temporal"}, cluster...)
	peers.locations[name] = flags
	return flags
}

// Stored returns where the servers of a data directory keep what they are given: folders, and the address of a
// PostgreSQL database, if there is one.
func Stored(t testing.TB, dataDir string) (folders []string, database string) {
	t.Helper()
	folders = []string{dataDir}
	if flags := Location(t, dataDir); flags != nil {
		database = flags[1]
	}
	peers.mu.Lock()
	defer peers.mu.Unlock()
	if peers.temporal != nil {
		folders = append(folders, peers.temporal.Folder())
	}
	return folders, database
}

// makeKey makes a master key as an operator of several servers does.
func makeKey(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
}
