package notice

import (
	_ "embed"
	"errors"
	"regexp"
	"strings"
)

// text is written by `make generate`.
//
//go:embed notices.txt
var text string

// Text is the list of all modules with their licences, and the texts of these. The notices of the web UI, which
// its build makes, follow where there are any.
func Text(ui []byte) string {
	if len(ui) == 0 {
		return text
	}
	return text + rule + "\n" + string(ui)
}

// Package is a package of npm that is in the web UI.
type Package struct{ Name, Version, Licence string }

// packageLine is the first line of a section in the notices of the web UI.
var packageLine = regexp.MustCompile(`^((?:@[\w.~-]+/)?[\w.~-]+) (\S+): (\S.*)$`)

// Packages reads the notices of the web UI: a section for each package, between lines of dashes. It fails where these
// are none, because a list that silently lacks packages is worse than no list.
func Packages(ui []byte) ([]Package, error) {
	sections := strings.Split(string(ui), "\n"+strings.Repeat("-", 80)+"\n\n")
	var packages []Package
	for _, section := range sections[1:] {
		line, _, _ := strings.Cut(section, "\n")
		if found := packageLine.FindStringSubmatch(line); found != nil {
			packages = append(packages, Package{found[1], found[2], found[3]})
		} else if len(packages) == 0 {
			break
		} // else it is more of a text that has such a line of its own
	}
	if len(packages) == 0 {
		return nil, errors.New("the notices of the web UI name no package")
	}
	return packages, nil
}

// rule ends the list of modules.
const rule = "\n\n----"

// OfData is the version in the list of a package of ours that embeds what others made.
const OfData = "(data of others in it)"

// Licence is a line of the list of modules. Version is OfData for a package of ours.
type Licence struct{ Version, SPDX string }

// Licences are the licences by module or package, as SPDX names them.
func Licences() map[string]Licence {
	list, _, _ := strings.Cut(text, rule)
	licences := map[string]Licence{}
	for line := range strings.Lines(list) {
		module, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		version, spdx, found := strings.Cut(rest, ": ")
		if ok && found {
			licences[module] = Licence{version, spdx}
		}
	}
	return licences
}
