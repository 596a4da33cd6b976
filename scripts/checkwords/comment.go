package main

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// described is a declaration with a comment above it.
type described struct {
	file  string
	line  int      // of the comment
	first string   // its first word, without an article
	names []string // what it declares; one of them begins the comment

	article  bool // an article comes before the first word
	exported bool // it is an exported function or type
}

// describe collects the declarations of a file that have a comment, and what their package declares. What a
// function declares inside is not read.
func (c *checker) describe(file string, set *token.FileSet, tree *ast.File) {
	f := c.folder(path.Dir(file))
	add := func(doc *ast.CommentGroup, exported bool, names ...*ast.Ident) {
		d := described{file: file, exported: exported}
		for _, name := range names {
			f.declared[name.Name] = true
			d.names = append(d.names, name.Name)
		}
		if text := doc.Text(); text != "" && len(names) > 0 {
			d.first, d.article = firstWord(text)
			d.line = set.Position(doc.Pos()).Line
			f.described = append(f.described, d)
		}
	}
	for _, decl := range tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			add(decl.Doc, decl.Name.IsExported(), decl.Name)
		case *ast.GenDecl:
			var all []*ast.Ident
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					all = append(all, spec.Name)
					add(spec.Doc, spec.Name.IsExported(), spec.Name)
				case *ast.ValueSpec:
					all = append(all, spec.Names...)
					add(spec.Doc, false, spec.Names...)
				}
			}
			// The comment of a type that is declared alone is that of the declaration.
			add(decl.Doc, decl.Tok == token.TYPE && len(all) == 1 && all[0].IsExported(), all...)
		}
	}
}

// firstWord is the word that a comment begins with, or the one behind an article at its beginning. It is empty if
// the comment begins with something else, such as a quoted text or a path.
func firstWord(text string) (word string, article bool) {
	word, rest, _ := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
	if article = slices.Contains([]string{"A", "An", "The"}, word); article {
		word, _, _ = strings.Cut(rest, " ")
	}
	word = strings.TrimSuffix(strings.TrimRight(word, ",.:;"), "'s")
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		return "", article
	}
	return word, article
}

// misnamed finds comments that begin with an identifier which is not the one below them: most often an identifier was
// renamed and its comment was not. A word is taken for an identifier if it has the form of one. Without an article, it
// is also taken for one if it begins the comment in lower case, or if the package declares it; the comment of a test
// may be a sentence that begins with such a word. The comment of an exported function or type always begins with its
// name, because a reader may see nothing else of it.
func (c *checker) misnamed() {
	for _, f := range c.folders {
		for _, d := range f.described {
			found := d.exported && !strings.HasSuffix(d.file, "_test.go") || isIdentifier(d.first) || !d.article && (startsLower(d.first) || f.declared[d.first] && !strings.HasSuffix(d.file, "_test.go"))
			if found && !slices.Contains(d.names, d.first) {
				c.add(d.file, d.line, "misnamed comment", "it begins with "+d.first+" and is that of "+strings.Join(d.names, ", "))
			}
		}
	}
}

// isIdentifier reports whether a word has the form of a name in Go code: somePart, SomePart, some_part.
func isIdentifier(word string) bool {
	_, size := utf8.DecodeRuneInString(word)
	rest := word[size:]
	return strings.Contains(rest, "_") || strings.ContainsFunc(rest, unicode.IsUpper) && strings.ContainsFunc(rest, unicode.IsLower)
}

func startsLower(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.IsLower(first)
}
