package resource

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// readFile reads below the root. os.Root refuses whatever leads out of it, links included,
// also when the folder changes while it is read.
func (f *Fetcher) readFile(u *url.URL) (Content, error) {
	at := shown(u)
	if f.cfg.Root == "" {
		return Content{}, misconfigured(at, "files are not allowed as resources; an operator can allow a folder with --resource-root")
	}
	name, problem := f.local(u)
	if problem != "" {
		return Content{}, misconfigured(at, problem)
	}
	root, err := os.OpenRoot(f.cfg.Root)
	if err != nil {
		return Content{}, unreachable(at, "the folder of --resource-root cannot be opened", true)
	}
	defer root.Close()
	// A named pipe would block, even one that replaces a file between its check and its opening.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Content{}, fileError(at, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return Content{}, misconfigured(at, "it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, f.cfg.MaxBytes+1))
	if err != nil {
		return Content{}, unreachable(at, "reading the file failed", true)
	}
	if int64(len(data)) > f.cfg.MaxBytes {
		return Content{}, f.tooLarge(at)
	}
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(f.root(), name))}
	return contentOf(data, mediaTypeOfFile(name), uri.String()), nil
}

// local is the path of a file relative to the root, or the problem with it.
func (f *Fetcher) local(u *url.URL) (name, problem string) {
	name = u.Path
	if u.Scheme == "file" && u.Host != "" && u.Host != "localhost" {
		// file://folder/name, as the specification writes it: a file is never on another host.
		name = u.Host + name
	} else if u.Host != "" && u.Scheme == "" {
		return "", "it names a host, but no scheme"
	}
	if u.Opaque != "" { // file:folder/name
		var err error
		if name, err = url.PathUnescape(u.Opaque); err != nil {
			return "", "it is no address"
		}
	}
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		relative, err := filepath.Rel(f.root(), filepath.Clean(name))
		if err != nil || !filepath.IsLocal(relative) {
			return "", "it is not below the folder of --resource-root"
		}
		name = relative
	}
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return "", "it is not below the folder of --resource-root"
	}
	return name, ""
}

func (f *Fetcher) root() string {
	if abs, err := filepath.Abs(f.cfg.Root); err == nil {
		return abs
	}
	return f.cfg.Root
}

func fileError(at string, err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return misconfigured(at, "there is no such file below the folder of --resource-root")
	case errors.Is(err, fs.ErrPermission):
		return misconfigured(at, "the service may not read the file")
	}
	// What is left is above all a path that leads out of the root. The system's text may
	// tell where links point to, and is not shown.
	return misconfigured(at, "it is not a file below the folder of --resource-root")
}

func (f *Fetcher) tooLarge(at string) *Error {
	return misconfigured(at, fmt.Sprintf("it is larger than %d bytes, the limit of a resource", f.cfg.MaxBytes))
}

// fileTypes are the media types of what definitions use, on every system the same.
var fileTypes = map[string]string{
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml",
	".js": "text/javascript", ".mjs": "text/javascript", ".py": "text/x-python",
	".proto": "text/plain", ".txt": "text/plain",
}

const unknownType = "application/octet-stream"

func mediaTypeOfFile(name string) string {
	if known, ok := fileTypes[strings.ToLower(filepath.Ext(name))]; ok {
		return known
	}
	return unknownType
}
