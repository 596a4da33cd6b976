package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLine is the maximum of characters in a line of prose.
const maxLine = 120

// finding is one thing to be mended.
type finding struct {
	file string
	line int
	rule string // the old word, or what else is wrong
	text string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.file, f.line, f.rule, f.text)
}

// checker goes through the files and collects findings.
type checker struct {
	list     *list
	all      bool // exceptions for the time being do not count
	findings []finding
	folders  map[string]*folder
}

// folder is what a folder has of Go code.
type folder struct {
	name    string // of the package
	docs    bool   // doc.go has a comment of the package
	comment bool   // some file has

	declared  map[string]bool // what its files declare at the top
	described []described
}

func (c *checker) add(file string, line int, rule, text string) {
	c.findings = append(c.findings, finding{file, line, rule, text})
}

func (c *checker) file(file string, content []byte) error {
	if anyMatches(c.list.ignored, file) || !c.all && anyMatches(c.list.excepted, file) {
		return nil
	}
	c.names(file, 1, path.Base(file))
	lines := strings.Split(string(content), "\n")
	if strings.HasSuffix(file, ".go") {
		return c.source(file, content, lines)
	}
	c.prose(file, 1, string(content))
	if strings.HasSuffix(file, ".md") {
		c.markdownLines(file, lines)
	}
	return nil
}

// names looks for old words in a name.
func (c *checker) names(file string, line int, name string) {
	words := wordsOf(name)
	for _, w := range c.list.words {
		if w.applies(file) && (anyMatches(w.exacts, name) || anyMatches(w.names, words)) && !w.kept(file, name) {
			c.add(file, line, w.name, fmt.Sprintf("the name %s (say: %s)", name, w.say))
		}
	}
}

// prose looks for old words in a text that begins at a line. A phrase may be broken by the end of a line.
func (c *checker) prose(file string, first int, text string) {
	joined := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, text)
	for _, w := range c.list.words {
		if !w.applies(file) {
			continue
		}
		for _, pattern := range w.texts {
			for _, at := range pattern.FindAllStringIndex(joined, -1) {
				start := strings.LastIndexByte(text[:at[0]], '\n') + 1
				end := len(text)
				if i := strings.IndexByte(text[at[1]:], '\n'); i >= 0 {
					end = at[1] + i
				}
				if !w.kept(file, joined[start:end]) {
					c.add(file, first+strings.Count(text[:at[0]], "\n"), w.name,
						fmt.Sprintf("%q (say: %s)", strings.TrimSpace(joined[at[0]:at[1]]), w.say))
				}
			}
		}
	}
}

// source looks through a file of Go code: the names that it declares, its comments and its literals.
func (c *checker) source(file string, content []byte, lines []string) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for name := range declared(tree) {
		c.names(file, set.Position(name.Pos()).Line, name.Name)
	}
	for _, group := range tree.Comments {
		c.prose(file, set.Position(group.Pos()).Line, commentText(group))
		c.commentLines(file, set, group, lines)
	}
	c.literals(file, content)
	c.note(file, tree)
	c.describe(file, set, tree)
	return nil
}

// commentText is the text of a comment with the same number of lines, without what marks it as one.
func commentText(group *ast.CommentGroup) string {
	var text strings.Builder
	for i, comment := range group.List {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), " "))
	}
	return text.String()
}

// literals looks through the texts of a file that are not comments.
func (c *checker) literals(file string, content []byte) {
	set := token.NewFileSet()
	handle := set.AddFile(file, -1, len(content))
	var s scanner.Scanner
	s.Init(handle, content, nil, 0)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return
		}
		if kind == token.STRING {
			c.prose(file, handle.Position(pos).Line, text)
		}
	}
}

func (c *checker) commentLines(file string, set *token.FileSet, group *ast.CommentGroup, lines []string) {
	for _, comment := range group.List {
		first := set.Position(comment.Pos()).Line
		for line := first; line <= set.Position(comment.End()).Line; line++ {
			text := lines[line-1]
			if utf8.RuneCountInString(text) > maxLine && !strings.HasPrefix(strings.TrimSpace(text), "//go:") {
				c.add(file, line, "long line", fmt.Sprintf("%d characters with a comment; 120 at most", utf8.RuneCountInString(text)))
			}
		}
	}
}

// markdownLines finds long lines of prose: tables, code and links that cannot be broken may be longer.
func (c *checker) markdownLines(file string, lines []string) {
	fenced := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
		case fenced, strings.HasPrefix(trimmed, "|"), strings.HasPrefix(line, "    "), !strings.Contains(trimmed, " "):
		case utf8.RuneCountInString(line) > maxLine:
			c.add(file, i+1, "long line", fmt.Sprintf("%d characters; 120 at most", utf8.RuneCountInString(line)))
		}
	}
}

// declared yields every name that a file declares.
func declared(tree *ast.File) func(yield func(*ast.Ident) bool) {
	return func(yield func(*ast.Ident) bool) {
		more := true
		give := func(exprs ...ast.Expr) {
			for _, e := range exprs {
				if name, ok := e.(*ast.Ident); ok && more {
					more = yield(name)
				}
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				give(n.Name)
			case *ast.TypeSpec:
				give(n.Name)
			case *ast.ValueSpec:
				for _, name := range n.Names {
					give(name)
				}
			case *ast.Field:
				for _, name := range n.Names {
					give(name)
				}
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					give(n.Lhs...)
				}
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					give(n.Key, n.Value)
				}
			}
			return more
		})
	}
}

// note remembers whether a file says what its package promises.
func (c *checker) note(file string, tree *ast.File) {
	dir := path.Dir(file)
	if slices.Contains(strings.Split(dir, "/"), "testdata") {
		return
	}
	f := c.folder(dir)
	f.name = strings.TrimSuffix(tree.Name.Name, "_test")
	if tree.Doc != nil {
		f.comment = true
		f.docs = f.docs || path.Base(file) == "doc.go"
	}
}

// folder is what was seen of a folder; it is made when it is first asked for.
func (c *checker) folder(dir string) *folder {
	if c.folders == nil {
		c.folders = map[string]*folder{}
	}
	f := c.folders[dir]
	if f == nil {
		f = &folder{declared: map[string]bool{}}
		c.folders[dir] = f
	}
	return f
}

// packages finds packages without doc.go, and commands without a comment.
func (c *checker) packages() {
	for dir, f := range c.folders {
		switch {
		case f.name == "main" && !f.comment:
			c.add(dir, 1, "no package comment", "say in the file of func main what the command does")
		case f.name != "main" && !f.docs:
			c.add(dir, 1, "no doc.go", "say in doc.go what package "+f.name+" promises")
		}
	}
	c.misnamed()
	slices.SortStableFunc(c.findings, func(a, b finding) int {
		if a.file != b.file {
			return strings.Compare(a.file, b.file)
		}
		return a.line - b.line
	})
}

// unneeded finds exceptions that except nothing.
func (c *checker) unneeded() {
	for _, w := range c.list.words {
		for _, e := range w.keeps {
			if !e.used && (c.all || len(c.list.excepted) == 0) {
				c.add(listFile, e.number, "exception", "nothing needs it any more")
			}
		}
	}
}
