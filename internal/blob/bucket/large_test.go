package bucket_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/peer"
)

// TestLongS3StreamsLargeContents: what passes through is never held in memory.
func TestLongS3StreamsLargeContents(t *testing.T) {
	const size, mayGrow = 256 << 20, 32 << 20
	server := peer.StartS3(t)
	b := server.NewBucket(t)
	b.Setenv(t)
	s := openBucket(t, b.URL(), blob.Config{})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys) // the most that the heap has ever needed
	}
	runtime.GC()
	before := heap()
	hash := sha256.New()
	source := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), size), hash)
	d, n, err := s.Put(t.Context(), source, size)
	if err != nil || n != size || !bytes.Equal(d.Sum[:], hash.Sum(nil)) {
		t.Fatalf("Put: %s with %d bytes, %v", d, n, err)
	}
	r, err := s.Open(t.Context(), d, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	again := sha256.New()
	if n, err := io.Copy(again, r); err != nil || n != size || !bytes.Equal(d.Sum[:], again.Sum(nil)) {
		t.Errorf("Open: %d bytes, %v", n, err)
	}
	grown := heap() - before
	t.Logf("the heap grew by %d KiB for %d MiB", grown>>10, size>>20)
	if grown > mayGrow {
		t.Errorf("the heap grew by %d MiB, want at most %d", grown>>20, mayGrow>>20)
	}
}
