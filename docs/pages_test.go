package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	href    = regexp.MustCompile(`<a href="([^"]*)"`)
	heading = regexp.MustCompile(`<h[1-6] id="([^"]*)"`)
	// allowed are the elements that pages are made of. None loads anything, and none has a style of its own.
	allowed = regexp.MustCompile(`^</?(p|strong|em|del|code|pre|ul|ol|li|h[1-6]|blockquote|table|thead|tbody|tr|th|td|a|hr|br)( (href|rel|id|class|start)="[^"]*")*( ?/)?>$`)
	element = regexp.MustCompile(`<[^>]*>`)
)

// TestPages draws all pages: each has a title, every link leads to a page and a heading that are there, and nothing is
// loaded from elsewhere.
func TestPages(t *testing.T) {
	ids := map[string]map[string]bool{}
	for name := range pages() {
		page, ok := Find(name)
		if !ok || page.Title == "" || strings.ContainsAny(page.Title, "<`") {
			t.Errorf("%s has the title %q", name, page.Title)
		}
		ids[name] = map[string]bool{}
		for _, found := range heading.FindAllStringSubmatch(string(page.Body), -1) {
			ids[name][found[1]] = true
		}
	}
	if len(ids) < 80 {
		t.Errorf("only %d pages were found", len(ids))
	}
	for name := range pages() {
		page, _ := Find(name)
		for _, found := range href.FindAllStringSubmatch(string(page.Body), -1) {
			address, fragment, _ := strings.Cut(found[1], "#")
			target, own := strings.CutPrefix(address, Root+"/")
			switch {
			case address == "":
				target = name
			case !own:
				if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
					t.Errorf("%s: a link to %q", name, found[1])
				}
				continue
			}
			if ids[target] == nil || fragment != "" && !ids[target][fragment] {
				t.Errorf("%s: the link %s leads nowhere", name, found[1])
			}
		}
		for _, tag := range element.FindAllString(string(page.Body), -1) {
			if !allowed.MatchString(tag) && tag != "<!-- raw HTML omitted -->" {
				t.Errorf("%s: an element %s", name, tag)
			}
		}
	}
	for _, name := range []string{"", "language", "language/none", "../README", "README.md", "pictures/architecture"} {
		if _, ok := Find(name); ok {
			t.Errorf("there is a page %q", name)
		}
	}
}

func TestLead(t *testing.T) {
	for _, c := range []struct{ folder, destination, want string }{
		{"language", "for.md", "/docs/language/for"},
		{"language", "../how-to/pass-files.md#limits", "/docs/how-to/pass-files#limits"},
		{".", "language/README.md", "/docs/language/README"},
		{"how-to", "#here", "#here"},
		{"how-to", "https://example.com/a", "https://example.com/a"},
		{"how-to", "../../CONTRIBUTING.md", ""},
		{"how-to", "../pictures/execution.png", ""},
		{"how-to", ":", ""},
	} {
		if got := lead(c.folder, c.destination); got != c.want {
			t.Errorf("%s in %s leads to %q, want %q", c.destination, c.folder, got, c.want)
		}
	}
}
