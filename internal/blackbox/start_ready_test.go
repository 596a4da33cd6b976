package blackbox_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

func startOptions(t *testing.T) servertest.Options {
	return servertest.Options{DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{"--rate-limit", "0"}}
}

// TestStartEmpty holds an empty server to its promises: ready within 300 ms, and less than
// 45 MB of memory.
func TestStartEmpty(t *testing.T) {
	options := startOptions(t)
	servertest.Binary(t) // built before the clock runs
	begin := time.Now()
	server := servertest.Launch(t, options)
	first := time.Since(begin)
	again, fastest := restart(t, server, options)
	fastest = min(fastest, first)
	bytes := restingBytes(t, again.PID(), 3*time.Second)
	t.Logf("first start %v, fastest %v, %.1f MB", first.Round(time.Millisecond), fastest.Round(time.Millisecond), float64(bytes)/1e6)
	verifySoon(t, "an empty server is ready", fastest, 300*time.Millisecond)
	if bytes >= 45e6 {
		t.Errorf("an idle server holds %d bytes, want less than 45 MB", bytes)
	}
}

// TestStartStored starts a server with 100,000 finished and 10,000 waiting executions (by
// default a twentieth of each): ready within a second.
func TestStartStored(t *testing.T) {
	options := startOptions(t)
	server := servertest.Start(t, options)
	storeMany(t, server, server.Apply(t, startTrivial), startNumber(5_000, 100_000))
	waiting := storeMany(t, server, server.Apply(t, startWaiting), startNumber(500, 10_000))
	server, fastest := restart(t, server, options)
	t.Logf("ready after %v, %.1f MB", fastest.Round(time.Millisecond), float64(restingBytes(t, server.PID(), time.Second))/1e6)
	verifySoon(t, "a server with many executions is ready", fastest, time.Second)
	if a := server.Do(t, "GET", waiting[0], ""); a.Object()["status"] != "processing" || a.Object()["phase"] != "waiting" {
		t.Errorf("a waiting execution after the restart: %s", a.Body)
	}
}

// TestStartTimers measures what 100,000 waiting executions (by default 3,000) cost: less than
// 100 MB, right after they began to wait and after a restart.
func TestStartTimers(t *testing.T) {
	options := startOptions(t)
	server := servertest.Start(t, options)
	workflow := server.Apply(t, startWaiting)
	server.Do(t, "GET", "/workflows", "")
	rest := time.Duration(startNumber(1, 20)) * time.Second
	before := restingBytes(t, server.PID(), time.Second)
	storeMany(t, server, workflow, startNumber(3_000, 100_000))
	after := restingBytes(t, server.PID(), rest)
	server, fastest := restart(t, server, options)
	restarted := restingBytes(t, server.PID(), rest)
	t.Logf("%.1f MB before, %.1f MB after, %.1f MB after a restart, which took %v",
		float64(before)/1e6, float64(after)/1e6, float64(restarted)/1e6, fastest.Round(time.Millisecond))
	for what, bytes := range map[string]int64{"after they began to wait": after, "after a restart": restarted} {
		if bytes-before >= 100e6 {
			t.Errorf("executions that wait cost %d bytes %s, want less than 100 MB", bytes-before, what)
		}
	}
}
