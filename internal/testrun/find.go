package testrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFiles bounds the test files of a run.
const MaxFiles = 10_000

// ErrNoTests says that there are no test files where they were looked for.
var ErrNoTests = errors.New("there are no tests (NAME.test.yaml)")

// Find lists the test files of paths, each once and in order: a file itself, that of a definition, and all in a folder
// and below it. Folders whose names begin with a dot and those named node_modules are left out.
func Find(paths []string) (found []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			if found, err = walk(found, path); err != nil {
				return nil, err
			}
		case IsTestFile(path):
			found = append(found, filepath.Clean(path))
		default:
			file, err := testsOf(path)
			if err != nil {
				return nil, err
			}
			found = append(found, file)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return nil, ErrNoTests
	}
	return found, nil
}

func walk(found []string, folder string) ([]string, error) {
	if !os.IsPathSeparator(folder[len(folder)-1]) {
		folder += string(filepath.Separator) // it may be a symbolic link to a folder
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != folder && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case !entry.IsDir() && IsTestFile(path):
			if len(found) == MaxFiles {
				return fmt.Errorf("there are more than %d test files: name fewer folders", MaxFiles)
			}
			found = append(found, filepath.Clean(path))
		}
		return nil
	})
	return found, err
}

// testsOf is the test file of a definition.
func testsOf(definition string) (string, error) {
	base := strings.TrimSuffix(definition, filepath.Ext(definition))
	for _, suffix := range suffixes {
		if _, err := os.Stat(base + suffix); err == nil {
			return filepath.Clean(base + suffix), nil
		}
	}
	return "", fmt.Errorf("%s has no tests: there is no %s", definition, base+Suffix)
}
