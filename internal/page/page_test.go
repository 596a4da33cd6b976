package page

import (
	"strings"
	"testing"
)

func TestLanguage(t *testing.T) {
	for _, c := range []struct{ chosen, accept, want string }{
		{"", "", English}, {"", "de", German}, {"", "de-AT,de;q=0.9,en;q=0.8", German}, {"", "en-GB,de;q=0.5", English}, {"", "fr,de;q=0.5", German},
		{"", "fr", English}, {"de", "en", German}, {"en", "de", English}, {"", "\x00;;,", English}, {"xx-invalid-", strings.Repeat("de,", 10_000), English},
	} {
		if got := Language(c.chosen, c.accept); got != c.want {
			t.Errorf("chosen %q, browser %.40q: %s, want %s", c.chosen, c.accept, got, c.want)
		}
	}
}

// TestTranslations: each text that a page has in one language it has in all.
func TestTranslations(t *testing.T) {
	for name, text := range pages[English] {
		other := pages[German][name]
		if (text.Title == "") != (other.Title == "") || (text.Lead == "") != (other.Lead == "") || (text.Button == "") != (other.Button == "") {
			t.Errorf("the page %s: %+v, in German %+v", name, text, other)
		}
	}
	for name := range words[English] {
		if words[German][name] == "" {
			t.Errorf("%s has no German", name)
		}
	}
	for _, name := range []string{Setup, SignIn, SignedIn, Invitation, Reset, Forgotten, Problem, Linking, Root, Gone, DeviceSignIn, Device,
		DeviceConfirm, DeviceConfirmAdmin, DeviceAllowed, DeviceVerify, DeviceNoRole, DeviceRefused} {
		if pages[English][name].Title == "" || pages[German][name].Title == "" {
			t.Errorf("the page %s has no title", name)
		}
	}
	if len(pages[English]) != len(pages[German]) || len(words[English]) != len(words[German]) {
		t.Error("one language has more texts than the other")
	}
}

// TestHostileTexts are shown as texts.
func TestHostileTexts(t *testing.T) {
	const hostile = `"><script>alert(1)</script>`
	text, err := Draw(Content{
		Page: SignIn, Error: hostile, Note: hostile, Passkey: PasskeySignIn, Providers: []Provider{{"company", hostile}},
		Fields: []Field{{Name: "email", Type: "email", Value: hostile, Error: hostile}},
	})
	if err != nil || strings.Contains(string(text), "<script>alert") {
		t.Errorf("%v\n%s", err, text)
	}
}
