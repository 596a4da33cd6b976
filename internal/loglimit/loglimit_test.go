package loglimit

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFlood: of a million equal happenings some are logged, and the rest is counted.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		allowed := 0
		for range 1_000_000 {
			if l.Allow("key_1 GET /x 404") {
				allowed++
			}
		}
		if !l.Allow("key_2 GET /x 404") {
			t.Error("another kind is left out too")
		}
		if allowed != perKind {
			t.Errorf("%d lines of one kind, want %d", allowed, perKind)
		}
		time.Sleep(window)
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, `of="key_1 GET /x 404" lines=999990`) || strings.Count(got, "\n") != 1 {
			t.Errorf("summary %q", got)
		}
		if !l.Allow("key_1 GET /x 404") {
			t.Error("the next minute has no lines of its own")
		}
		l.Flush()
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("a window in which nothing was left out is logged: %q", out.String())
		}
	})
}

// TestManyKinds: a sender that makes every happening look new gets no more lines, and no memory.
func TestManyKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		allowed := 0
		for i := range 100_000 {
			if l.Allow(fmt.Sprint("address ", i)) {
				allowed++
			}
		}
		if allowed != inAll {
			t.Errorf("%d lines, want %d", allowed, inAll)
		}
		if len(l.counts) > kinds+1 {
			t.Errorf("%d kinds are remembered", len(l.counts))
		}
		l.Flush()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != summary+1 || !strings.Contains(lines[0], "of=other") {
			t.Errorf("summary of %d lines: %q", len(lines), lines[0])
		}
	})
}
