package letter

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	text "text/template"
	"time"
	"unicode"
)

// Kind says what a mail is about. It is stored.
type Kind string

// The kinds.
const (
	Invitation Kind = "invitation"
	Reset      Kind = "reset"       // an admin has made the link
	AskedReset Kind = "asked reset" // the person has asked for the link
	KeyEnds    Kind = "key ends"
	Test       Kind = "test" // of the settings
	// Of human tasks.
	TaskOpened   Kind = "task opened"
	TaskReminded Kind = "task reminded"
	TaskOverdue  Kind = "task overdue"
)

// Letter is what a mail says. It is stored, sealed, as JSON.
type Letter struct {
	Kind    Kind   `json:"kind"`
	Locale  string `json:"locale,omitempty"`  // of the person; English but for German ones
	Name    string `json:"name,omitempty"`    // of the person
	Account string `json:"account,omitempty"` // its name
	By      string `json:"by,omitempty"`      // name of who invites; empty: a program
	URL     string `json:"url,omitempty"`     // to open
	// Until is how long the address can be used, or when the key ends. Zero: the mail does not say it.
	Until time.Time `json:"until,omitzero"`
	Key   string    `json:"key,omitempty"` // its name
	// LastFour are the last characters of the key.
	LastFour    string `json:"last_four,omitempty"`
	Environment string `json:"environment,omitempty"`
	Days        int    `json:"days,omitempty"` // until the key ends

	Task     string    `json:"task,omitempty"`     // its title
	Workflow string    `json:"workflow,omitempty"` // namespace/name of that which asks
	Priority int       `json:"priority,omitempty"` // of the task
	Due      time.Time `json:"due,omitzero"`       // of the task; zero: it has no due time
}

// Content is a letter that can be sent.
type Content struct {
	Subject string
	Name    string // of the person
	Text    string
	HTML    string
}

// phrases are the texts of a kind in a language. An empty one is left out.
type phrases struct {
	Subject, Lead, Button, Until, Closing string
}

var (
	//go:embed letter.html
	layout string
	page   = template.Must(template.New("letter").Parse(layout))
)

// maxText bounds a name in a mail, and the title of a task in the subject. maxTitle bounds the title in the text.
const (
	maxText  = 100
	maxTitle = 300
)

// clean makes one line of at most so many visible characters of a text that people chose.
func clean(s string, most int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r), r < ' ':
			space = n > 0
			continue
		case !unicode.IsGraphic(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Co, r), r == unicode.ReplacementChar:
			continue
		}
		if space {
			n++
			b.WriteByte(' ')
			space = false
		}
		if n++; n > most {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Write makes a letter.
func (l Letter) Write() (Content, error) {
	language := "en"
	if base, _, _ := strings.Cut(strings.ToLower(l.Locale), "-"); base == "de" {
		language = "de"
	}
	for _, field := range []*string{&l.Name, &l.Account, &l.By, &l.Key, &l.LastFour, &l.Environment, &l.Workflow} {
		*field = clean(*field, maxText)
	}
	short := clean(l.Task, maxText)
	l.Task = clean(l.Task, maxTitle)
	p, known := texts[language][l.Kind]
	if !known {
		return Content{}, fmt.Errorf("write a letter: there is no kind %q", l.Kind)
	}
	data := struct {
		Letter
		Time    string
		DueTime string // empty: there is none
		Short   string // title of the task
	}{Letter: l, Time: l.Until.UTC().Format(times[language]), Short: short}
	if !l.Due.IsZero() {
		data.DueTime = l.Due.UTC().Format(times[language])
	}
	for _, phrase := range []*string{&p.Subject, &p.Lead, &p.Until, &p.Closing} {
		t, err := text.New("phrase").Parse(*phrase)
		var out strings.Builder
		if err == nil {
			err = t.Execute(&out, data)
		}
		if err != nil {
			return Content{}, fmt.Errorf("write a letter: %w", err)
		}
		*phrase = out.String()
	}
	greeting := greetings[language]
	if l.Name != "" {
		greeting = fmt.Sprintf(greetingsByName[language], l.Name)
	}
	var html bytes.Buffer
	err := page.Execute(&html, struct {
		phrases
		Language, Greeting, URL string
	}{p, language, greeting, l.URL})
	if err != nil {
		return Content{}, fmt.Errorf("write a letter: %w", err)
	}
	lines := []string{greeting, p.Lead}
	if l.URL != "" {
		lines = append(lines, l.URL)
	}
	if p.Until != "" {
		lines = append(lines, p.Until)
	}
	if p.Closing != "" {
		lines = append(lines, p.Closing)
	}
	return Content{Subject: p.Subject, Name: l.Name, Text: strings.Join(lines, "\n\n") + "\n", HTML: html.String()}, nil
}
