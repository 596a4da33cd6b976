//go:build unix

package testrun_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chargehand/chargehand/internal/testrun"
)

// What a test names is read only if it is a regular file that has an end.
func TestReadFile(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"whole": testrun.MaxFileBytes, "large": testrun.MaxFileBytes + 1} {
		if err := os.WriteFile(path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path(name), size); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		path("pipe"): "it is no regular file", "/dev/zero": "it is no regular file", folder: "it is no regular file",
		path("large"): "it has more than 64 MiB, which a test may not read",
	} {
		var failed *fs.PathError
		if _, err := testrun.ReadFile(name); !errors.As(err, &failed) || failed.Path != name || failed.Err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if content, err := testrun.ReadFile(path("whole")); err != nil || len(content) != testrun.MaxFileBytes {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	if _, err := testrun.ReadFile(path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Without a ReadFile of the caller, a run reads no device: no test file, no definition, no file of a mock.
func TestRunReadsNoDevice(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "flow.test.yaml")
	text := map[string]string{
		"flow.yaml":      header + "do: [{ask: {call: http, with: {method: get, endpoint: 'https://example.org/'}}}]",
		"flow.test.yaml": "tests: [{name: a, mocks: {ask: {returns: 1, files: [{name: x, from: /dev/zero}]}}}]",
	}
	for name, content := range text {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(folder, "zero.test.yaml")); err != nil {
		t.Fatal(err)
	}
	report, err := testrun.New(testrun.Config{Version: "1"}).Run(t.Context(), []string{path, filepath.Join(folder, "zero.test.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	report.Files[1].Problems[0].File = "zero.test.yaml"
	check(t, report, `
a error
  file_unreadable line 1: The file /dev/zero cannot be read: it is no regular file.
zero.test.yaml:1:1 The file cannot be read: it is no regular file.
`)
}
