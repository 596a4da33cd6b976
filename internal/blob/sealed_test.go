package blob_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/blob/blobtest"
	"github.com/chargehand/chargehand/internal/secret"
)

const chunk = secret.ContentChunkBytes

// openSealed opens a folder whose contents are sealed.
func openSealed(t *testing.T, folder string, sealer *secret.Sealer) *blob.Store {
	t.Helper()
	s, err := blob.OpenFolder(blob.Config{Folder: folder, Sealer: sealer, Seal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newSealer() *secret.Sealer { return secret.NewSealer(secret.NewKeys()) }

func TestSealedFolder(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Opener {
		folder, sealer := t.TempDir(), newSealer()
		return func(t *testing.T, protect blob.Protect) *blob.Store {
			s, err := blob.OpenFolder(blob.Config{Folder: folder, Protect: protect, Sealer: sealer, Seal: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}

func putAll(t *testing.T, s *blob.Store, content []byte) blob.Digest {
	t.Helper()
	d, size, err := s.Put(t.Context(), bytes.NewReader(content), 1<<30)
	if err != nil || size != int64(len(content)) || d.Sum != sha256.Sum256(content) {
		t.Fatalf("Put: %v, %d bytes, %v", d, size, err)
	}
	return d
}

func readPart(t *testing.T, s *blob.Store, d blob.Digest, offset, length int64) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), d, offset, length)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(iotest.HalfReader(r))
}

// storedFile is the only file of a folder of contents.
func storedFile(t *testing.T, folder string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("files %v (%v), want one", found, err)
	}
	return found[0]
}

func TestSealedSizesAndRanges(t *testing.T) {
	s := openSealed(t, t.TempDir(), newSealer())
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3*chunk + 5} {
		content := blobtest.Noise(n)
		d := putAll(t, s, content)
		if size, err := s.Size(t.Context(), d); err != nil || size != int64(n) {
			t.Errorf("%d bytes: size %d, %v", n, size, err)
		}
		for _, offset := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2*chunk - 1, n - 1, n, n + 1, n + chunk} {
			for _, length := range []int{-1, 0, 1, 2, chunk - 1, chunk, chunk + 1, 4 * chunk} {
				if offset < 0 {
					continue
				}
				end := n
				if length >= 0 {
					end = min(n, offset+length)
				}
				want := content[min(offset, n):max(end, min(offset, n))]
				got, err := readPart(t, s, d, int64(offset), int64(length))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, range %d+%d: %d bytes, %v; want %d", n, offset, length, len(got), err, len(want))
				}
			}
		}
	}
}

// TestSealedFolderShowsNothing: neither names nor contents tell what is stored, also while it is received.
func TestSealedFolderShowsNothing(t *testing.T) {
	folder := t.TempDir()
	s := openSealed(t, folder, newSealer())
	text := strings.Repeat("what a user gave ", 10_000)
	checked := false
	in := io.MultiReader(strings.NewReader(text), readerFunc(func([]byte) (int, error) {
		data, err := os.ReadFile(storedFile(t, folder)) // in incoming
		if checked = len(data) > chunk; err != nil || bytes.Contains(data, []byte("a user gave")) {
			t.Errorf("a content that is being received shows (%v)", err)
		}
		return 0, io.EOF
	}))
	d, _, err := s.Put(t.Context(), in, 1<<30)
	if err != nil || !checked {
		t.Fatal(err, checked)
	}
	path := storedFile(t, folder)
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("a user gave")) || strings.Contains(strings.ReplaceAll(path, "/", ""), d.String()[:8]) {
		t.Errorf("%s shows what is stored (%v)", path, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSealedDamage(t *testing.T) {
	folder, sealer := t.TempDir(), newSealer()
	s := openSealed(t, folder, sealer)
	content := blobtest.Noise(3*chunk + 100)
	d := putAll(t, s, content)
	path := storedFile(t, folder)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, sealedChunk := secret.ContentHeaderBytes, chunk+secret.ContentTagBytes
	part := func(i int) []byte { return whole[head+i*sealedChunk : min(len(whole), head+(i+1)*sealedChunk)] }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	flip := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 1
		return b
	}
	other := openSealed(t, t.TempDir(), sealer)
	putAll(t, other, blobtest.Noise(3*chunk+101))
	for name, stored := range map[string][]byte{
		"head":                 flip(0),
		"key":                  flip(4),
		"salt":                 flip(10),
		"bond":                 flip(40),
		"first chunk":          flip(head + 1),
		"last byte":            flip(len(whole) - 1),
		"cut in a chunk":       whole[:len(whole)-1],
		"cut after a chunk":    whole[:head+3*sealedChunk],
		"cut after the first":  whole[:head+sealedChunk],
		"cut after the head":   whole[:head],
		"cut in the head":      whole[:head-1],
		"empty":                {},
		"chunks in bad order":  join(whole[:head], part(1), part(0), part(2), part(3)),
		"a chunk is repeated":  join(whole[:head], part(0), part(1), part(1), part(3)),
		"a chunk is missing":   join(whole[:head], part(0), part(2), part(3)),
		"continued":            join(whole, part(3)),
		"continued by a chunk": join(whole[:head], part(0), part(1), part(2), part(2), part(3)),
		"not sealed":           content,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readPart(t, s, d, 0, -1)
			if !errors.Is(err, blob.ErrDamaged) || !strings.Contains(err.Error(), d.String()[:8]) && !strings.Contains(err.Error(), "cut off") {
				t.Errorf("%d bytes, %v; want ErrDamaged", len(got), err)
			}
			if len(got) > 0 && !bytes.HasPrefix(content, got) {
				t.Error("bytes that are not those of the content were given")
			}
			if len(got) == len(content) {
				t.Error("the whole content was given")
			}
		})
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(t, s, d, 0, -1); err != nil || !bytes.Equal(got, content) {
		t.Errorf("undamaged: %d bytes, %v", len(got), err)
	}
}

