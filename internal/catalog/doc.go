// Package catalog holds the functions of the default catalog, which every definition may call
// as name:version@default (docs/language/functions.md). Each is a file functions/{name}/{version}/function.yaml,
// laid out like any catalog and compiled into the binary.
//
// A version that was released never changes: executions that run with it go on after an
// update of the server. A test keeps the digests.
package catalog

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed functions/*/*/function.yaml
var files embed.FS

// Function is the document of a function; false if there is none of that name and version.
func Function(name, version string) ([]byte, bool) {
	path := "functions/" + name + "/" + version + "/function.yaml"
	if !fs.ValidPath(path) {
		return nil, false
	}
	content, err := files.ReadFile(path)
	return content, err == nil
}

// Names lists the functions as name:version, sorted.
func Names() []string {
	paths, err := fs.Glob(files, "functions/*/*/function.yaml")
	if err != nil { // only a wrong pattern gives one
		return nil
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		parts := strings.Split(path, "/")
		names = append(names, parts[1]+":"+parts[2])
	}
	slices.Sort(names)
	return names
}
