package drill_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
	"github.com/chargehand/chargehand/internal/servertest"
)

// site is an installation of several nodes: its servers, its settings, and the receiver that
// its workflows call.
type site struct {
	t         *testing.T
	folder    string
	database  string // URL
	temporal  *temporalpeer.Server
	namespace string
	files     []string // flags
	env       []string
	more      []string // flags of every node
	key       string   // an API key with the preset all
	receiver  *receiver
}

// newSite makes the settings of an installation on servers that run.
func newSite(t *testing.T, postgres *peer.Postgres, temporal *temporalpeer.Server, more ...string) *site {
	t.Helper()
	s := &site{
		t: t, folder: t.TempDir(), temporal: temporal, database: postgres.NewDatabase(t), namespace: temporal.NewNamespace(t),
		more: more, receiver: newReceiver(t),
	}
	s.files = []string{"--files-url", "file://" + filepath.Join(s.folder, "files")}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	if err := os.WriteFile(s.masterKey(), key, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(append([]string{"temporal", "setup"}, s.cluster()...)...)
	return s
}

func (s *site) masterKey() string { return filepath.Join(s.folder, "master.key") }

func (s *site) cluster() []string {
	return []string{"--temporal-address", s.temporal.Address(), "--temporal-namespace", s.namespace}
}

// locationFlags are the flags that say where rows and files are.
func (s *site) locationFlags() []string {
	return append([]string{"--database-url", s.database, "--master-key-file", s.masterKey()}, s.files...)
}

// run runs a command of the program to its end.
func (s *site) run(args ...string) string {
	s.t.Helper()
	cmd := servertest.Command(s.t, args...)
	cmd.Env = append(servertest.Environment(), s.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(args[:2], " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// api prepares an API node without workers.
func (s *site) api(name string) *node { return s.serve(name, "--workers", "0") }

// serve prepares a node with an API.
func (s *site) serve(name string, more ...string) *node {
	args := append([]string{"serve", "--engine", "temporal", "--rate-limit", "0"}, more...)
	args = append(args, s.locationFlags()...)
	return s.node(name, append(args, s.cluster()...))
}

// worker prepares a worker, which the receiver knows by its name.
func (s *site) worker(name string) *node {
	args := append([]string{"worker", "--connect-to", s.receiver.openPort(name)}, s.locationFlags()...)
	return s.node(name, append(args, s.cluster()...))
}

func (s *site) node(name string, args []string) *node {
	args = append(args, "--allow-run", "shell", "--allow-egress", "127.0.0.1")
	n := newNode(s.t, name, filepath.Join(s.folder, name), s.env, append(args, s.more...)...)
	n.register()
	return n
}

// open starts nodes side by side and makes a key.
func (s *site) open(nodes ...*node) {
	s.t.Helper()
	for _, n := range nodes {
		n.start()
	}
	for _, n := range nodes {
		n.awaitReady()
	}
	keys := append([]string{"keys", "create", "--preset", "all", "--data-dir", filepath.Join(s.folder, "keys")}, s.locationFlags()[:4]...)
	s.key = s.run(keys...)
}

// server is an API node as a client sees it.
func (s *site) server(n *node) *servertest.Server { return &servertest.Server{URL: n.url, Key: s.key} }

// together runs functions side by side, and ends the test if one of them failed.
func together(t *testing.T, work ...func()) {
	t.Helper()
	var all sync.WaitGroup
	for _, f := range work {
		all.Go(f)
	}
	all.Wait()
	switch {
	case t.Failed():
		t.FailNow()
	case t.Skipped():
		t.SkipNow()
	}
}

// stopAll ends nodes in good order, side by side, and checks that nothing is left of them.
func stopAll(t *testing.T, nodes ...*node) {
	t.Helper()
	var all sync.WaitGroup
	for _, n := range nodes {
		n.remember()
		all.Go(func() {
			if code := n.stop(); code != 0 {
				t.Errorf("%s ended with exit code %d", n.name, code)
			}
		})
	}
	all.Wait()
	for _, n := range nodes {
		n.verifyGone()
	}
}

// definition is a workflow of the drill.
func definition(name, do string) string {
	return fmt.Sprintf("document: {dsl: '1.0.3', namespace: drill, name: %s, version: '1.0.0'}\n%s", name, do)
}
