package workspace

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// maxNameBytes leaves room for a number below the 255 bytes of common file systems.
const maxNameBytes = 200

// names gives files of one directory different names.
type names struct {
	taken map[string]bool
}

func newNames(reserved ...string) *names {
	n := &names{taken: map[string]bool{}}
	for _, name := range reserved {
		n.taken[name] = true
	}
	return n
}

// take returns a safe form of name that was not taken before: report.pdf, report-2.pdf …
func (n *names) take(name string) string {
	safe := sanitise(name)
	extension := path.Ext(safe)
	stem := strings.TrimSuffix(safe, extension)
	for i := 2; n.taken[safe]; i++ {
		safe = fmt.Sprintf("%s-%d%s", stem, i, extension)
	}
	n.taken[safe] = true
	return safe
}

// sanitise makes a name that shells and programs take as one plain word: the last part of the
// path, letters, digits and ._-+@ kept, anything else replaced, no leading dot or dash.
func sanitise(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	safe := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && r != unicode.ReplacementChar || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("._-+@", r) {
			return r
		}
		return '_'
	}, name)
	if safe == "" {
		return "file"
	}
	if safe[0] == '.' || safe[0] == '-' {
		safe = "_" + safe[1:]
	}
	if len(safe) > maxNameBytes {
		extension := path.Ext(safe)
		if len(extension) > 20 {
			extension = ""
		}
		safe = strings.ToValidUTF8(safe[:maxNameBytes-len(extension)], "") + extension
	}
	return safe
}
