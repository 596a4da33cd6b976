package plan

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

// The functions of the default catalog, which every definition may call as name:version@default
// (docs/language/functions.md). Each is a file functions/{name}/{version}/function.yaml, laid out like
// any catalog and compiled into the binary.
//
// A version that was released never changes: executions that run with it continue after an
// update of the server. A test keeps the digests.
//
//go:embed functions/*/*/function.yaml
var catalogFiles embed.FS

// CatalogFunction is the document of a function of the default catalog; false if there is none of
// that name and version.
func CatalogFunction(name, version string) ([]byte, bool) {
	path := "functions/" + name + "/" + version + "/function.yaml"
	if !fs.ValidPath(path) {
		return nil, false
	}
	content, err := catalogFiles.ReadFile(path)
	return content, err == nil
}

// CatalogNames lists the functions as name:version, sorted.
func CatalogNames() []string {
	paths, err := fs.Glob(catalogFiles, "functions/*/*/function.yaml")
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
