package handbook

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Page is a page of the documentation.
type Page struct {
	Name      string // path from the top of the repository, with slashes
	Text      string
	Generated bool // by `make generate`
	Blocks    []Block
}

// Block is a fenced block of a page.
type Block struct {
	Line     int // of the fence that opens it, from 1
	Language string
	Kind     string // the second word behind the fence; may be empty
	Name     string // the third one: of a file, of a secret, or an exit code
	Text     string
}

// Pages reads all pages for users: README.md, examples/README.md and everything below docs. They are
// sorted by name.
func Pages(root string) ([]Page, error) {
	names := []string{"README.md", "examples/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			relative, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var pages []Page
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		blocks, err := Blocks(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s, %w", name, err)
		}
		pages = append(pages, Page{name, string(text), strings.HasPrefix(string(text), "<!-- Generated"), blocks})
	}
	return pages, nil
}

// Blocks reads the fenced blocks of a page. Errors name the line.
func Blocks(text string) ([]Block, error) {
	var list []Block
	var open *Block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			words := append(strings.Fields(info), "", "", "")
			open = &Block{Line: i + 1, Language: words[0], Kind: words[1], Name: words[2]}
		case fence:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		case strings.HasPrefix(strings.TrimLeft(line, " "), "```"):
			return nil, fmt.Errorf("line %d: the fence is indented; tests would not see the block", i+1)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.Line)
	}
	return list, nil
}
