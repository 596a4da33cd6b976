package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", "/": "result", "": "result", ".": "result",
		"..": "result", "-rf": "rf", "---": "result", "-..": "result", "a\nb\x1b[2J": "a b [2J", "  ": "result", "\x00": "result",
	} {
		if got := safeName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// TestSettingsFile: one file serves the server and the commands beside it. A setting that no command knows is
// refused, and so is an empty one that decides where rows are.
func TestSettingsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chargehand.yaml")
	dir := t.TempDir()
	for _, test := range []struct{ text, environment, want string }{
		{"engine: temporal\nworkflows: /flows\nrate-limit: 5\ndata-dir: " + dir + "\n", "", ""},
		{"colour: blue\n", "", `"colour" is not a setting`},
		{"database-url: \"\"\n", "", "--database-url is empty"},
		{"data-dir: " + dir + "\n", "CHARGEHAND_DATABASE_URL", "--database-url is empty"},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if test.environment != "" {
			t.Setenv(test.environment, "")
		}
		var out, problems strings.Builder
		code := Run([]string{"keys", "create", "--init", "--config", file}, strings.NewReader(""), &out, &problems)
		if (code == ExitDone) != (test.want == "") || !strings.Contains(problems.String(), test.want) {
			t.Errorf("%q: exit code %d: %s", test.text, code, problems.String())
		}
	}
}
