package blackbox_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

const secretDefinition = `document: { dsl: '1.0.3', namespace: keys, name: reads, version: '1.0.0' }
use: { secrets: [token] }
do:
  - read: { set: { length: '${ $secrets.token | length }' } }
`

// at is a command on the installation that a server serves.
func at(s *server, args ...string) []string {
	flags := []string{"--data-dir", s.DataDir}
	return append(args, flags...)
}

// TestMasterKey exchanges the master key beside a running server, and kills the exchange at random moments. API keys,
// links and secrets stay valid, also after a restart of the server at each of these moments.
func TestMasterKey(t *testing.T) {
	t.Parallel()
	servertest.Only(t, servertest.SQLite)
	s := start(t)
	if err := os.Chmod(s.DataDir, 0o700); err != nil { // as doctor wants it
		t.Fatal(err)
	}
	wantStatus(t, s.Do(t, "PUT", "/secrets/token", `{"value":"twelve bytes"}`), 201)
	workflow := s.Apply(t, secretDefinition)
	file := upload(t, s, "note.txt", "text/plain", "a note")
	holds := func(what string) {
		t.Helper()
		got := s.Run(t, workflow, "{}")
		output, _ := got["output"].(map[string]any)
		if fmt.Sprint(output["length"]) != "12" {
			t.Errorf("%s: the execution ended with %v", what, got)
		}
		wantStatus(t, plain(t, s, "GET", text(file["url"])), 200)
	}
	holds("before")
	key := filepath.Join(s.DataDir, "master.key")
	first, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 12 {
		cmd := command(t, nil, at(s, "secrets", "rotate-master-key")...)
		if n%3 == 2 {
			cmd.Args = append(cmd.Args, "--finish")
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rand.Int64N(int64(80 * time.Millisecond)))) // random moments are what is tested
		cmd.Process.Kill()
		_ = cmd.Wait()
		if n%4 == 3 {
			s.Kill()
			again := servertest.Launch(t, servertest.Options{DataDir: s.DataDir, Listen: strings.TrimPrefix(s.URL, "http://"), Args: []string{"--rate-limit", "0"}})
			again.Key = s.Key
			s = again
		}
		holds(fmt.Sprintf("killed %d times", n+1))
	}
	cli(t, s, 0, at(s, "secrets", "rotate-master-key")...)
	cli(t, s, 0, at(s, "secrets", "rotate-master-key", "--finish")...) // the first master key opens nothing any more
	cli(t, s, 0, at(s, "secrets", "rotate-master-key", "--data-key")...)
	crashDoctor(t, s.DataDir)
	old := filepath.Join(t.TempDir(), "old")
	cli(t, s, 0, append(at(s, "backup"), old)...)
	cli(t, s, 0, at(s, "secrets", "rotate-master-key", "--finish")...)
	holds("at the end")
	if left, _ := filepath.Glob(filepath.Join(s.DataDir, ".master-key-*")); len(left) > 12 {
		t.Errorf("left behind: %v", left)
	}
	// A backup of before opens with the file beside it, and not with a file of another time.
	restored := filepath.Join(t.TempDir(), "restored")
	cli(t, s, 0, "restore", "--data-dir", restored, old)
	crashDoctor(t, restored)
	if err := os.WriteFile(filepath.Join(restored, "master.key"), first, 0o600); err != nil {
		t.Fatal(err)
	}
	got := finishCommand(t, command(t, nil, "doctor", "--data-dir", restored)).want(t, 1)
	if !regexp.MustCompile(`the file holds [0-9a-f]{8}, and its keys are wrapped by [0-9a-f, ]+: name the right file`).MatchString(got.out) {
		t.Errorf("doctor says:\n%s", got.out)
	}
	refused := finishCommand(t, command(t, nil, "keys", "create", "--data-dir", restored))
	if refused.code != 1 || !strings.Contains(refused.err, "the master key is not the one of this database") {
		t.Errorf("a key made with an older file: %d\n%s", refused.code, refused.err)
	}
}
