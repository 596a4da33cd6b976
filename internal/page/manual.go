package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
)

// ManualPolicy is the Content-Security-Policy of pages of the documentation: they run no script.
const ManualPolicy = TaskPolicy

//go:embed manual.html
var manualLayout string

//go:embed manual.css
var manualStyle []byte

// Manual is a page of the documentation. Its text is English; what is around it is in the language of the page.
type Manual struct {
	Lang  string // empty: English
	Title string
	Body  template.HTML
	Tag   string
}

// Word is a text that belongs to no page.
func (m Manual) Word(name string) string { return words[m.Lang][name] }

var manualDrawn = template.Must(template.New("manual").Parse(manualLayout))

// DrawManual is the HTML of a page of the documentation.
func DrawManual(m Manual) ([]byte, error) {
	m.Tag = Tag
	if m.Lang == "" {
		m.Lang = English
	}
	var out bytes.Buffer
	if err := manualDrawn.Execute(&out, m); err != nil {
		return nil, fmt.Errorf("draw the page %s of the documentation: %w", m.Title, err)
	}
	return out.Bytes(), nil
}
