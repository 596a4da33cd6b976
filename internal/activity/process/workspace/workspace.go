package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// The limits of a workspace.
const (
	MaxStagedFiles    = 10_000
	MaxStagedBytes    = 2 << 30
	MaxCollectedFiles = 1_000
	MaxCollectedBytes = 4 << 30 // as the files say, holes included: stored, a hole is no hole any more
)

// Workspace is the private directory of one run of an activity. It is not for concurrent use.
type Workspace struct {
	Dir string // the private directory
	In  string // IN_DIR
	Out string // OUT_DIR

	confiner *process.Confiner
	files    activity.Files
	call     activity.Call
	paths    map[string]string // staged references: local path by uri
}

// Open makes the private directory and stages the files that the call refers to. The caller
// closes the workspace. Operands are the arguments, environment values and stdin of the
// process: those that are references are staged whatever the metadata says.
func Open(ctx context.Context, confiner *process.Confiner, files activity.Files, call activity.Call, operands ...value.Value) (*Workspace, *machine.Fault) {
	dir, err := confiner.NewDir()
	if err != nil {
		return nil, internalFault(confiner.Logger(), err)
	}
	w := &Workspace{
		Dir: dir, In: filepath.Join(dir, "in"), Out: filepath.Join(dir, "out"),
		confiner: confiner, files: files, call: call, paths: map[string]string{},
	}
	fault := w.fill(ctx, operands)
	if fault != nil {
		w.Close()
		return nil, fault
	}
	return w, nil
}

// Close removes the private directory.
func (w *Workspace) Close() { w.confiner.RemoveDir(w.Dir) }

func (w *Workspace) fill(ctx context.Context, operands []value.Value) *machine.Fault {
	for _, dir := range []string{w.In, w.Out} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return w.InternalFault(err)
		}
	}
	wanted, fault := w.wanted(operands)
	if fault != nil {
		return fault
	}
	if err := w.stage(ctx, wanted); err != nil {
		var limit stagingLimitError
		if errors.As(err, &limit) {
			return runtimeFault("Too many input files", limit.Error())
		}
		return w.InternalFault(fmt.Errorf("stage input files: %w", err))
	}
	return nil
}

// wanted lists the uris to stage: operands first, then those of the input in the order of its
// keys.
func (w *Workspace) wanted(operands []value.Value) ([]string, *machine.Fault) {
	var uris []string
	for _, operand := range operands {
		if uri, ok := referenceOf(operand); ok {
			uris = append(uris, uri)
		}
	}
	patterns, named, fault := patternsOf(w.call.Metadata, "in")
	if fault != nil {
		return nil, fault
	}
	visitReferences(w.call.Input, "", func(pointer, uri, name string) {
		if !named || matchesInput(patterns, pointer, name) {
			uris = append(uris, uri)
		}
	})
	seen := make(map[string]bool, len(uris))
	unique := slices.DeleteFunc(uris, func(uri string) bool {
		again := seen[uri]
		seen[uri] = true
		return again
	})
	return unique, nil
}

// stagingLimitError is a limit of staging that the call ran into.
type stagingLimitError string

func (e stagingLimitError) Error() string { return string(e) }

// stage copies the files into IN_DIR: a process may do with its copies what it likes.
func (w *Workspace) stage(ctx context.Context, uris []string) error {
	names := newNames("manifest.json")
	manifest := map[string]any{}
	var total int64
	for _, uri := range uris {
		file, content, err := w.files.Open(ctx, w.call.Account, w.call.Environment, w.call.Execution, uri)
		if errors.Is(err, activity.ErrFileNotFound) {
			continue // data that looks like a reference
		}
		if err != nil {
			return err
		}
		total += file.Size
		if len(w.paths) >= MaxStagedFiles || total > MaxStagedBytes {
			content.Close()
			return stagingLimitError(fmt.Sprintf("the task refers to more than %d files or %d MiB; name those that it needs in metadata.files.in",
				MaxStagedFiles, MaxStagedBytes>>20))
		}
		name := names.take(file.Name)
		local := filepath.Join(w.In, name)
		err = errors.Join(writeFile(local, content), content.Close())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.paths[uri] = local
		manifest[uri] = name
	}
	return os.WriteFile(filepath.Join(w.In, "manifest.json"), append(value.Marshal(manifest), '\n'), 0o600)
}

func writeFile(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// InternalFault logs what the operator must mend and makes a fault of it.
func (w *Workspace) InternalFault(err error) *machine.Fault {
	return internalFault(w.confiner.Logger(), err)
}

// Relocate makes IN_DIR, OUT_DIR and the paths of staged files lie below dir, which is where a
// process in a container sees what the private directory holds. Dir, and what Collect reads,
// stay where they are.
func (w *Workspace) Relocate(dir string) {
	for uri, local := range w.paths {
		w.paths[uri] = path.Join(dir, filepath.Base(w.In), filepath.Base(local))
	}
	w.In, w.Out = path.Join(dir, filepath.Base(w.In)), path.Join(dir, filepath.Base(w.Out))
}

// Environment has the variables that every process gets, without those that its task gives.
func (w *Workspace) Environment() []string {
	return []string{
		"PATH=" + w.confiner.Path(), "LANG=C.UTF-8", "HOME=" + w.Dir, "TMPDIR=" + w.Dir,
		"IN_DIR=" + w.In, "OUT_DIR=" + w.Out,
	}
}
