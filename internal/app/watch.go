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
func (t *tenure) watchWorkflows(ctx context.Context) {
	applied := map[string]string{} // content by path, so that an unchanged file is not applied again
	changes := make(chan struct{}, 1)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(t.cfg.Workflows)
	}
	if err != nil {
		t.log.Warn("changes of workflows are not noticed", "folder", t.cfg.Workflows, "error", err)
	} else {
		t.running.Go(func() { t.forward(ctx, watcher, changes) })
	}
	for {
		t.applyFolder(ctx, applied)
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}

// forward sends one signal for each burst of changes. An error of the watcher, such as an
// overflow, may stand for changes that were missed.
func (t *tenure) forward(ctx context.Context, watcher *fsnotify.Watcher, changes chan<- struct{}) {
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
			t.log.Warn("watch the folder of workflows", "folder", t.cfg.Workflows, "error", err)
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

func (t *tenure) applyFolder(ctx context.Context, applied map[string]string) {
	entries, err := os.ReadDir(t.cfg.Workflows)
	if err != nil {
		t.log.Error("read the folder of workflows", "folder", t.cfg.Workflows, "error", err)
		return
	}
	for _, entry := range entries {
		path := filepath.Join(t.cfg.Workflows, entry.Name())
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
			t.log.Error("read a workflow", "file", path, "error", err)
			continue
		}
		if applied[path] == string(content) {
			continue
		}
		if err := t.applyFile(ctx, path, content); err == nil {
			applied[path] = string(content)
		}
	}
}

func (t *tenure) applyFile(ctx context.Context, path string, content []byte) error {
	result, err := t.service.ApplyFromOperator(ctx, content)
	var told *chargehand.Error
	switch {
	case errors.As(err, &told):
		t.log.Error("workflow not applied", "file", path, "detail", told.Detail)
		for _, field := range told.Fields {
			t.log.Error("workflow not applied", "file", path, "line", field.Line, "column", field.Column, "code", field.Code, "detail", field.Detail)
		}
	case err != nil:
		t.log.Error("workflow not applied", "file", path, "error", err)
	default:
		t.log.Info("workflow applied", "file", path, "workflow", result.Namespace+"/"+result.Name, "version", result.Version)
	}
	return err
}
