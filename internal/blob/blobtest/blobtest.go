package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
)

// Opener opens a store with that Protect. Each call within one test opens the same contents.
type Opener func(t *testing.T, protect blob.Protect) *blob.Store

// Run runs the suite. fresh is called once per test and gives an opener of an empty place.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	tests := map[string]func(*testing.T, Opener){
		"round trip":       roundTrip,
		"ranges":           ranges,
		"limit":            limit,
		"failing source":   failingSource,
		"stored once":      storedOnce,
		"protect":          protect,
		"delete":           deletion,
		"list":             list,
		"reopen":           reopen,
		"owner":            owner,
		"concurrent":       concurrent,
		"missing contents": missing,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

const noLimit = 1 << 40

func put(t *testing.T, s *blob.Store, content []byte) blob.Digest {
	t.Helper()
	d, size, err := s.Put(t.Context(), bytes.NewReader(content), noLimit)
	if err != nil {
		t.Fatal(err)
	}
	if d.Sum != sha256.Sum256(content) || size != int64(len(content)) {
		t.Fatalf("Put says %s and %d bytes, want %x and %d", d, size, sha256.Sum256(content), len(content))
	}
	return d
}

func read(t *testing.T, s *blob.Store, d blob.Digest, offset, length int64) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), d, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// Noise is n bytes that do not repeat themselves, the same ones for the same n.
func Noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	r.Read(b)
	return b
}

