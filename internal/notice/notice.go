package notice

import (
	_ "embed"
	"strings"
)

// text is written by `make generate`.
//
//go:embed notices.txt
var text string

// Text is the list of all modules with their licences, and the texts of these.
func Text() string { return text }

// rule ends the list of modules.
const rule = "\n\n----"

// Licences are the licences by module, as SPDX names them.
func Licences() map[string]string {
	list, _, _ := strings.Cut(text, rule)
	licences := map[string]string{}
	for line := range strings.Lines(list) {
		module, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		_, licence, found := strings.Cut(rest, ": ")
		if ok && found {
			licences[module] = licence
		}
	}
	return licences
}
