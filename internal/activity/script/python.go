package script

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

//go:embed wrapper.py
var wrapper string

// The files by which wrapper and server talk, in the private directory.
const (
	jobFile    = ".job.json"
	resultFile = ".result.json"
)

// python is the interpreter. What stands on PATH may be a script that picks a version, so the
// interpreter itself is asked once where it is.
type python struct {
	confiner *process.Confiner

	mu    sync.Mutex
	found *interpreter
}

type interpreter struct {
	path      string
	version   string
	readPaths []string
}

func newPython(confiner *process.Confiner) *python { return &python{confiner: confiner} }

// question is what the interpreter is asked.
const question = `import json, platform, sys
print(json.dumps([sys.executable, platform.python_version(), [sys.prefix, sys.base_prefix, sys.exec_prefix] + [p for p in sys.path if p]]))`

// questionTimeout bounds the question.
const questionTimeout = 20 * time.Second

// interpreter finds the interpreter, once it has been found for good.
func (p *python) interpreter(ctx context.Context) (*interpreter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	shim, err := lookPath(p.confiner.Path(), "python3")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	ask := exec.CommandContext(ctx, shim, "-c", question)
	ask.Dir = "/"
	answer, err := ask.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shim, err)
	}
	var found interpreter
	var paths []string
	if err := json.Unmarshal(answer, &[]any{&found.path, &found.version, &paths}); err != nil || !filepath.IsAbs(found.path) {
		return nil, fmt.Errorf("%s: it did not say where it is: %q", shim, answer)
	}
	paths = append(paths, found.path, filepath.Dir(found.path))
	var folders []string
	for _, path := range paths {
		if filepath.IsAbs(path) && filepath.Clean(path) != "/" {
			folders = append(folders, path)
		}
	}
	found.readPaths = p.confiner.ReadRules(folders)
	p.found = &found
	return p.found, nil
}

// lookPath is exec.LookPath for a PATH of its own.
func lookPath(searchPath, name string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s on the server's PATH", name)
}

// PythonVersion is the version of the interpreter, for $runtime.metadata (T89).
func (r *Runner) PythonVersion(ctx context.Context) (string, error) {
	found, err := r.python.interpreter(ctx)
	if err != nil {
		return "", err
	}
	return found.version, nil
}

// job is what the wrapper reads.
type job struct {
	Code      string          `json:"code"`
	Argv      []string        `json:"argv"`
	Variables json.RawMessage `json:"variables"`
}

// runPython runs a script in a workspace.
func (r *Runner) runPython(ctx context.Context, call activity.Call, args map[string]any, code string) activity.Result {
	found, err := r.python.interpreter(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Confiner.Logger().Error("find python", "error", err)
		}
		return fault("the server has no python3 that works: " + firstLine(err.Error()))
	}
	return workspace.Run(ctx, workspace.Job{
		Confiner: r.cfg.Confiner, Files: r.cfg.Files, Call: call, Arguments: args["arguments"],
		Prepare: func(w *workspace.Workspace) (process.Command, *machine.Fault) {
			if f := writeJob(w, args, code); f != nil {
				return process.Command{}, f
			}
			return process.Command{
				Path: found.path, ReadPaths: found.readPaths,
				Args: []string{"-X", "utf8", "-B", "-c", wrapper, filepath.Join(w.Dir, jobFile), filepath.Join(w.Dir, resultFile)},
			}, nil
		},
		Finish: readResult,
	})
}

// writeJob hands code and arguments to the wrapper. A map of arguments predefines variables
// and is on argv as JSON; references in it arrive as local paths.
func writeJob(w *workspace.Workspace, args map[string]any, code string) *machine.Fault {
	j := job{Code: code, Argv: []string{}, Variables: json.RawMessage("{}")}
	switch arguments := args["arguments"].(type) {
	case map[string]any:
		local := make(map[string]any, len(arguments))
		for name, value := range arguments {
			local[name] = w.Local(value)
		}
		j.Variables = value.Marshal(local)
		j.Argv = append(j.Argv, string(j.Variables))
	default:
		argv, f := w.Arguments(arguments, nil)
		if f != nil {
			return f
		}
		j.Argv = append(j.Argv, argv...)
	}
	text, err := json.Marshal(j)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.Dir, jobFile), text, 0o600)
	}
	if err != nil {
		return w.InternalFault(fmt.Errorf("write job: %w", err))
	}
	return nil
}

// readResult takes what the script returned. The file is the script's to forge: it is only
// read if it is a plain one.
func readResult(w *workspace.Workspace, o *workspace.Outcome) *machine.Fault {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return w.InternalFault(fmt.Errorf("read result: %w", err))
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(resultFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := root.Open(resultFile)
	if err != nil {
		return w.InternalFault(fmt.Errorf("read result: %w", err))
	}
	defer f.Close()
	var text strings.Builder
	if _, err := io.Copy(&text, io.LimitReader(f, workspace.MaxValueBytes+1)); err != nil {
		return w.InternalFault(fmt.Errorf("read result: %w", err))
	}
	return o.SetValue([]byte(text.String()))
}