// TestSealedContentOfAnother: a sealed content in the place of another one is not read as that.
func TestSealedContentOfAnother(t *testing.T) {
	sealer := newSealer()
	first, second := t.TempDir(), t.TempDir()
	a, b := openSealed(t, first, sealer), openSealed(t, second, sealer)
	d := putAll(t, a, []byte("one"))
	putAll(t, b, []byte("two"))
	data, err := os.ReadFile(storedFile(t, second))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(storedFile(t, first), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(t, a, d, 0, -1); !errors.Is(err, blob.ErrDamaged) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestSealedKeys(t *testing.T) {
	folder, keys := t.TempDir(), secret.NewKeys()
	sealer := secret.NewSealer(keys)
	s := openSealed(t, folder, sealer)
	d := putAll(t, s, []byte("content"))

	next := secret.NewKey(9, secret.Data, 0, 0)
	sealer.SetKeys(secret.CollectKeys(append(keys.List(), next)), time.Now())
	e := putAll(t, s, []byte("another"))
	for want, digest := range map[string]blob.Digest{"content": d, "another": e} {
		if got, err := readPart(t, s, digest, 0, -1); err != nil || string(got) != want {
			t.Errorf("after the exchange of the data key: %q, %v", got, err)
		}
	}
	// A server that does not know the new key says so; one of another installation finds nothing.
	if _, err := readPart(t, openSealed(t, folder, secret.NewSealer(keys)), e, 0, -1); !errors.Is(err, secret.ErrSealed) || !strings.Contains(err.Error(), "key 9") {
		t.Errorf("without the new data key: %v", err)
	}
	if _, err := readPart(t, openSealed(t, folder, newSealer()), d, 0, -1); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("with the keys of another installation: %v", err)
	}
	if _, err := readPart(t, openFolder(t, folder, nil), d, 0, -1); !errors.Is(err, blob.ErrNoKeys) {
		t.Errorf("without keys: %v", err)
	}
}

// TestSealedSwitched: what was stored before stays readable, and the same content is then stored both ways.
func TestSealedSwitched(t *testing.T) {
	folder, sealer := t.TempDir(), newSealer()
	plain, err := blob.OpenFolder(blob.Config{Folder: folder, Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	d := putAll(t, plain, []byte("content"))
	e := putAll(t, openSealed(t, folder, sealer), []byte("content"))
	if d == e || d.Sum != e.Sum {
		t.Errorf("digests %v and %v", d, e)
	}
	for _, digest := range []blob.Digest{d, e} {
		if got, err := readPart(t, plain, digest, 0, -1); err != nil || string(got) != "content" {
			t.Errorf("read %q, %v", got, err)
		}
		if back := blob.DigestOf(digest.Bytes()); back != digest {
			t.Errorf("%v comes back as %v", digest, back)
		}
	}
	if err := plain.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(t, plain, e, 0, -1); err != nil || string(got) != "content" {
		t.Errorf("after the other one was deleted: %q, %v", got, err)
	}
}

// TestCopy: contents are copied as they are stored, without keys, and are read with them.
func TestCopy(t *testing.T) {
	from, to, sealer := t.TempDir(), t.TempDir(), newSealer()
	contents := map[blob.Digest][]byte{}
	for _, n := range []int{0, 5, chunk, 2*chunk + 1} {
		contents[putAll(t, openSealed(t, from, sealer), blobtest.Noise(n))] = blobtest.Noise(n)
		contents[putAll(t, openFolder(t, from, nil), blobtest.Noise(n))] = blobtest.Noise(n)
	}
	source, target := openFolder(t, from, nil), openFolder(t, to, nil)
	copied := 0
	err := source.List(t.Context(), func(c blob.Content) error {
		size, err := blob.Copy(t.Context(), source, target, c.Name)
		if err == nil && size != c.Size {
			err = fmt.Errorf("%s has %d bytes, listed with %d", c.Name, size, c.Size)
		}
		copied++
		return err
	})
	if err != nil || copied != len(contents) {
		t.Fatal(copied, err)
	}
	for d, want := range contents {
		if got, err := readPart(t, openSealed(t, to, sealer), d, 0, -1); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, %v", d, len(got), err)
		}
	}
	missing := make(blob.Name, 33)
	missing[32] = 1
	if _, err := blob.Copy(t.Context(), source, target, missing); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("copy what is not there: %v", err)
	}
}

// TestCopyChecksWhatItCanOpen: with the keys of the source, no sealed content is copied that cannot be read to its end.
func TestCopyChecksWhatItCanOpen(t *testing.T) {
	for _, n := range []int{0, 5, chunk, 2*chunk + 1} {
		from, to, sealer := t.TempDir(), t.TempDir(), newSealer()
		source, target := openSealed(t, from, sealer), openFolder(t, to, nil)
		digest := putAll(t, source, blobtest.Noise(n))
		name, err := source.Name(digest)
		if err != nil {
			t.Fatal(err)
		}
		path := storedFile(t, from)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, secret.ContentHeaderBytes - 1, secret.ContentHeaderBytes, len(whole) - 1} {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := blob.Copy(t.Context(), source, target, name); !errors.Is(err, blob.ErrDamaged) {
				t.Errorf("%d bytes, damaged at %d: %v", n, at, err)
			}
			if _, err := target.SizeOf(t.Context(), name); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("%d bytes, damaged at %d: the copy is there: %v", n, at, err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if size, err := blob.Copy(t.Context(), source, target, name); err != nil || size != int64(n) {
			t.Errorf("copy of %d bytes: %d, %v", n, size, err)
		}
		if got, err := readPart(t, openSealed(t, to, sealer), digest, 0, -1); err != nil || !bytes.Equal(got, blobtest.Noise(n)) {
			t.Errorf("the copy of %d bytes: %d, %v", n, len(got), err)
		}
	}
}

// TestCopyTellsAFileFromItsTarget: its error says that it is one file that cannot be read, or that nothing can be put.
func TestCopyTellsAFileFromItsTarget(t *testing.T) {
	for _, sealer := range []*secret.Sealer{nil, newSealer()} {
		from, to := t.TempDir(), t.TempDir()
		source, target := openSealed(t, from, sealer), openFolder(t, to, nil)
		name, err := source.Name(putAll(t, source, []byte("content")))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(to, "incoming")); err != nil {
			t.Fatal(err)
		}
		if _, err := blob.Copy(t.Context(), source, target, name); !errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrOneFile) {
			t.Errorf("to a place that takes nothing: %v, want ErrUnavailable alone", err)
		}
		blobtest.Block(t, storedFile(t, from))
		if _, err := blob.Copy(t.Context(), source, target, name); !errors.Is(err, blob.ErrUnavailable) || !errors.Is(err, blob.ErrOneFile) {
			t.Errorf("of a file that cannot be read: %v, want ErrUnavailable and ErrOneFile", err)
		}
	}
}

func TestSealedLimits(t *testing.T) {
	s := openSealed(t, t.TempDir(), newSealer())
	if _, _, err := s.Put(t.Context(), strings.NewReader("x"), 1<<63-1); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("four"), 3); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}
