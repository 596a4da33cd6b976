package password

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestHashAndCheck(t *testing.T) {
	h := New()
	stored, err := h.Hash(t.Context(), "correct horse battery")
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=65536,t=3,p=1$") {
		t.Fatalf("hash %q: %v", stored, err)
	}
	for text, want := range map[string]bool{"correct horse battery": true, "correct horse batterY": false} {
		if got, err := h.Check(t.Context(), stored, text); err != nil || got != want {
			t.Errorf("check %q: %v, %v", text, got, err)
		}
	}
	weak := NewWeak(64)
	one, _ := weak.Hash(t.Context(), "correct horse battery")
	two, _ := weak.Hash(t.Context(), "correct horse battery")
	if one == two {
		t.Error("two hashes of one password are equal")
	}
}

func TestUnknownPersonsTakeTheSamePath(t *testing.T) {
	h := NewWeak(64)
	type call struct {
		time, memory uint32
		threads      uint8
		salt, length int
	}
	var calls []call
	h.derive = func(_, salt []byte, time, memory uint32, threads uint8, length uint32) []byte {
		calls = append(calls, call{time, memory, threads, len(salt), int(length)})
		return make([]byte, length)
	}
	stored, _ := h.Hash(t.Context(), "correct horse battery")
	for _, stored := range []string{stored, ""} {
		if _, err := h.Check(t.Context(), stored, "another one here"); err != nil {
			t.Fatal(err)
		}
	}
	if len(calls) != 3 || calls[1] != calls[2] {
		t.Errorf("calls of argon2: %v", calls)
	}
	h.decoy.key = make([]byte, keyBytes) // what derive answers
	if ok, _ := h.Check(t.Context(), "", "anything"); ok {
		t.Error("without a stored hash, the decoy's password counts")
	}
}

func TestHashesThatCannotBeReadAreErrors(t *testing.T) {
	h := New()
	h.derive = func(_, _ []byte, _, memory uint32, _ uint8, length uint32) []byte {
		if memory > maxMemoryKiB {
			t.Errorf("argon2 was asked for %d KiB", memory)
		}
		return make([]byte, length)
	}
	const salt, key = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, stored := range []string{
		"x", "$argon2i$v=19$m=65536,t=3,p=1$" + salt + "$" + key, "$argon2id$v=18$m=65536,t=3,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=4294967295,t=3,p=1$" + salt + "$" + key, "$argon2id$v=19$m=65536,t=0,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=65536,t=3,p=1$$" + key, "$argon2id$v=19$m=65536,t=3,p=1$" + salt + "$",
	} {
		if ok, err := h.Check(t.Context(), stored, "correct horse battery"); ok || err == nil {
			t.Errorf("%s: %v, %v", stored, ok, err)
		}
	}
}

// TestConcurrentSignIns lets 10,000 callers in at once: two hash, 64 wait, the others get ErrBusy at once.
func TestConcurrentSignIns(t *testing.T) {
	h := New()
	release := make(chan struct{})
	var now, most atomic.Int64
	h.derive = func(_, _ []byte, _, _ uint32, _ uint8, length uint32) []byte {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-release
		now.Add(-1)
		return make([]byte, length)
	}
	const callers = 10_000
	busy := make(chan struct{}, callers)
	var done atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			switch _, err := h.Check(context.Background(), "", "correct horse battery"); {
			case errors.Is(err, ErrBusy):
				busy <- struct{}{}
			case err == nil:
				done.Add(1)
			}
		})
	}
	for range callers - atOnce - waiting {
		<-busy
	}
	close(release)
	all.Wait()
	if done.Load() != atOnce+waiting || most.Load() > atOnce {
		t.Errorf("%d were checked, at most %d at once", done.Load(), most.Load())
	}
	if _, err := h.Check(context.Background(), "", "x"); err != nil {
		t.Errorf("after the rush: %v", err)
	}
}

func TestAWaitEndsWithItsRequest(t *testing.T) {
	h := New()
	for range atOnce {
		h.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Hash(ctx, "correct horse battery"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	if n := h.queue.Load(); n != 0 {
		t.Errorf("%d still count as waiting", n)
	}
}

// TestMemoryIsBounded hashes in a row and at once; what the heap holds never exceeds a few hashes.
func TestMemoryIsBounded(t *testing.T) {
	h := New()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 2 {
				h.Check(context.Background(), "", "correct horse battery")
			}
		})
	}
	all.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > (atOnce+2)*memoryKiB<<10+(32<<20) {
		t.Errorf("the heap took %d MiB", m.HeapSys>>20)
	}
}

func TestWeakPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"short":                   "has 5 characters",
		"elevenchars":             "has 11 characters",
		strings.Repeat("äb", 200): "has 400 characters",
		"correct\x00horse bat":    "not text",
		"correct horse \xff":      "not text",
		"123456789012":            "commonest",
		"PasswordPassword":        "commonest",
		"michael19871987":         "commonest",
		"!!!Qwertyuiop123":        "commonest",
		"xyxyxyxyxyxyxy":          "repeats",
		"zzzzzzzzzzzzzz":          "repeats",
		"ada@example.com":         "the e-mail",
		"Ada Lovelace 1815":       "the name",
	} {
		if got := Weak(text, "ada@example.com", "Ada Lovelace"); !strings.Contains(got, want) {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"correct horse battery", "ünïcödé wörds hier", "aB3$aB3$xY9!q", "四つの言葉を並べて覚えやすくする"} {
		if got := Weak(text, "", "A"); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestTheListOfCommonPasswords(t *testing.T) {
	if n := len(common()); n < 10_000 || n > 11_000 {
		t.Errorf("%d common passwords", n)
	}
	for _, text := range []string{"password", "123456", "qwertyuiop"} {
		if _, known := common()[text]; !known {
			t.Errorf("%q is missing", text)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	h := New()
	for b.Loop() {
		h.Check(b.Context(), "", "correct horse battery")
	}
}
