package cli

import "testing"

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
