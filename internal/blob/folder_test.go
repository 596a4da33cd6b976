package blob_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/blob/blobtest"
)

func openFolder(t *testing.T, folder string, protect blob.Protect) *blob.Store {
	t.Helper()
	s, err := blob.OpenFolder(blob.Config{Folder: folder, Protect: protect})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestFolder(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Opener {
		folder := filepath.Join(t.TempDir(), "made", "blobs")
		return func(t *testing.T, protect blob.Protect) *blob.Store { return openFolder(t, folder, protect) }
	})
}

func TestFolderHoldsDigestsOnly(t *testing.T) {
	folder := t.TempDir()
	s := openFolder(t, folder, nil)
	d, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(name))
			if info, _ := e.Info(); info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v: others may read it", name, info.Mode())
			}
		}
		return err
	})
	want := "content/" + d.String()[:2] + "/" + d.String()[2:]
	if err != nil || len(names) != 1 || names[0] != want {
		t.Errorf("files %v (%v), want only %s", names, err, want)
	}
}

func TestFolderReplacesCutOffContent(t *testing.T) {
	folder := t.TempDir()
	s := openFolder(t, folder, nil)
	d, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "content", d.String()[:2], d.String()[2:])
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("content"), 100); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "content" {
		t.Errorf("content is %q (%v)", b, err)
	}
}

func TestFolderStrangersAreNotListed(t *testing.T) {
	folder := t.TempDir()
	s := openFolder(t, folder, nil)
	for _, name := range []string{"README", "ab/short", "ab/" + strings.Repeat("Z", 62), "ab/" + strings.Repeat("0", 62) + ".attrs"} {
		path := filepath.Join(folder, "content", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := s.List(t.Context(), func(c blob.Content) error {
		t.Errorf("listed %s", c.Name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDropUnfinished(t *testing.T) {
	folder := t.TempDir()
	s := openFolder(t, folder, nil)
	old, young := filepath.Join(folder, "incoming", "old"), filepath.Join(folder, "incoming", "young")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	if err := s.DropUnfinished(t.Context(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what an old Put left is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the file of a running Put is gone")
	}
}

// TestUnavailable simulates a disk that cannot be written to: the folder for new
// files is gone. Reads still work, and writes do again when it is back.
func TestUnavailable(t *testing.T) {
	folder := t.TempDir()
	s := openFolder(t, folder, nil)
	d, _, err := s.Put(t.Context(), strings.NewReader("before"), 100)
	if err != nil {
		t.Fatal(err)
	}
	incoming := filepath.Join(folder, "incoming")
	if err := os.Remove(incoming); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("during"), 100); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Put: %v, want ErrUnavailable", err)
	}
	if size, err := s.Size(t.Context(), d); err != nil || size != 6 {
		t.Errorf("Size: %d, %v", size, err)
	}
	if err := os.Mkdir(incoming, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(t.Context(), strings.NewReader("after"), 100); err != nil {
		t.Errorf("Put afterwards: %v", err)
	}
	if _, err := blob.OpenFolder(blob.Config{Folder: filepath.Join(incoming, "file")}); err != nil {
		t.Errorf("nested folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := blob.OpenFolder(blob.Config{Folder: filepath.Join(folder, "file", "x")}); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("a folder that cannot be made: %v, want ErrUnavailable", err)
	}
}

func TestParseName(t *testing.T) {
	good := strings.Repeat("0a", 32)
	if n, err := blob.ParseName(good); err != nil || n.String() != good {
		t.Errorf("ParseName(%s) = %s, %v", good, n, err)
	}
	for _, bad := range []string{"", "0a", strings.Repeat("0A", 32), strings.Repeat("g", 64), good + "0", "../" + good[3:]} {
		if _, err := blob.ParseName(bad); !errors.Is(err, blob.ErrBadName) {
			t.Errorf("ParseName(%q): %v, want ErrBadName", bad, err)
		}
	}
}
