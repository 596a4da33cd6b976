package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/servertest"
)

// The workflows whose executions are stored in great numbers.
const (
	startTrivial = "document: {dsl: '1.0.3', namespace: start, name: trivial, version: '1.0.0'}\ndo:\n- a: {set: {n: '${ .n }'}}\n"
	startWaiting = "document: {dsl: '1.0.3', namespace: start, name: waiting, version: '1.0.0'}\ndo:\n- a: {wait: {hours: 24}}\n"
)

// startFull tells whether the promised numbers are tested, which takes minutes.
func startFull() bool { return os.Getenv("CHARGEHAND_FULL") != "" }

// startNumber is full with CHARGEHAND_FULL, and few otherwise.
func startNumber(few, full int) int {
	if startFull() {
		return full
	}
	return few
}

// storeMany stores n executions in batches of at most 10,000, waits until each has ended or
// waits for its timer, and returns the paths of every hundredth.
func storeMany(t *testing.T, s *servertest.Server, workflow string, n int) []string {
	t.Helper()
	var paths []string
	begin := time.Now()
	for done := 0; done < n; {
		size := min(10_000, n-done)
		var body bytes.Buffer
		body.WriteString(`{"concurrency":100,"items":[`)
		for i := range size {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"n":%d,"text":"sixty-four bytes of input or about so"}`, done+i)
		}
		body.WriteString(`]}`)
		answer := s.Do(t, "POST", "/workflows/"+workflow+"/batch", body.String())
		var batch struct {
			BatchID    string `json:"batch_id"`
			Executions []struct {
				ExecutionID string `json:"execution_id"`
			}
		}
		if err := json.Unmarshal(answer.Body, &batch); err != nil || answer.Status != http.StatusAccepted {
			t.Fatalf("batch: %d %.300s", answer.Status, answer.Body)
		}
		for i := 0; i < len(batch.Executions); i += 100 {
			paths = append(paths, "/workflows/"+workflow+"/executions/"+batch.Executions[i].ExecutionID)
		}
		awaitBatch(t, s, "/workflows/"+workflow+"/batch/"+batch.BatchID+"?executions=none", size)
		done += size
	}
	t.Logf("%d executions stored in %v", n, time.Since(begin).Round(time.Millisecond))
	return paths
}

// awaitBatch waits until all items have ended or wait.
func awaitBatch(t *testing.T, s *servertest.Server, path string, size int) {
	t.Helper()
	moved, done := time.Now(), 0
	for pause := 20 * time.Millisecond; ; pause = min(pause+pause/10, 200*time.Millisecond) {
		var view crashView
		if err := json.Unmarshal(s.Do(t, "GET", path, "").Body, &view); err != nil {
			t.Fatal(err)
		}
		switch now := view.Completed + view.Failed + view.Waiting; {
		case now == size:
			return
		case now != done:
			moved, done = time.Now(), now
		case time.Since(moved) > 3*time.Minute:
			t.Fatalf("a batch does not get on: %+v", view)
		}
		<-time.After(pause)
	}
}

// residentBytes is the memory of a process that is not given back.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		peer.Skip(t, "the memory of a process is only known on Linux: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// restingBytes is what a server holds when it has nothing to do: memory goes back with some
// delay, so the least of some seconds counts.
func restingBytes(t *testing.T, pid int, within time.Duration) int64 {
	t.Helper()
	least := residentBytes(t, pid)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-tick.C {
		least = min(least, residentBytes(t, pid))
	}
	return least
}

// restart ends a server by SIGTERM and starts it three times; the fastest start counts, since
// others may use this machine too.
func restart(t *testing.T, s *servertest.Server, o servertest.Options) (*servertest.Server, time.Duration) {
	t.Helper()
	fastest := time.Hour
	key := s.Key
	for range 3 {
		if code := s.Stop(); code != 0 {
			t.Errorf("the server ended with exit code %d", code)
		}
		begin := time.Now()
		s = servertest.Launch(t, o)
		fastest = min(fastest, time.Since(begin))
		s.Key = key
	}
	return s, fastest
}

// folderBytes is the size of the database with its log.
func folderBytes(t *testing.T, dir string) int64 {
	t.Helper()
	var total int64
	files, _ := filepath.Glob(filepath.Join(dir, "chargehand.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			total += info.Size()
		}
	}
	return total
}
