package blob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNewFoldersAreMadeDurable: the folder above each one that is made is synced, and no other.
func TestNewFoldersAreMadeDurable(t *testing.T) {
	root := t.TempDir()
	var synced []string
	var refused error
	open := func() {
		t.Helper()
		synced = nil
		s, err := openFolder(Config{Folder: filepath.Join(root, "new", "files")}, func(path string) error {
			name, err := filepath.Rel(root, path)
			synced = append(synced, name)
			return errors.Join(err, refused)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	open()
	if want := []string{"new/files", "new", "."}; !slices.Equal(synced, want) {
		t.Errorf("of new folders, %q were made durable, want %q", synced, want)
	}
	open()
	if len(synced) > 0 {
		t.Errorf("of folders that were there, %q were made durable", synced)
	}
	if err := os.RemoveAll(filepath.Join(root, "new")); err != nil {
		t.Fatal(err)
	}
	refused = fs.ErrPermission // of a folder that may be written and not read
	open()
}

// TestFolderIsMadeDurable: each content makes the folder durable that it is in, and the folder above only when that one
// is new.
func TestFolderIsMadeDurable(t *testing.T) {
	root := t.TempDir()
	var synced []string
	f := &folder{root: root, sync: func(path string) error {
		name, err := filepath.Rel(root, path)
		synced = append(synced, name)
		return err
	}}
	put := func(key string, want ...string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "incoming")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		synced = nil
		if err := f.Put(context.Background(), path, key, 1); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(synced, want) {
			t.Errorf("%s: %q were made durable, want %q", key, synced, want)
		}
	}
	put("aa/1", "aa", ".")
	put("aa/2", "aa")
	put("aa/2", "aa") // another Put may have stored it a moment ago, and not have made it durable yet
	put("bb/1", "bb", ".")
	if err := os.RemoveAll(filepath.Join(root, "aa")); err != nil {
		t.Fatal(err)
	}
	put("aa/1", "aa", ".")
	if err := os.Mkdir(filepath.Join(root, "cc"), 0o700); err != nil { // by another process
		t.Fatal(err)
	}
	put("cc/1", "cc", ".")
}
