package blobtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// OnlyContent is the file of the only content in a folder.
func OnlyContent(t *testing.T, folder string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "content", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the contents %q, %v; want one", found, err)
	}
	return found[0]
}

// Block puts something that not even root can open in the place of a file.
func Block(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Symlink(filepath.Base(path), path)); err != nil {
		t.Fatal(err)
	}
}

// Flip changes the last byte of a file.
func Flip(t *testing.T, path string) {
	t.Helper()
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stored[len(stored)-1] ^= 1
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
}
