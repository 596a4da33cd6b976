package letter

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func write(t *testing.T, l Letter) Content {
	t.Helper()
	c, err := l.Write()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryKindInEveryLanguage: a text without a gap, and the same in HTML.
func TestEveryKindInEveryLanguage(t *testing.T) {
	if len(texts["en"]) != len(texts["de"]) {
		t.Errorf("%d kinds in English, %d in German", len(texts["en"]), len(texts["de"]))
	}
	for kind := range texts["en"] {
		for locale, greeting := range map[string]string{"": "Hello Ada,", "en-GB": "Hello Ada,", "fr": "Hello Ada,", "de": "Hallo Ada,", "DE-at": "Hallo Ada,"} {
			l := Letter{
				Kind: kind, Locale: locale, Name: "Ada", Account: "Finance", By: "Grace", URL: "https://wf.example.org/invitation#token=abc_-1",
				Until: time.Date(2026, 3, 4, 15, 16, 0, 0, time.FixedZone("", 3600)), Key: "deploy", LastFour: "x1y2", Environment: "live", Days: 7,
				Task: "Approve the invoice", Workflow: "finance/pay", Priority: 70, Due: time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC),
			}
			c := write(t, l)
			if !strings.HasPrefix(c.Text, greeting+"\n\n") || !strings.Contains(c.HTML, "<p>"+greeting+"</p>") || c.Name != "Ada" || c.Subject == "" {
				t.Errorf("%s in %q: %+v", kind, locale, c)
			}
			if !strings.Contains(c.Text, "\n"+l.URL+"\n") || !strings.Contains(c.HTML, `<a href="`+l.URL+`">`) {
				t.Errorf("%s in %q lacks the address: %+v", kind, locale, c)
			}
			for _, wrong := range []string{"<no value>", "{{", "%!", "  "} {
				if strings.Contains(c.Subject+c.Text, wrong) {
					t.Errorf("%s in %q has %q: %+v", kind, locale, wrong, c)
				}
			}
		}
	}
	invitation := write(t, Letter{Kind: Invitation, Account: "Finance", Locale: "de", Until: time.Date(2026, 3, 4, 15, 16, 0, 0, time.UTC)})
	if want := "Hallo,\n\ndu bist zum Konto Finance auf Chargehand eingeladen."; !strings.HasPrefix(invitation.Text, want) {
		t.Error(invitation.Text)
	}
	if !strings.Contains(invitation.Text, "04.03.2026, 15:16 Uhr (UTC)") {
		t.Error(invitation.Text)
	}
	if s := write(t, Letter{Kind: KeyEnds, Key: "deploy", Days: 1}).Subject; s != "API key deploy ends in 1 day" {
		t.Error(s)
	}
	task := Letter{Kind: TaskOverdue, Account: "Finance", Environment: "test", Task: strings.Repeat("long ", 50), Workflow: "finance/pay", Priority: 70}
	if c := write(t, task); c.Subject != "[test] Overdue: "+strings.Repeat("long ", 20)[:99]+"…" || strings.Contains(c.Text, "Due:") || strings.Contains(c.Text, "used until") ||
		!strings.Contains(c.Text, "in the environment test: “"+strings.TrimSpace(task.Task)+"”. Priority: 70 of 100.") {
		t.Errorf("%q\n%s", c.Subject, c.Text)
	}
	task.Due, task.Until = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC), time.Date(2026, 4, 5, 9, 0, 0, 0, time.UTC)
	if c := write(t, task); !strings.Contains(c.Text, "Due: 5 March 2026, 09:00 UTC. Priority") || !strings.Contains(c.Text, "until 5 April 2026, 09:00 UTC.") {
		t.Error(c.Text)
	}
	if _, err := (Letter{Kind: "none"}).Write(); err == nil {
		t.Error("an unknown kind is written")
	}
}

func TestHostileNamesAreOneShortLine(t *testing.T) {
	for _, name := range []string{
		"Ada\r\nBcc: eve@example.org\r\n\r\nText", "a\u202eb\u2066c\u200fd", strings.Repeat("x", 10_000), strings.Repeat("ä ", 10_000), "\x00\x1b[31m\u200b\ufeff",
		"<script>alert(1)</script>", `"><img src=x>`, "{{.URL}}", "%s%d", "\xff\xfe", "a\u2028b\u2029c", "🙂\ufe0f\U000e0041",
	} {
		for kind := range texts["en"] {
			l := Letter{Kind: kind, Name: name, Account: name, By: name, Key: name, LastFour: name, Environment: name, URL: "https://wf.example.org/x", Days: 30, Task: name, Workflow: name}
			c := write(t, l)
			for _, line := range []string{c.Subject, c.Name} {
				if n := utf8.RuneCountInString(line); n > maxText+60 || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool {
					return !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
				}) {
					t.Errorf("%s with %.40q: %.200q", kind, name, line)
				}
			}
			if len(c.Text) > 4000 || len(c.HTML) > 8000 || strings.ContainsAny(c.Text, "\r\x00\x1b\u202e\u2066\u200f\u2028") {
				t.Errorf("%s with %.40q: %.2000q", kind, name, c.Text)
			}
			if strings.Contains(c.HTML, "<script") || strings.Contains(c.HTML, "<img") || strings.Count(c.HTML, "<a ") != 1 {
				t.Errorf("%s with %.40q: %.4000s", kind, name, c.HTML)
			}
		}
	}
}

// TestAddressesAreNoScripts: an address that is none of the web is no link.
func TestAddressesAreNoScripts(t *testing.T) {
	if html := write(t, Letter{Kind: Reset, URL: "javascript:alert(1)"}).HTML; strings.Contains(html, `href="javascript:`) {
		t.Error(html)
	}
}
