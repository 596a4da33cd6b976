package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// pages is the converter of whole pages. A style for the columns of a table would be refused by the policy of pages.
var pages = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// Page is a page of the documentation: the text of its first heading, and the whole as HTML. Its source must be ours,
// because its length is not bounded; raw HTML in it is left out, and images are shown as their description. Headings
// have the ids that links to them name. lead says where a link leads to; empty: it is shown as text. It is safe for
// concurrent use.
func Page(source []byte, lead func(destination string) string) (title, content string) {
	document := pages.Parser().Parse(text.NewReader(source))
	var gone []ast.Node
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if title == "" {
				title = words(n, source)
			}
		case *ast.Link:
			to := lead(string(n.Destination))
			if n.Destination = []byte(to); to == "" {
				gone = append(gone, n)
			} else if strings.Contains(to, "://") {
				n.SetAttributeString("rel", []byte("noopener noreferrer"))
			}
		case *ast.Image:
			gone = append(gone, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range gone {
		unwrap(n)
	}
	var out bytes.Buffer
	if err := pages.Renderer().Render(&out, source, document); err != nil { // a buffer does not fail
		return title, Plain(string(source))
	}
	return title, out.String()
}

// words is the text in a node, without what marks it.
func words(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if part, ok := n.(*ast.Text); ok && entering {
			out.Write(part.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}
