package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderOf makes a folder with empty files, and makes it the present one.
func folderOf(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	folder, err := os.Getwd() // without symbolic links, as messages have it
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// All commands say the same of a file that does not exist: where it was looked for, and which one was perhaps meant.
func TestMissingFiles(t *testing.T) {
	folder := folderOf(t, "refund.yaml")
	t.Setenv("CHARGEHAND_API_KEY", "x")
	t.Setenv("CHARGEHAND_URL", "http://127.0.0.1:1")
	for flag, command := range map[string][]string{
		"":                        {"test", "refnd.yaml"},
		"\x00validate":            {"workflows", "validate", "refnd.yaml"},
		"\x00graph":               {"workflows", "graph", "refnd.yaml"},
		"\x00apply":               {"workflows", "apply", "refnd.yaml"},
		"\x00publish":             {"events", "publish", "refnd.yaml"},
		"\x00upload":              {"files", "upload", "refnd.yaml"},
		"read the value: ":        {"secrets", "set", "x", "--from-file", "refnd.yaml"},
		"--replay: ":              {"test", "--replay", "refnd.yaml", "--definition", "refund.yaml"},
		"--definition: ":          {"test", "--replay", "x", "--definition", "refnd.yaml"},
		"--recorded-definition: ": {"test", "--replay", "x", "--definition", "refund.yaml", "--recorded-definition", "refnd.yaml"},
		"--config: ":              {"serve", "--config", "refnd.yaml"},
	} {
		flag, _, _ = strings.Cut(flag, "\x00") // what is behind it only tells the commands apart
		var out, complaint bytes.Buffer
		code := Run(command, strings.NewReader(""), &out, &complaint)
		want := "chargehand: " + flag + "there is no refnd.yaml in the folder " + folder + "; did you mean \"refund.yaml\"?\n"
		if code != ExitUsage || complaint.String() != want {
			t.Errorf("%v: exit code %d, %q, want %q", command, code, complaint.String(), want)
		}
	}
}

// What is said of a path depends on what is there.
func TestUnreadable(t *testing.T) {
	folder := folderOf(t, "a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml", "people.csv", "refund.yaml", "refund.test.yaml", ".hidden.yaml")
	if err := os.Mkdir("in", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"Refund.yml":                       "there is no Refund.yml in the folder " + folder + `; did you mean "refund.yaml"?`,
		"refund.test.yml":                  "there is no refund.test.yml in the folder " + folder + `; did you mean "refund.test.yaml"?`,
		"pepole.csv":                       "there is no pepole.csv in the folder " + folder + `; did you mean "people.csv"?`,
		filepath.Join(folder, "peple.csv"): "there is no peple.csv in the folder " + folder + `; did you mean "` + filepath.Join(folder, "people.csv") + `"?`,
		"elsewhere.yaml":                   "there is no elsewhere.yaml in the folder " + folder + "; it has a.yaml, b.yaml, c.yaml, d.yaml, 3 more",
		"hidden.json":                      "there is no hidden.json in the folder " + folder,
		"in/refund.yaml":                   "there is no refund.yaml in the folder " + filepath.Join(folder, "in"),
		"out/refund.yaml":                  "there is no out/refund.yaml: there is no folder " + filepath.Join(folder, "out"),
		"people.csv/x":                     "people.csv/x cannot be read: not a directory",
		"in":                               "in is a folder: name a file",
		"":                                 "the name of a file is empty",
	} {
		_, err := os.ReadFile(path)
		if got := unreadable(err); got == nil || got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%q: %v, want %q", path, got, want)
		}
	}
	plain := errors.New("x")
	if got := unreadable(plain); got != plain {
		t.Errorf("got %v", got)
	}
	if unreadable(nil) != nil {
		t.Error("there is an error of nothing")
	}
}
