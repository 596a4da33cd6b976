package blob_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/chargehand/chargehand/internal/blob"
)

// benchBytes is the size of a file that is stored and read.
const benchBytes = 64 << 20

func benchStores(b *testing.B, run func(b *testing.B, s *blob.Store)) {
	for name, seal := range map[string]bool{"plain": false, "sealed": true} {
		b.Run(name, func(b *testing.B) {
			s, err := blob.OpenFolder(blob.Config{Folder: b.TempDir(), Sealer: newSealer(), Seal: seal})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetBytes(benchBytes)
			run(b, s)
		})
	}
}

func BenchmarkPut(b *testing.B) {
	benchStores(b, func(b *testing.B, s *blob.Store) {
		content := make([]byte, benchBytes)
		for i := 0; b.Loop(); i++ {
			binary.BigEndian.PutUint64(content, uint64(i)) // another content each time
			d, _, err := s.Put(b.Context(), bytes.NewReader(content), benchBytes)
			if err == nil {
				err = s.Delete(b.Context(), d)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	benchStores(b, func(b *testing.B, s *blob.Store) {
		d, _, err := s.Put(b.Context(), bytes.NewReader(make([]byte, benchBytes)), benchBytes)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			r, err := s.Open(b.Context(), d, 0, -1)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				r.Close()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
