package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
)

// quietTime gathers the several writes of which a change of a file consists.
const quietTime = 200 * time.Millisecond

// What could not be applied for a reason that may pass is tried again after the first pause,
// which doubles up to the last one. A change begins anew.
const (
	firstRetry = 2 * time.Second
	lastRetry  = 5 * time.Minute
)

// workflowFile is what became of a file of the folder of workflows.
type workflowFile struct {
	content string
	problem string // as it was logged last; empty: applied
	passing bool   // the problem may go by itself
}

// watchWorkflows applies every definition in the folder, and again on change, until ctx
// ends. What cannot be applied is logged with its place and leaves the rest alone.
func (t *term) watchWorkflows(ctx context.Context) {
	files := map[string]workflowFile{} // by path
	changes := make(chan struct{}, 1)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(t.cfg.Workflows)
	}
	if err != nil {
		t.log.Warn("changes of workflows are not noticed", "folder", t.cfg.Workflows, "error", err)
	} else {
		t.services.Start("workflow folder", func(ctx context.Context) { t.forward(ctx, watcher, changes) })
	}
	t.applyFolder(ctx, files, false)
	for pause := t.cfg.firstRetry; ; {
		var retry <-chan time.Time
		if hasPassing(files) {
			retry = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
			pause = t.cfg.firstRetry
			t.applyFolder(ctx, files, false)
		case <-retry:
			pause = min(2*pause, lastRetry)
			t.applyFolder(ctx, files, true)
		}
	}
}

func hasPassing(files map[string]workflowFile) bool {
	for _, f := range files {
		if f.passing {
			return true
		}
	}
	return false
}

// forward sends one signal for each burst of changes. An error of the watcher, such as an
// overflow, may stand for changes that were missed.
func (t *term) forward(ctx context.Context, watcher *fsnotify.Watcher, changes chan<- struct{}) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-watcher.Events:
			if !open {
				return
			}
			due = time.After(quietTime)
		case err, open := <-watcher.Errors: // unread errors would stop the watcher
			if !open {
				return
			}
			t.log.Warn("watch the folder of workflows", "folder", t.cfg.Workflows, "error", err)
			due = time.After(quietTime)
		case <-due:
			due = nil
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}
}

// applyFolder applies what is not applied yet. With again, that is what may pass by itself.
func (t *term) applyFolder(ctx context.Context, files map[string]workflowFile, again bool) {
	entries, err := os.ReadDir(t.cfg.Workflows)
	if err != nil {
		t.log.Error("read the folder of workflows", "folder", t.cfg.Workflows, "error", err)
		return
	}
	found := map[string]bool{}
	for _, entry := range entries {
		path := filepath.Join(t.cfg.Workflows, entry.Name())
		switch strings.ToLower(filepath.Ext(path)) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		if entry.IsDir() || testrun.BelongsToTests(path) {
			continue
		}
		found[path] = true
		known, isKnown := files[path]
		content, err := os.ReadFile(path)
		if err != nil {
			if known.problem != err.Error() {
				t.log.Error("read a workflow", "file", path, "error", err)
			}
			files[path] = workflowFile{problem: err.Error(), passing: true}
			continue
		}
		isSame := isKnown && known.content == string(content)
		if isSame && (known.problem == "" || again && !known.passing) {
			continue
		}
		before := ""
		if isSame {
			before = known.problem
		}
		files[path] = t.applyFile(ctx, path, content, before)
	}
	for path, f := range files {
		if f.passing && !found[path] {
			delete(files, path)
		}
	}
}

// applyFile applies a definition. A problem is logged unless it is the one that was before.
func (t *term) applyFile(ctx context.Context, path string, content []byte, before string) workflowFile {
	file := workflowFile{content: string(content)}
	result, err := t.service.ApplyFromOperator(audit.FromCommand(ctx, "serve"), content)
	if err == nil {
		t.log.Info("workflow applied", "file", path, "workflow", result.Namespace+"/"+result.Name, "version", result.Version)
		return file
	}
	file.problem, file.passing = problemOf(err), mayPass(err)
	if file.problem == before || ctx.Err() != nil {
		return file
	}
	var apiErr *chargehand.Error
	if !errors.As(err, &apiErr) {
		t.log.Error("workflow not applied", "file", path, "error", err, "tried_again", file.passing)
		return file
	}
	t.log.Error("workflow not applied", "file", path, "detail", apiErr.Detail, "tried_again", file.passing)
	for _, field := range apiErr.Fields {
		t.log.Error("workflow not applied", "file", path, "line", field.Line, "column", field.Column, "code", field.Code, "detail", field.Detail)
	}
	return file
}

// mayPass reports whether a definition may be applied later as it is: a resource that was not
// to be had, or a server that was not able to.
func mayPass(err error) bool {
	var apiErr *chargehand.Error
	if !errors.As(err, &apiErr) {
		return true
	}
	switch apiErr.Code {
	case chargehand.CodeInternal, chargehand.CodeUnavailable, chargehand.CodeRateLimited:
		return true
	}
	return slices.ContainsFunc(apiErr.Fields, func(f chargehand.FieldError) bool { return f.Code == plan.CodeResourceMissing })
}

// problemOf tells problems apart.
func problemOf(err error) string {
	var apiErr *chargehand.Error
	if !errors.As(err, &apiErr) {
		return err.Error()
	}
	text := apiErr.Error()
	for _, f := range apiErr.Fields {
		text += "\n" + f.Pointer + " " + f.Code + " " + f.Detail
	}
	return text
}
