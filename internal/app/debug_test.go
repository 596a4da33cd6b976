package app

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfilesAreForThisMachine: the listener is off by default, refuses other addresses when the server starts, and
// other names when it is asked.
func TestProfilesAreForThisMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:6060", ":6060", "10.0.0.1:6060", "[::]:6060", "example.org:6060", "6060"} {
		_, err := New(t.Context(), Config{DebugListen: address})
		if err == nil || !strings.Contains(err.Error(), "--debug-listen") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for host, want := range map[string]int{"localhost:6060": 200, "127.0.0.1": 200, "[::1]:6060": 200, "rebound.example:6060": 403, "": 403} {
		r := httptest.NewRequest("GET", "/debug/pprof/goroutine", nil)
		r.Host = host
		w := httptest.NewRecorder()
		debugHandler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q: %d, not %d", host, w.Code, want)
		}
	}
	i := install(t, filepath.Join(t.TempDir(), "data"))
	if i.debug != nil {
		t.Error("profiles are served although no setting asks for them")
	}
}

// TestProfilesOfAServer reads what operators read: profiles that tools understand, never the arguments of the process.
func TestProfilesOfAServer(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) { c.DebugListen = "127.0.0.1:0" })
	base := "http://" + i.debug.Addr().String() + "/debug/pprof/"
	get := func(path string) (int, []byte) {
		response, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, body
	}
	for _, kind := range []string{"heap", "goroutine", "allocs"} {
		status, body := get(kind)
		if packed := []byte{0x1f, 0x8b}; status != http.StatusOK || !bytes.HasPrefix(body, packed) {
			t.Errorf("%s: %d, %.80q", kind, status, body)
		}
	}
	if status, _ := get("cmdline"); status != http.StatusNotFound {
		t.Errorf("the arguments of the process: %d", status)
	}
	for _, seconds := range []string{"100000", "-1", "0", "NaN", "x"} {
		if status, body := get("profile?seconds=" + seconds); status != http.StatusBadRequest {
			t.Errorf("a profile of %s seconds: %d, %s", seconds, status, body)
		}
	}
}
