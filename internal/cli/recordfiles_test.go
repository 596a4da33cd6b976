package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrun"
)

func digestText(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Fixtures have names that every file system takes and that stay the same; each content is saved once.
func TestSaveRecorded(t *testing.T) {
	t.Chdir(t.TempDir())
	downloads, content := 0, "hello"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		downloads++
		fmt.Fprint(w, content)
	}))
	t.Cleanup(server.Close)
	api := client.New(server.URL, "k", client.WithoutRetries())
	var said bytes.Buffer
	c := &connection{console: console{err: &said}}
	file := func(id, name string) client.RecordedFile {
		return client.RecordedFile{ID: id, Filename: name, Size: 5, Digest: digestText("hello")}
	}
	huge := client.RecordedFile{ID: "9", Filename: "huge.bin", Size: testrun.MaxFileBytes + 1, Digest: digestText("x")}
	g := &client.Recording{Outcomes: []client.RecordedOutcome{
		{Files: []client.RecordedFile{file("1", "../../Rechnung für\x1b Ä.pdf"), file("2", "...")}}, {Files: []client.RecordedFile{file("1", ""), huge, huge}},
	}}
	want := map[string]string{"1": "fixtures/Rechnung_f_r-2cf24dba5fb0.pdf", "2": "fixtures/file-2cf24dba5fb0"}
	for range 2 { // the second time they are there
		paths, err := c.saveRecorded(t.Context(), api, g, false)
		if err != nil || fmt.Sprint(paths) != fmt.Sprint(want) {
			t.Fatal(paths, err)
		}
	}
	if got, err := os.ReadFile(want["1"]); err != nil || string(got) != content || downloads != 2 {
		t.Errorf("%q, %v after %d downloads", got, err, downloads)
	}
	if strings.Count(said.String(), "huge.bin has more than 64 MiB") != 2 {
		t.Errorf("it says %q", &said)
	}
	anonymous, err := c.saveRecorded(t.Context(), api, &client.Recording{Outcomes: []client.RecordedOutcome{{Files: []client.RecordedFile{file("1", "eve@example.com.pdf")}}}}, true)
	if err != nil || anonymous["1"] != "fixtures/file-2cf24dba5fb0.pdf" {
		t.Error(anonymous, err)
	}
	if left, err := filepath.Glob("fixtures/.*"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// What is there is never written to, and what comes otherwise than the recording names it is not kept.
func TestSaveRecordedRefuses(t *testing.T) {
	content := "hello"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) }))
	t.Cleanup(server.Close)
	api := client.New(server.URL, "k", client.WithoutRetries())
	g := &client.Recording{Outcomes: []client.RecordedOutcome{{Files: []client.RecordedFile{{ID: "1", Filename: "a.txt", Size: 5, Digest: digestText("hello")}}}}}
	name := filepath.Join("fixtures", "a-2cf24dba5fb0.txt")
	try := func(t *testing.T, before func() error, want string) {
		t.Helper()
		t.Chdir(t.TempDir())
		if err := os.Mkdir("fixtures", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := before(); err != nil {
			t.Fatal(err)
		}
		c := &connection{console: console{err: &bytes.Buffer{}}}
		if _, err := c.saveRecorded(t.Context(), api, g, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Run("another file", func(t *testing.T) {
		try(t, func() error { return os.WriteFile(name, []byte("mine"), 0o600) }, "is another file")
		if got, _ := os.ReadFile(name); string(got) != "mine" {
			t.Errorf("it is %q now", got)
		}
	})
	t.Run("a link", func(t *testing.T) {
		try(t, func() error { return os.Symlink("elsewhere", name) }, "no regular file")
	})
	content = "hellp"
	t.Run("other bytes", func(t *testing.T) {
		try(t, func() error { return nil }, "not what the recording names")
	})
	content = strings.Repeat("hello", 1000)
	t.Run("more bytes", func(t *testing.T) {
		try(t, func() error { return nil }, "more than the recording names")
		if left, _ := os.ReadDir("fixtures"); len(left) > 0 {
			t.Errorf("left is %v", left)
		}
	})
}
