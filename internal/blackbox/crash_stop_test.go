package blackbox_test

import (
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/servertest"
)

// TestCrashStop ends the server under load by SIGTERM, as docs/reference/cli.md describes it: exit code 0
// within ten seconds, nothing lost, and, since all steps here are short, none cut off.
func TestCrashStop(t *testing.T) {
	seed := int64(crashNumber(t, "CHARGEHAND_CRASH_SEED", int(time.Now().UnixNano()%1_000_000)))
	t.Logf("CHARGEHAND_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewSource(seed))
	receiver := newCrashReceiver(t)
	options := servertest.Options{
		DataDir: filepath.Join(t.TempDir(), "data"),
		Args:    []string{"--rate-limit", "0", "--allow-run", "shell", "--allow-egress", "127.0.0.1"},
	}
	server := servertest.Start(t, options)
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	load := newCrashLoad(t, server, receiver)
	load.graceful = true
	var clients sync.WaitGroup
	for client := range 6 {
		r := rand.New(rand.NewSource(seed + int64(client) + 1))
		clients.Go(func() { load.run(client, r) })
	}
	life := server
	for range 2 {
		<-time.After(time.Duration(500+random.Intn(1000)) * time.Millisecond) // a random moment is what is tested
		processes := processTree(life.PID())
		load.down()
		begin := time.Now()
		code := life.Stop()
		took := time.Since(begin)
		if code != 0 || took > 30*time.Second {
			t.Errorf("SIGTERM ended the server after %v with exit code %d", took, code)
		}
		t.Logf("stopped within %v", took.Round(time.Millisecond))
		verifyNoSurvivor(t, processes, options.DataDir)
		life = servertest.Launch(t, options)
		load.resume()
	}
	close(load.stopping)
	clients.Wait()
	load.finish(nil)
	if code := life.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	crashDoctor(t, options.DataDir)
}

// TestCrashStopStubborn stops a server whose step does not heed SIGTERM, while a client waits
// for its end: exit code 0 all the same, and the client gets an answer. That it takes ten seconds at most is
// shown by a clock that no other work delays (TestStopCutsOffWhatCannot of the engine).
func TestCrashStopStubborn(t *testing.T) {
	options := servertest.Options{DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{"--allow-run", "shell"}}
	server := servertest.Start(t, options)
	workflow := server.Apply(t, "document: {dsl: '1.0.3', namespace: crash, name: stubborn, version: '1.0.0'}\n"+
		"do:\n- stubborn: {run: {shell: {command: 'trap \"\" TERM; echo > \"$OUT_DIR/here\"; sleep 600'}}}\n")
	answered := make(chan servertest.Answer, 1)
	go func() {
		a, err := server.Try("POST", "/workflows/"+workflow+"/executions?wait=60s", "")
		if err != nil {
			t.Errorf("a client that waits gets no answer when the server stops: %v", err)
		}
		answered <- a
	}()
	trapped := func() bool {
		files, _ := filepath.Glob(filepath.Join(options.DataDir, "scratch", "*", "out", "here"))
		return len(files) > 0
	}
	// A file gives no other signal.
	for deadline := time.Now().Add(time.Minute); !trapped(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the step does not start")
		}
	}
	processes := processTree(server.PID())
	begin := time.Now()
	code := server.Stop()
	took := time.Since(begin)
	t.Logf("stopped within %v", took.Round(time.Millisecond))
	if code != 0 || took > 30*time.Second {
		t.Errorf("SIGTERM ended the server after %v with exit code %d, want 0", took, code)
	}
	if a := <-answered; a.Status != 201 || a.Object()["status"] != "processing" {
		t.Errorf("the client that waits was answered %d %s", a.Status, a.Body)
	}
	verifyNoSurvivor(t, processes, options.DataDir)
	crashDoctor(t, options.DataDir)
}

// TestCrashStopFrozenDatabase stops a server while its PostgreSQL takes connections and answers
// nothing, as behind a network that drops packets: exit code 0 all the same.
func TestCrashStopFrozenDatabase(t *testing.T) {
	servertest.Only(t, servertest.SQLite) // it brings its own
	database := peer.StartPostgres(t)
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := []string{"CHARGEHAND_DATABASE_URL=" + database.NewDatabase(t), "CHARGEHAND_MASTER_KEY_FILE=" + key}
	create := servertest.Command(t, "keys", "create", "--preset", "all")
	create.Env = append(servertest.Environment(), settings...)
	server := servertest.Launch(t, servertest.Options{DataDir: t.TempDir(), Args: []string{"--allow-egress", "127.0.0.1"}, Env: settings})
	out, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	server.Key = strings.TrimSpace(string(out))
	// A call whose outcome is to be written when the database does not answer any more.
	called, answer := make(chan struct{}), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(called)
		<-answer
	}))
	defer receiver.Close()
	workflow := server.Apply(t, "document: {dsl: '1.0.3', namespace: crash, name: frozen, version: '1.0.0'}\n"+
		"do:\n- call: {call: http, with: {method: get, endpoint: '"+receiver.URL+"'}}\n")
	if a := server.Do(t, "POST", "/workflows/"+workflow+"/executions", ""); a.Status != 201 {
		t.Fatalf("start: %d %s", a.Status, a.Body)
	}
	<-called
	database.Pause(true)
	defer database.Pause(false)
	close(answer)
	begin := time.Now()
	code := server.Stop()
	took := time.Since(begin)
	t.Logf("stopped within %v", took.Round(time.Millisecond))
	if code != 0 || took > 30*time.Second {
		t.Errorf("SIGTERM ended the server after %v with exit code %d, want 0", took, code)
	}
}
