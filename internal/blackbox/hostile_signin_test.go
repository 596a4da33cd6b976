package blackbox_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// signIns sends sign-ins as a proxy does, each from the address of another client.
type signIns struct {
	server *servertest.Server
	client *http.Client
}

func (s *signIns) post(path, address, body string) (*http.Response, error) {
	r, err := http.NewRequest("POST", s.server.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", address)
	r.Header.Set("X-Forwarded-Proto", "https")
	resp, err := s.client.Do(r)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

// TestManySignInsAtOnce: of many sign-ins a few wait, and all others are refused at once. Memory is that of two hashes,
// and other requests are answered meanwhile.
func TestManySignInsAtOnce(t *testing.T) {
	servertest.Only(t, "sqlite")
	if !startFull() {
		t.Skip("each of at least 66 hashes takes a processor for a tenth of a second; set CHARGEHAND_FULL=1 (package password tests the queue itself)")
	}
	const n = 10_000
	server := servertest.Start(t, servertest.Options{Args: []string{"--trusted-proxy", "127.0.0.1", "--public-url", "https://chargehand.example.com"}})
	s := &signIns{server, &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
	token, err := os.ReadFile(filepath.Join(server.DataDir, "setup-token"))
	if err != nil {
		t.Fatal(err)
	}
	const password = "four words in a row"
	resp, err := s.post("/setup", "192.0.2.1", `{"token":"`+strings.TrimSpace(string(token))+`","name":"Ada","email":"ada@example.com","password":"`+password+`"}`)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("set-up: %v, %v", resp, err)
	}
	before := peakBytes(t, server)

	var tested, refused atomic.Int64
	var all, probe sync.WaitGroup
	over := make(chan struct{})
	var waits []time.Duration
	probe.Go(func() {
		for {
			begun := time.Now()
			if a, err := server.Try("GET", "/workflows", ""); err != nil || a.Status != http.StatusOK {
				t.Errorf("another request: %d, %v", a.Status, err)
			}
			waits = append(waits, time.Since(begun))
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	begun := time.Now()
	for i := range n {
		all.Go(func() {
			address := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
			resp, err := s.post("/session", address, `{"email":"ada`+strconv.Itoa(i)+`@example.com","password":"a wrong password"}`)
			switch {
			case err != nil:
				t.Errorf("sign-in %d: %v", i, err)
			case resp.StatusCode == http.StatusUnauthorized:
				tested.Add(1)
			case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
				refused.Add(1)
			default:
				t.Errorf("sign-in %d: %d, Retry-After %q", i, resp.StatusCode, resp.Header.Get("Retry-After"))
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	close(over)
	probe.Wait()
	slices.Sort(waits)
	grown := peakBytes(t, server) - before
	t.Logf("%d sign-ins in %v: %d tested, %d refused; memory grew by %d MiB; other requests took %v at the median, %v at p95, %v at most",
		n, took.Round(time.Millisecond), tested.Load(), refused.Load(), grown>>20, waits[len(waits)/2], waits[len(waits)*95/100], waits[len(waits)-1])
	if tested.Load() < 66 || refused.Load() == 0 {
		t.Errorf("%d passwords were tested, %d sign-ins refused", tested.Load(), refused.Load())
	}
	// Two hashes of 64 MiB, one that is garbage, and what a connection costs.
	if most := 4*64<<20 + n*48<<10; grown > most {
		t.Errorf("memory grew by %d MiB, want at most %d", grown>>20, most>>20)
	}
	// On a machine that does other work as well, the time of a request says nothing.
	if startFull() && waits[len(waits)*95/100] > time.Second {
		t.Errorf("other requests took %v at p95", waits[len(waits)*95/100])
	}
	if resp, err := s.post("/session", "192.0.2.1", `{"email":"ada@example.com","password":"`+password+`"}`); err != nil || resp.StatusCode != http.StatusCreated {
		t.Errorf("a sign-in afterwards: %v, %v", resp, err)
	}
}