func entries(t *testing.T, s *blob.Store) (all []blob.Content) {
	t.Helper()
	err := s.List(t.Context(), func(c blob.Content) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func roundTrip(t *testing.T, open Opener) {
	s := open(t, nil)
	for _, n := range []int{0, 1, 4096, 128<<10 + 1, 5 << 20} {
		content := Noise(n)
		d := put(t, s, content)
		if got := read(t, s, d, 0, -1); !bytes.Equal(got, content) {
			t.Errorf("%d bytes came back as %d others", n, len(got))
		}
		if size, err := s.Size(t.Context(), d); err != nil || size != int64(n) {
			t.Errorf("Size is %d (%v), want %d", size, err, n)
		}
	}
}

func ranges(t *testing.T, open Opener) {
	s := open(t, nil)
	d := put(t, s, []byte("0123456789"))
	cases := []struct {
		offset, length int64
		want           string
	}{
		{0, -1, "0123456789"}, {0, 3, "012"}, {4, 3, "456"}, {9, 1, "9"}, {7, -1, "789"},
		{7, 100, "789"}, {10, -1, ""}, {3, 0, ""},
	}
	for _, c := range cases {
		if got := read(t, s, d, c.offset, c.length); string(got) != c.want {
			t.Errorf("range %d+%d is %q, want %q", c.offset, c.length, got, c.want)
		}
	}
	for _, c := range [][2]int64{{-1, 1}, {0, -2}} {
		if r, err := s.Open(t.Context(), d, c[0], c[1]); err == nil {
			r.Close()
			t.Errorf("range %d+%d is accepted", c[0], c[1])
		}
	}
}

func limit(t *testing.T, open Opener) {
	s := open(t, nil)
	for _, c := range []struct {
		size, limit int
		fits        bool
	}{{10, 10, true}, {10, 11, true}, {11, 10, false}, {1 << 20, 10, false}, {0, 0, true}, {1, 0, false}} {
		_, _, err := s.Put(t.Context(), bytes.NewReader(Noise(c.size)), int64(c.limit))
		if c.fits && err != nil || !c.fits && !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("%d bytes with limit %d: %v", c.size, c.limit, err)
		}
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("x"), 1<<63-1); err != nil {
		t.Errorf("the largest limit: %v", err)
	}
	for _, c := range entries(t, s) {
		if c.Size > 10 {
			t.Errorf("a content over its limit was kept: %d bytes", c.Size)
		}
	}
}

func failingSource(t *testing.T, open Opener) {
	s := open(t, nil)
	broken := errors.New("connection reset")
	_, _, err := s.Put(t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), noLimit)
	if !errors.Is(err, broken) || errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("the error of the source came back as %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Put(ctx, strings.NewReader("x"), noLimit); !errors.Is(err, context.Canceled) {
		t.Errorf("Put after the end of its context: %v", err)
	}
	if left := entries(t, s); len(left) != 0 {
		t.Errorf("%d contents are left", len(left))
	}
	if err := s.DropUnfinished(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

func storedOnce(t *testing.T, open Opener) {
	s := open(t, nil)
	first := put(t, s, []byte("same"))
	second := put(t, s, []byte("same"))
	put(t, s, []byte("other"))
	if first != second {
		t.Error("the same content has two digests")
	}
	if all := entries(t, s); len(all) != 2 {
		t.Errorf("%d contents are stored, want 2", len(all))
	}
}

func protect(t *testing.T, open Opener) {
	refused := errors.New("refused")
	var s *blob.Store
	calls := 0
	s = open(t, func(ctx context.Context, d blob.Digest, size int64) error {
		calls++
		if want := sha256.Sum256([]byte("protected")); d.Sum != want || size != 9 {
			t.Errorf("Protect for %s and %d bytes", d, size)
		}
		switch calls {
		case 1:
			return refused
		case 3: // a sweep was under way: the content goes while Protect waits
			return s.Delete(ctx, d)
		}
		return nil
	})
	if _, _, err := s.Put(t.Context(), strings.NewReader("protected"), noLimit); !errors.Is(err, refused) {
		t.Errorf("Put with a refused Protect: %v", err)
	}
	if all := entries(t, s); len(all) != 0 {
		t.Error("a content was stored without Protect")
	}
	put(t, s, []byte("protected"))
	d := put(t, s, []byte("protected"))
	if got := read(t, s, d, 0, -1); string(got) != "protected" {
		t.Errorf("content deleted before Protect came back is %q", got)
	}
	if calls != 3 {
		t.Errorf("%d calls of Protect for 3 Puts", calls)
	}
}

func deletion(t *testing.T, open Opener) {
	s := open(t, nil)
	gone, stays := put(t, s, []byte("gone")), put(t, s, []byte("stays"))
	for range 2 {
		if err := s.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(t.Context(), gone, 0, -1); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("open a deleted content: %v", err)
	}
	if got := read(t, s, stays, 0, -1); string(got) != "stays" {
		t.Errorf("the other content is %q", got)
	}
	if put(t, s, []byte("gone")) != gone {
		t.Error("a deleted content cannot be stored again")
	}
}

func list(t *testing.T, open Opener) {
	s := open(t, nil)
	want := map[blob.Digest]int64{}
	for n := range 300 {
		want[put(t, s, Noise(n))] = int64(n)
	}
	var last blob.Name
	all := entries(t, s)
	for i, c := range all {
		if i > 0 && bytes.Compare(c.Name, last) <= 0 {
			t.Errorf("%s is listed after %s", c.Name, last)
		}
		last = c.Name
		d, err := s.Digest(c.Name)
		if name, nameErr := s.Name(d); err != nil || nameErr != nil || !name.Equal(c.Name) {
			t.Errorf("%s is the name of %s (%v), whose name is %s (%v)", c.Name, d, err, name, nameErr)
		}
		if size, ok := want[d]; !ok || size != c.Size {
			t.Errorf("listed %s with %d bytes, want %d (known: %v)", d, c.Size, size, ok)
		}
		if age := time.Since(c.Modified); age < -time.Minute || age > time.Hour {
			t.Errorf("modified %v ago", age)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d contents are listed, want %d", len(all), len(want))
	}
	stop := errors.New("stop")
	if err := s.List(t.Context(), func(blob.Content) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error of the callback came back as %v", err)
	}
}

// owner: whose contents they are is kept, and is no content.
func owner(t *testing.T, open Opener) {
	s := open(t, nil)
	want := ""
	for _, name := range []string{"", "first", "another"} {
		if name != "" {
			if err := s.SetOwner(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			want = name
		}
		if got, err := open(t, nil).Owner(t.Context()); err != nil || got != want {
			t.Errorf("owner %q, %v, want %q", got, err, want)
		}
	}
	if all := entries(t, s); len(all) != 0 {
		t.Errorf("%d contents are listed", len(all))
	}
}

func reopen(t *testing.T, open Opener) {
	d := put(t, open(t, nil), []byte("kept"))
	if got := read(t, open(t, nil), d, 0, -1); string(got) != "kept" {
		t.Errorf("content after reopening is %q", got)
	}
}

func concurrent(t *testing.T, open Opener) {
	s := open(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				content := []byte(fmt.Sprint((i + j) % 10))
				d, _, err := s.Put(context.Background(), bytes.NewReader(content), noLimit)
				if err != nil {
					t.Error(err)
					return
				}
				r, err := s.Open(context.Background(), d, 0, -1)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
					t.Errorf("read %q (%v), want %q", got, err, content)
				}
				r.Close()
			}
		})
	}
	wg.Wait()
	if all := entries(t, s); len(all) != 10 {
		t.Errorf("%d contents are stored, want 10", len(all))
	}
}

func missing(t *testing.T, open Opener) {
	s := open(t, nil)
	d := blob.Digest{Sum: sha256.Sum256([]byte("never stored"))}
	if _, err := s.Open(t.Context(), d, 0, -1); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Size(t.Context(), d); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Size: %v", err)
	}
	if err := s.Delete(t.Context(), d); err != nil {
		t.Errorf("Delete: %v", err)
	}
}
