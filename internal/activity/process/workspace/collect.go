package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/machine"
)

// Collect stores what the process left in OUT_DIR. It is called after the process has ended:
// the directory does not change any more.
func (w *Workspace) Collect(ctx context.Context) ([]machine.File, *machine.Fault) {
	patterns, narrowed, fault := patternsOf(w.call.Metadata, "collect")
	if fault != nil {
		return nil, fault
	}
	root, err := w.openOut()
	if root == nil && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, w.InternalFault(fmt.Errorf("collect files: %w", err))
	}
	defer func() { _ = root.Close() }()
	paths, err := regularFiles(root)
	if err != nil {
		return nil, runtimeFault("Files cannot be collected", fmt.Sprintf("a folder in OUT_DIR cannot be read: %v", err))
	}
	if narrowed {
		paths = slices.DeleteFunc(paths, func(path string) bool { return !matchesOutput(patterns, path) })
	}
	if len(paths) > MaxCollectedFiles {
		return nil, runtimeFault("Too many files", fmt.Sprintf("the process left %d files in OUT_DIR; at most %d are collected: narrow them by metadata.files.collect, or pack them",
			len(paths), MaxCollectedFiles))
	}
	size, err := totalBytes(root, paths)
	if err != nil {
		return nil, w.InternalFault(fmt.Errorf("collect files: %w", err))
	}
	if size > MaxCollectedBytes {
		return nil, runtimeFault("Too large files", fmt.Sprintf("the %d files that the process left in OUT_DIR have %d MiB together; at most %d MiB are collected: narrow them by metadata.files.collect, or pack them",
			len(paths), size>>20, MaxCollectedBytes>>20))
	}
	var files []machine.File
	for _, path := range paths {
		file, err := w.store(ctx, root, path)
		if err != nil {
			return nil, w.InternalFault(fmt.Errorf("collect %s: %w", path, err))
		}
		files = append(files, file)
	}
	return files, nil
}

// openOut opens OUT_DIR as a root, which no link leads out of. It is nil if the process
// removed the directory or put something else in its place.
func (w *Workspace) openOut() (*os.Root, error) {
	dir, err := os.OpenRoot(w.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Base(w.Out)
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return dir.OpenRoot(name)
}

// regularFiles lists the regular files below root by path, in order.
func regularFiles(root *os.Root) ([]string, error) {
	var paths []string
	err := fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// totalBytes adds up the sizes of the files, each as its reader would see it.
func totalBytes(root *os.Root, paths []string) (int64, error) {
	var total int64
	for _, path := range paths {
		info, err := root.Lstat(path)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// matchesOutput reports whether metadata.files.collect names a path.
func matchesOutput(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if strings.Contains(pattern, "/") {
			return matches(strings.TrimPrefix(pattern, "/"), file)
		}
		return matches(pattern, path.Base(file))
	})
}

// sniffBytes is what the type of a file is guessed from.
const sniffBytes = 512

func (w *Workspace) store(ctx context.Context, root *os.Root, path string) (machine.File, error) {
	f, err := root.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		// The process took its own right to read away; it is its owner that reads now.
		if err = root.Chmod(path, 0o600); err == nil {
			f, err = root.Open(path)
		}
	}
	if err != nil {
		return machine.File{}, err
	}
	defer f.Close()
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return machine.File{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return machine.File{}, err
	}
	name := machine.CleanFileName(path)
	return w.files.Put(ctx, w.call.Account, w.call.Environment, name, MediaType(name, head[:n]), f)
}

// mediaTypes are those of files that workflows often make. The machine's own tables are left
// alone: the type of a result must not depend on where it was made.
var mediaTypes = map[string]string{
	".csv": "text/csv", ".txt": "text/plain", ".md": "text/markdown", ".html": "text/html", ".htm": "text/html",
	".json": "application/json", ".jsonl": "application/jsonl", ".ndjson": "application/x-ndjson",
	".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml", ".tsv": "text/tab-separated-values",
	".log": "text/plain", ".css": "text/css", ".js": "text/javascript", ".pdf": "application/pdf",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".tif": "image/tiff", ".tiff": "image/tiff", ".bmp": "image/bmp", ".ico": "image/vnd.microsoft.icon",
	".avif": "image/avif", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".mp4": "video/mp4", ".webm": "video/webm",
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip", ".tar": "application/x-tar",
	".zst": "application/zstd", ".parquet": "application/vnd.apache.parquet", ".ics": "text/calendar", ".eml": "message/rfc822",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet",
	".epub": "application/epub+zip", ".wasm": "application/wasm", ".sqlite": "application/vnd.sqlite3",
}

// MediaType is the media type of a file by its extension or, where that says nothing, by its beginning.
func MediaType(name string, head []byte) string {
	if known, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return http.DetectContentType(head)
}
