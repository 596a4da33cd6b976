//go:build linux

package blackbox_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestDiskReserve leaves less free space than the reserve on a real disk: starts and uploads are refused, a
// cancellation is not, and with room again the server accepts by itself.
func TestDiskReserve(t *testing.T) {
	disk := smallDisk(t)
	server := servertest.Start(t, diskOptions(disk))
	workflow := server.Apply(t, "document: {dsl: '1.0.3', namespace: test, name: waits, version: '1.0.0'}\ndo:\n- wait: {wait: {hours: 1}}\n")
	executions := "/workflows/" + workflow + "/executions"
	var running struct{ ID string }
	if a := server.Do(t, "POST", executions, ""); a.Status != http.StatusCreated || json.Unmarshal(a.Body, &running) != nil {
		t.Fatalf("start: %d %s", a.Status, a.Body)
	}
	var ballast string
	readiness := func(degraded bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) { // it looks every second
			a := server.Do(t, "GET", "/readyz", "")
			if a.Status != http.StatusOK {
				t.Fatalf("GET /readyz: %d %s", a.Status, a.Body)
			}
			if strings.Contains(string(a.Body), `"degraded":["storage_reserve"]`) == degraded {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("GET /readyz: %s, want degraded: %t", a.Body, degraded)
			}
			if degraded { // the server may have given room back after the disk was filled: that of its log
				ballast = fillDisk(t, disk, diskBytes/100*3)
			}
		}
	}
	readiness(false)
	ballast = fillDisk(t, disk, diskBytes/100*3)
	readiness(true)
	for path, body := range map[string]string{executions: "", "/workflows/" + workflow + "/batch": `{"items":[{}]}`, "/files?filename=a": "x"} {
		if a := server.Do(t, "POST", path, body); a.Status != http.StatusInsufficientStorage || !strings.Contains(string(a.Body), "storage_reserve") {
			t.Errorf("POST %s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := server.Do(t, "POST", executions+"/"+running.ID+"/cancel", ""); a.Status != http.StatusAccepted {
		t.Errorf("cancel: %d %s", a.Status, a.Body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	readiness(false)
	if a := server.Do(t, "POST", executions, ""); a.Status != http.StatusCreated {
		t.Errorf("start with room: %d %s", a.Status, a.Body)
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
}
