package api

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// sheet is the form of a page in a browser without script: what is entered, as far as it would be sent.
type sheet struct {
	t      testing.TB
	path   string
	text   string // the whole page
	fields []entered
	button []string // values of the buttons, in order
	inputs map[string]*html.Node
}

type entered struct{ name, value, file string }

// openSheet reads the form of a page.
func openSheet(t testing.TB, path string, page []byte) *sheet {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	s := &sheet{t: t, path: path, text: string(page), inputs: map[string]*html.Node{}}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			s.take(n)
		}
	}
	return s
}

func attributeOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	var out strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			out.WriteString(c.Data)
		}
	}
	return out.String()
}

func (s *sheet) take(n *html.Node) {
	name, value := attributeOf(n, "name"), attributeOf(n, "value")
	switch n.Data {
	case "button":
		s.button = append(s.button, value)
		return
	case "textarea":
		value = strings.ReplaceAll(textOf(n), "\n", "\r\n") // the parser has dropped the first line break
	case "select":
		first := true
		for o := range n.Descendants() {
			if o.Data == "option" && (first || has(o, "selected")) {
				value, first = attributeOf(o, "value"), false
			}
		}
	case "input":
		switch attributeOf(n, "type") {
		case "checkbox", "radio":
			if s.inputs[name] = n; !has(n, "checked") {
				return
			}
		case "file":
			s.inputs[name] = n
			return
		case "hidden":
		default:
			value = strings.NewReplacer("\n", "", "\r", "").Replace(value)
		}
	default:
		return
	}
	if name == "" {
		return
	}
	s.inputs[name] = n
	s.fields = append(s.fields, entered{name: name, value: value})
}

// fill enters a value in place of the last one of that name, or beside the others where it is a new one.
func (s *sheet) fill(name, value string) *sheet {
	s.t.Helper()
	if s.inputs[name] == nil {
		s.t.Fatalf("the form has no %s:\n%s", name, s.text)
	}
	for i := range slices.Backward(s.fields) {
		if s.fields[i].name == name {
			s.fields[i].value = value
			return s
		}
	}
	s.fields = append(s.fields, entered{name: name, value: value})
	return s
}

// tick adds a value.
func (s *sheet) tick(name, value string) *sheet {
	s.fields = append(s.fields, entered{name: name, value: value})
	return s
}

// attach chooses a file.
func (s *sheet) attach(name, file, content string) *sheet {
	s.t.Helper()
	if s.inputs[name] == nil {
		s.t.Fatalf("the form has no %s:\n%s", name, s.text)
	}
	s.fields = append(s.fields, entered{name: name, value: content, file: file})
	return s
}

// values are those of a name.
func (s *sheet) values(name string) (all []string) {
	for _, f := range s.fields {
		if f.name == name {
			all = append(all, f.value)
		}
	}
	return all
}

// press sends the form by a button, which must be there.
func (s *sheet) press(button string, headers ...string) *http.Request {
	s.t.Helper()
	if !slices.Contains(s.button, button) {
		s.t.Fatalf("there is no button %s among %q", button, s.button)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, f := range s.fields {
		if f.file == "" {
			w.WriteField(f.name, f.value)
			continue
		}
		part, err := w.CreateFormFile(f.name, f.file)
		if err != nil {
			s.t.Fatal(err)
		}
		part.Write([]byte(f.value))
	}
	w.WriteField("do", button)
	w.Close()
	return taskRequest("POST", s.path, body.String(), append([]string{"Content-Type", w.FormDataContentType()}, headers...)...)
}
