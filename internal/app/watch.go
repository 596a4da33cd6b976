package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/chargehand/chargehand"
)

// settleTime gathers the several writes of which a change of a file consists.
const settleTime = 200 * time.Millisecond

// watchWorkflows applies every definition in the folder, and again on change, until ctx
// ends. What cannot be applied is logged with its place and leaves the rest alone.
func (a *App) watchWorkflows(ctx context.Context) {
	applied := map[string]string{} // content by path, so that an unchanged file is not applied again
	changes := make(chan struct{}, 1)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(a.cfg.Workflows)
	}
	if err != nil {
		a.log.Warn("changes of workflows are not noticed", "folder", a.cfg.Workflows, "error", err)
	} else {
		a.running.Go(func() { a.forward(ctx, watcher, changes) })
	}
	for {
		a.applyFolder(ctx, applied)
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}

// forward sends one signal for each burst of changes. An error of the watcher, such as an
// overflow, may stand for changes that were missed.
func (a *App) forward(ctx context.Context, watcher *fsnotify.Watcher, changes chan<- struct{}) {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-watcher.Events:
			if !open {
				return
			}
			settled = time.After(settleTime)
		case err, open := <-watcher.Errors: // nobody reading them would stop the watcher
			if !open {
				return
			}
			a.log.Warn("watch the folder of workflows", "folder", a.cfg.Workflows, "error", err)
			settled = time.After(settleTime)
		case <-settled:
			settled = nil
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}
}

func (a *App) applyFolder(ctx context.Context, applied map[string]string) {
	entries, err := os.ReadDir(a.cfg.Workflows)
	if err != nil {
		a.log.Error("read the folder of workflows", "folder", a.cfg.Workflows, "error", err)
		return
	}
	for _, entry := range entries {
		path := filepath.Join(a.cfg.Workflows, entry.Name())
		switch strings.ToLower(filepath.Ext(path)) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			a.log.Error("read a workflow", "file", path, "error", err)
			continue
		}
		if applied[path] == string(content) {
			continue
		}
		if err := a.applyFile(ctx, path, content); err == nil {
			applied[path] = string(content)
		}
	}
}

func (a *App) applyFile(ctx context.Context, path string, content []byte) error {
	result, err := a.service.ApplyFromOperator(ctx, content)
	var told *chargehand.Error
	switch {
	case errors.As(err, &told):
		a.log.Error("workflow not applied", "file", path, "detail", told.Detail)
		for _, field := range told.Fields {
			a.log.Error("workflow not applied", "file", path, "line", field.Line, "column", field.Column, "code", field.Code, "detail", field.Detail)
		}
	case err != nil:
		a.log.Error("workflow not applied", "file", path, "error", err)
	default:
		a.log.Info("workflow applied", "file", path, "workflow", result.Namespace+"/"+result.Name, "version", result.Version)
	}
	return err
}
