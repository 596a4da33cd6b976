package markdown

import (
	"bytes"
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// converter knows tables, strike-through and bare addresses beside CommonMark.
var converter = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(harmless{}, 1000))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(quoted{}, 1))),
)

// MaxBytes bounds the texts that are read as Markdown.
const MaxBytes = 8 << 10

// HTML is the text as HTML. It is safe for concurrent use.
func HTML(source string) string {
	if len(source) > MaxBytes {
		return Plain(source)
	}
	var out bytes.Buffer
	if err := converter.Convert([]byte(source), &out); err != nil { // a buffer does not fail
		return Plain(source)
	}
	return strings.TrimSpace(out.String())
}

// Plain is the text as HTML that shows it as it is written.
func Plain(source string) string {
	return "<pre>" + html.EscapeString(strings.ToValidUTF8(source, "\uFFFD")) + "</pre>"
}

// harmless takes away what a reader's browser would follow by itself, and where links must not lead.
type harmless struct{}

func (harmless) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	var images []*ast.Image
	var addresses []*ast.AutoLink
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = followed(n.Destination)
			n.SetAttributeString("rel", []byte("noopener nofollow"))
		case *ast.AutoLink:
			n.SetAttributeString("rel", []byte("noopener nofollow"))
			if n.AutoLinkType == ast.AutoLinkURL && followed(n.URL(reader.Source())) == nil {
				addresses = append(addresses, n)
			}
		case *ast.Image:
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, a := range addresses {
		a.Parent().ReplaceChild(a.Parent(), a, ast.NewString(a.Label(reader.Source())))
	}
	for _, image := range images {
		unwrap(image)
	}
}

// unwrap puts what is in a node in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, n, child)
		child = next
	}
	parent.RemoveChild(parent, n)
}

// followed is the destination of a link, empty unless a browser may go there.
func followed(destination []byte) []byte {
	u, err := url.Parse(string(destination))
	if err != nil {
		return nil
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "mailto":
		return destination
	}
	return nil
}

// quoted shows raw HTML as the text that it is.
type quoted struct{}

func (quoted) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			segments := n.(*ast.RawHTML).Segments
			for i := range segments.Len() {
				segment := segments.At(i)
				_, _ = w.WriteString(html.EscapeString(string(segment.Value(source))))
			}
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block := n.(*ast.HTMLBlock)
		if entering {
			_, _ = w.WriteString("<p>")
			for i := range block.Lines().Len() {
				line := block.Lines().At(i)
				_, _ = w.WriteString(html.EscapeString(string(line.Value(source))))
			}
			return ast.WalkContinue, nil
		}
		if block.HasClosure() {
			_, _ = w.WriteString(html.EscapeString(string(block.ClosureLine.Value(source))))
		}
		_, _ = w.WriteString("</p>\n")
		return ast.WalkContinue, nil
	})
}
