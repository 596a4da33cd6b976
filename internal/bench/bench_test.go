package bench_test

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/bench"
	"github.com/chargehand/chargehand/internal/servertest"
)

func TestMain(m *testing.M) {
	bench.MaybeEmptyHandler() // which is a process of its own, made of this binary
	os.Exit(m.Run())
}

// TestRun takes every measurement, shortly: the figures mean nothing, but all are there and
// none is nought.
func TestRun(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Args: []string{"--rate-limit", "0", "--allow-egress", "127.0.0.1"}})
	figures, err := bench.Run(t.Context(), bench.Config{
		API: s.URL, Key: s.Key, DataDir: s.DataDir, Duration: 200 * time.Millisecond, Connections: 4,
		Batches: []int{20, 50}, Progress: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
		if f.Value <= 0 && !strings.Contains(f.Name, "on disk") || f.Ratio < 0 || f.Unit == "" {
			t.Errorf("figure %+v", f)
		}
	}
	for _, want := range []string{
		"empty handler", "one set, accepted and finished", "ten sets, accepted and finished", "one set with wait, one connection, p50",
		"one set with wait, one connection, p99", "one set, start to finish, clients: 1, p99",
		"ten HTTP steps, start to finish, clients: 4, rate", "bare HTTP client", "ten HTTP steps, calls that arrive",
		"batch of 20, answered", "batch of 20, all finished", "batch of 50, all finished",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no figure %q among %q", want, names)
		}
	}
}

// TestRunTellsWhatFails: a load that the server refuses gives no figures of it.
func TestRunTellsWhatFails(t *testing.T) {
	s := servertest.Start(t, servertest.Options{})
	key := servertest.CreateKey(t, s.DataDir, "--preset", "observe")
	figures, err := bench.Run(t.Context(), bench.Config{
		API: s.URL, Key: key, Duration: 50 * time.Millisecond, Connections: 2, Only: "trivial", Progress: io.Discard,
	})
	if err == nil || !strings.Contains(err.Error(), "trivial") || len(figures) != 1 {
		t.Errorf("figures %+v, error %v", figures, err)
	}
}
