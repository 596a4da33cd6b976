package jsonpointer

import "testing"

func TestTokensComeBack(t *testing.T) {
	for name, token := range map[string]string{
		"": "", "a": "a", "a/b": "a~1b", "~": "~0", "~1": "~01", "/~": "~1~0", "~01": "~001",
	} {
		if got := Escape(name); got != token {
			t.Errorf("Escape(%q) = %q, want %q", name, got, token)
		}
		if got := Unescape(token); got != name {
			t.Errorf("Unescape(%q) = %q, want %q", token, got, name)
		}
	}
}
