package blackbox_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/seed"
	"github.com/chargehand/chargehand/internal/servertest"
)

// manyWaiting is how many waiting executions are stored: with CHARGEHAND_FULL ten million, which are about 15 GB, and
// three where the disk is small.
func manyWaiting(t *testing.T) int {
	t.Helper()
	const plenty = 100 << 30
	if space, _, err := disk.Free(t.TempDir()); err != nil || space < plenty {
		return startNumber(5_000, 3_000_000)
	}
	return startNumber(5_000, 10_000_000)
}

// TestManyWaiting: a server on which very many executions wait is ready within a second after kill -9, holds less than
// 120 MB, and starts and cancels others as ever.
func TestManyWaiting(t *testing.T) {
	n := manyWaiting(t)
	options, s, _ := startSeeded(t, seed.Options{Executions: n, Seed: 1, Waiting: true})
	fastest := time.Hour
	key := s.Key
	for range 3 {
		workflow := s.Apply(t, startTrivial)
		if a := s.Do(t, "POST", "/workflows/"+workflow+"/executions?wait=30s", `{"input":{"n":1}}`); a.Status != http.StatusCreated || a.Object()["status"] != "finished" {
			t.Fatalf("an execution beside those that wait: %d %.300s", a.Status, a.Body)
		}
		s.Kill()
		begin := time.Now()
		s = servertest.Launch(t, options)
		fastest = min(fastest, time.Since(begin))
		s.Key = key
	}
	bytes := restingBytes(t, s.PID(), time.Duration(startNumber(1, 10))*time.Second)
	t.Logf("%d executions wait in %.1f MB of database: ready %v after kill -9, %.1f MB of memory",
		n, float64(folderBytes(t, options.DataDir))/1e6, fastest.Round(time.Millisecond), float64(bytes)/1e6)
	verifySoon(t, fmt.Sprintf("a server on which %d executions wait is ready", n), fastest, time.Second)
	if bytes >= 120e6 {
		t.Errorf("it holds %d bytes, want less than 120 MB", bytes)
	}
	waitingContinue(t, s)
}
