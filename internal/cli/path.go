package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/chargehand/chargehand/internal/app"
)

// pathError says what is wrong with a path that a person gave. It is the error that it was made of, too.
type pathError struct {
	text string
	err  error
}

func (e *pathError) Error() string { return e.text }
func (e *pathError) Unwrap() error { return e.err }

// unreadable says of a file or folder that cannot be read what is wrong, where it was looked for and, if a name there
// is like the given one, which one was meant. An error that names no path is returned as it is.
func unreadable(err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err
	}
	var text string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = absent(failed.Path)
	case errors.Is(err, syscall.EISDIR):
		text = failed.Path + " is a folder: name a file"
	default:
		text = fmt.Sprintf("%s cannot be read: %v", failed.Path, failed.Err)
	}
	return &pathError{text, err}
}

// absent says that nothing is at a path.
func absent(path string) string {
	if path == "" {
		return "the name of a file is empty"
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		folder = filepath.Dir(path)
	}
	names, err := namesIn(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("there is no %s: there is no folder %s", path, folder)
	}
	text := fmt.Sprintf("there is no %s in the folder %s", filepath.Base(path), folder)
	if meant := alike(filepath.Base(path), names); meant != "" {
		return text + fmt.Sprintf("; did you mean %q?", filepath.Join(filepath.Dir(path), meant))
	}
	kind := strings.ToLower(filepath.Ext(path))
	names = slices.DeleteFunc(names, func(name string) bool { return strings.ToLower(filepath.Ext(name)) != kind })
	if more := len(names) - maxShownNames; more > 0 {
		names = append(names[:maxShownNames], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 && kind != "" {
		text += "; it has " + strings.Join(names, ", ")
	}
	return text
}

// maxShownNames bounds the names of a folder in a message.
const maxShownNames = 4

// maxNames bounds the names of a folder that are looked at for one that was meant.
const maxNames = 1000

// namesIn are names in a folder, in order, without those that begin with a dot.
func namesIn(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxNames) // what was read before an error is enough
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
	slices.Sort(names)
	return names, nil
}

// alike is the one of some names that was probably meant: one that is nearly the same up to the first dot, since the
// endings of all are alike. Empty: none is.
func alike(name string, names []string) string {
	stem := func(name string) string { return strings.ToLower(name[:(strings.IndexByte(name+".", '.'))]) }
	var stems []string
	for _, one := range names {
		stems = append(stems, stem(one))
	}
	meant := app.Alike(stem(name), stems)
	if meant == "" {
		return ""
	}
	near := slices.DeleteFunc(slices.Clone(names), func(one string) bool { return stem(one) != meant })
	if best := app.Alike(name, near); best != "" {
		return best
	}
	return near[0]
}
