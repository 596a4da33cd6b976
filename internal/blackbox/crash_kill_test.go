package blackbox_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	readyAfterCrash = time.Second           // how soon a server must be ready after a kill
	versionTime     = 40 * time.Millisecond // `chargehand version` on a machine that is not busy
	busyTime        = 120 * time.Millisecond
)

// TestCrash kills the server under load at random moments and checks every promise: what was
// accepted ends as it would have, nothing final changes, nothing runs twice without need, and
// nothing outlives the server. CHARGEHAND_CRASH_KILLS is the number of kills (default 5),
// CHARGEHAND_CRASH_SEED repeats a run as far as chance allows.
func TestCrash(t *testing.T) {
	kills := crashNumber(t, "CHARGEHAND_CRASH_KILLS", 5)
	seed := int64(crashNumber(t, "CHARGEHAND_CRASH_SEED", int(time.Now().UnixNano()%1_000_000)))
	t.Logf("CHARGEHAND_CRASH_SEED=%d CHARGEHAND_CRASH_KILLS=%d", seed, kills)
	random := rand.New(rand.NewSource(seed))
	receiver := newCrashReceiver(t)
	options := servertest.Options{
		DataDir: filepath.Join(t.TempDir(), "data"),
		Args:    []string{"--rate-limit", "0", "--allow-run", "shell", "--allow-egress", "127.0.0.1"},
	}
	begun := time.Now()
	server := servertest.Start(t, options)
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	load := newCrashLoad(t, server, receiver)
	var clients sync.WaitGroup
	for client := range 6 {
		r := rand.New(rand.NewSource(seed + int64(client) + 1))
		clients.Go(func() { load.run(client, r) })
	}
	killer := crashKiller{t: t, options: options, load: load, receiver: receiver, random: random, server: server}
	for range kills {
		killer.strike()
	}
	killer.pause(300 * time.Millisecond)
	close(load.stopping)
	clients.Wait()
	load.finish(killer.kills)
	verifyRollups(t, load.server, begun)
	if code := killer.server.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	crashDoctor(t, options.DataDir)
	t.Logf("slowest restart until ready %v, slowest end of processes %v", killer.slowestReady.Round(time.Millisecond), killer.slowestEnd.Round(time.Millisecond))
}

func crashNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// crashDoctor checks the database's integrity with the command line.
func crashDoctor(t *testing.T, dataDir string) {
	t.Helper()
	if out, err := servertest.Command(t, "doctor", "--deep", "--data-dir", dataDir).CombinedOutput(); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// verifySoon checks that something took at most so long. A slow machine gets as much more time as it takes more than
// versionTime to print the version. One that takes busyTime does other work at the same time, and proves nothing.
func verifySoon(t *testing.T, what string, took, most time.Duration) {
	t.Helper()
	if took <= most {
		return
	}
	var slowest time.Duration
	for range 5 {
		begin := time.Now()
		if err := servertest.Command(t, "version").Run(); err != nil {
			t.Errorf("version: %v", err)
		}
		slowest = max(slowest, time.Since(begin))
	}
	allowed := time.Duration(float64(most) * max(1, float64(slowest)/float64(versionTime)))
	if took <= allowed || slowest > busyTime {
		t.Logf("%s: %v, want at most %v; but this machine is slow or busy, for it takes %v to print the version", what, took, most, slowest)
		return
	}
	t.Errorf("%s: %v, want at most %v", what, took, allowed)
}

// crashKiller ends and restarts the server.
type crashKiller struct {
	t        *testing.T
	options  servertest.Options
	load     *crashLoad
	receiver *crashReceiver
	random   *rand.Rand
	server   *servertest.Server // its present life

	kills                    []crashKill
	slowestReady, slowestEnd time.Duration
	hasty                    bool // the last strike came in quick succession
}

func (k *crashKiller) pause(d time.Duration) { <-time.After(d) } // random moments are what is tested

// strike kills the server at a random moment, checks what is left of it, and restarts it;
// sometimes the next life is killed too, while it recovers.
func (k *crashKiller) strike() {
	quick, twice := k.random.Intn(4) == 0, k.random.Intn(3) == 0
	if k.hasty { // a call of 60 ms must not meet four kills, for then it faults rightly (T91)
		quick, twice = false, false
	}
	k.hasty = quick || twice
	k.load.startLasting(fmt.Sprintf("lasting-%d", len(k.kills)), k.random)
	k.load.startSuspended(fmt.Sprintf("suspended-%d", len(k.kills)), k.random)
	if quick {
		k.pause(time.Duration(k.random.Intn(100)) * time.Millisecond)
	} else {
		k.pause(time.Duration(300+k.random.Intn(1200)) * time.Millisecond)
	}
	processes := processTree(k.server.PID())
	k.load.down()
	kill := crashKill{from: time.Now()}
	k.server.Kill()
	kill.to = time.Now()
	k.kills = append(k.kills, kill)
	k.awaitGone(processes)
	if twice {
		k.strikeRecovery()
	}
	begin := time.Now()
	k.server = servertest.Launch(k.t, k.options)
	ready := time.Since(begin)
	k.slowestReady = max(k.slowestReady, ready)
	verifySoon(k.t, "the server is ready after a kill", ready, readyAfterCrash)
	k.load.resume()
}

// awaitGone waits until nothing of the dead server is left on either side.
func (k *crashKiller) awaitGone(processes map[string]bool) {
	k.slowestEnd = max(k.slowestEnd, verifyNoSurvivor(k.t, processes, k.options.DataDir))
	deadline := time.Now().Add(2 * time.Second)
	for !k.receiver.quiet() && time.Now().Before(deadline) {
		k.pause(time.Millisecond)
	}
}

// strikeRecovery starts a server and kills it a moment later, before any client uses it.
func (k *crashKiller) strikeRecovery() {
	cmd := servertest.Command(k.t, append([]string{"serve", "--data-dir", k.options.DataDir, "--listen", k.options.Listen}, k.options.Args...)...)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.pause(time.Duration(5+k.random.Intn(150)) * time.Millisecond)
	processes := processTree(cmd.Process.Pid)
	kill := crashKill{from: time.Now()}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	kill.to = time.Now()
	k.kills = append(k.kills, kill)
	k.awaitGone(processes)
}
