package docs

import (
	"embed"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/chargehand/chargehand/internal/markdown"
)

//go:embed *.md */*.md
var files embed.FS

// Page is a page of the documentation, ready to be shown.
type Page struct {
	Title string
	// Body is its whole text. Links in it lead to Root, to a heading of the page, or out of the server.
	Body template.HTML
}

// Root is where the pages are at the server.
const Root = "/docs"

// pages are all pages by their names. Each is drawn when it is asked for first.
var pages = sync.OnceValue(func() map[string]func() Page {
	found := map[string]func() Page{}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			panic(err) // the pattern is a constant
		}
		for _, name := range names {
			found[strings.TrimSuffix(name, ".md")] = sync.OnceValue(func() Page { return draw(name) })
		}
	}
	return found
})

// Find is the page of a name, such as language/wait; false: there is none. It is safe for concurrent use.
func Find(name string) (Page, bool) {
	drawn := pages()[name]
	if drawn == nil {
		return Page{}, false
	}
	return drawn(), true
}

func draw(file string) Page {
	text, err := fs.ReadFile(files, file)
	if err != nil {
		panic(err) // it was embedded
	}
	title, body := markdown.Page(text, func(destination string) string { return lead(path.Dir(file), destination) })
	return Page{title, template.HTML(body)} // the text is ours, and raw HTML in it is left out
}

// lead is where a link of a page in a folder leads to at the server; empty: to what the server does not have.
func lead(folder, destination string) string {
	u, err := url.Parse(destination)
	if err != nil {
		return ""
	}
	if u.Scheme != "" {
		return destination
	}
	fragment := ""
	if u.Fragment != "" {
		fragment = "#" + u.Fragment
	}
	if u.Path == "" {
		return fragment
	}
	name := path.Join(folder, strings.TrimSuffix(u.Path, ".md"))
	if _, err := fs.Stat(files, name+".md"); err != nil {
		return ""
	}
	return Root + "/" + name + fragment
}
