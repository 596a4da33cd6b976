package secret

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"
	"time"
)

func TestColumns(t *testing.T) {
	keys := NewKeys()
	s, again, foreign := NewSealer(keys), NewSealer(keys), NewSealer(NewKeys())
	row, data := []byte("row"), []byte("what a user gave")
	sealed := s.SealColumn([]byte("x"), "input", row, data)[1:]
	if len(sealed) != len(data)+ColumnBytes || bytes.Contains(sealed, []byte("user")) {
		t.Fatalf("sealed %q", sealed)
	}
	if bytes.Equal(sealed, s.SealColumn(nil, "input", row, data)) {
		t.Error("the same data was sealed the same way twice")
	}
	for name, opener := range map[string]*Sealer{"this process": s, "another process": again} {
		if got, err := opener.OpenColumn("input", row, sealed); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s opened %q, %v", name, got, err)
		}
	}
	if _, err := s.OpenColumn("output", row, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("opened as another kind: %v", err)
	}
	if _, err := s.OpenColumn("input", []byte("other"), sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("opened in another row: %v", err)
	}
	if _, err := foreign.OpenColumn("input", row, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("opened with the keys of another installation: %v", err)
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := s.OpenColumn("input", row, damaged); !errors.Is(err, ErrSealed) {
			t.Errorf("opened with byte %d damaged: %v", i, err)
		}
		if _, err := s.OpenColumn("input", row, sealed[:i]); !errors.Is(err, ErrSealed) {
			t.Errorf("opened %d bytes: %v", i, err)
		}
	}
	if got, err := s.OpenColumn("input", row, s.SealColumn(nil, "input", row, nil)); err != nil || got == nil || len(got) != 0 {
		t.Errorf("empty data came back as %v, %v", got, err)
	}
}

// TestColumnsUnderAnotherKey: after the data key was exchanged, columns are sealed under the new one, and old ones
// open.
func TestColumnsUnderAnotherKey(t *testing.T) {
	keys := NewKeys()
	s := NewSealer(keys)
	old := s.SealColumn(nil, "input", nil, []byte("old"))
	next := NewKey(9, Data, 0, 0)
	s.SetKeys(CollectKeys(append(keys.List(), next)), time.Now())
	if ColumnKey(old) == 9 || ColumnKey(s.SealColumn(nil, "input", nil, []byte("new"))) != 9 {
		t.Error("a new data key does not seal")
	}
	fresh := s.SealColumn(nil, "input", nil, nil)
	if _, err := NewSealer(keys).OpenColumn("input", nil, fresh); !errors.Is(err, ErrUnknownKey) || !errors.Is(err, ErrSealed) {
		t.Errorf("without the new key: %v", err)
	}
	if got, err := s.OpenColumn("input", nil, old); err != nil || string(got) != "old" {
		t.Errorf("opened %q, %v", got, err)
	}
}

func TestColumnsTakeAnotherSalt(t *testing.T) {
	s := NewSealer(NewKeys())
	salt := func() string { return string(s.SealColumn(nil, "input", nil, nil)[4:columnHeader]) }
	first := salt()
	if salt() != first {
		t.Error("each column has a salt of its own")
	}
	s.column.Load().sealed.Store(columnsPerSalt)
	if salt() == first {
		t.Error("a salt is used without end")
	}
}

func TestHideDigest(t *testing.T) {
	keys := NewKeys()
	s := NewSealer(keys)
	digest := sha256.Sum256([]byte("content"))
	hidden := s.HideDigest(digest)
	if hidden == digest || hidden != NewSealer(keys).HideDigest(digest) || hidden == NewSealer(NewKeys()).HideDigest(digest) {
		t.Errorf("%x is hidden as %x", digest, hidden)
	}
	if got := s.ShowDigest(hidden); got != digest {
		t.Errorf("%x comes back as %x", digest, got)
	}
	if other := s.HideDigest(sha256.Sum256([]byte("Content"))); bytes.Equal(other[:16], hidden[:16]) || bytes.Equal(other[16:], hidden[16:]) {
		t.Errorf("two digests are hidden as %x and %x", hidden, other)
	}
}

func TestContentBytes(t *testing.T) {
	for _, size := range []int64{0, 1, ContentChunkBytes - 1, ContentChunkBytes, ContentChunkBytes + 1, 10 * ContentChunkBytes, 1 << 40} {
		if got, err := PlainContentBytes(SealedContentBytes(size)); err != nil || got != size {
			t.Errorf("%d bytes come back as %d, %v", size, got, err)
		}
	}
	for _, sealed := range []int64{0, 1, ContentHeaderBytes, ContentHeaderBytes + ContentTagBytes - 1, ContentHeaderBytes + sealedChunk + 1, ContentHeaderBytes + sealedChunk + ContentTagBytes} {
		if got, err := PlainContentBytes(sealed); !errors.Is(err, ErrSealed) {
			t.Errorf("%d sealed bytes are %d, %v", sealed, got, err)
		}
	}
}

func TestContent(t *testing.T) {
	keys := NewKeys()
	s := NewSealer(keys)
	digest := sha256.Sum256([]byte("content"))
	c := s.NewContent()
	header := c.Header(digest)
	sealed, err := c.SealChunk(nil, []byte("content"), 3, false)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewSealer(keys).OpenContent(header, digest)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.OpenChunk(nil, sealed, 3, false); err != nil || string(got) != "content" {
		t.Errorf("opened %q, %v", got, err)
	}
	if _, err := o.OpenChunk(nil, sealed, 2, false); !errors.Is(err, ErrSealed) {
		t.Errorf("opened as another chunk: %v", err)
	}
	if _, err := o.OpenChunk(nil, sealed, 3, true); !errors.Is(err, ErrSealed) {
		t.Errorf("opened as the last chunk: %v", err)
	}
	if _, err := s.OpenContent(header, sha256.Sum256(nil)); !errors.Is(err, ErrSealed) {
		t.Errorf("opened as another content: %v", err)
	}
	if _, err := NewSealer(NewKeys()).OpenContent(header, digest); !errors.Is(err, ErrSealed) {
		t.Errorf("opened with the keys of another installation: %v", err)
	}
	for i := range header {
		damaged := bytes.Clone(header)
		damaged[i] ^= 1
		if _, err := s.OpenContent(damaged, digest); !errors.Is(err, ErrSealed) {
			t.Errorf("opened with byte %d of the header damaged: %v", i, err)
		}
	}
	if _, err := c.SealChunk(nil, nil, 1<<32, true); err == nil {
		t.Error("the number of a chunk was used twice")
	}
}
