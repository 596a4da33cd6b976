package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
)

// A store of files that does not answer at the start is asked again for filesWait, every
// filesPause: it may be starting too.
const (
	filesWait  = 30 * time.Second
	filesPause = time.Second
)

// location is where the files of the installation are. Errors: *SettingError.
func (c Config) location() (blob.Location, error) {
	if c.FilesURL == "" {
		return blob.Location{Folder: filepath.Join(c.DataDir, filesName)}, nil
	}
	l, err := blob.ParseLocation(c.FilesURL)
	if err != nil {
		return l, badSetting("--files-url: %w", err)
	}
	return l, nil
}

// checkFiles checks the settings of files without asking any store.
func (c Config) checkFiles() error {
	l, err := c.location()
	if err == nil && c.FilesRedirect && l.Bucket == "" {
		err = badSetting("--files-redirect needs --files-url s3://…: a folder has no addresses of its own")
	}
	return err
}

// openContents opens the store of files without looking whether it can be used.
func (c Config) openContents(ctx context.Context, protect blob.Protect) (*blob.Store, error) {
	l, err := c.location()
	if err != nil {
		return nil, err
	}
	// What is on its way to a bucket is kept in the data directory.
	s, err := blob.Open(ctx, l, blob.Config{Folder: filepath.Join(c.DataDir, filesName), Protect: protect, Log: c.Log})
	if err != nil {
		return nil, c.filesError(err)
	}
	return s, nil
}

// awaitContents waits until the store of files can be used.
func awaitContents(ctx context.Context, cfg Config, s *blob.Store) error {
	deadline := time.Now().Add(filesWait)
	for {
		err := s.Check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, blob.ErrRefused) || time.Now().After(deadline) {
			return cfg.filesError(err)
		}
		cfg.Log.Warn("the store of files cannot be used yet", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(filesPause):
		}
	}
}

func (c Config) filesError(err error) error {
	if c.FilesURL == "" {
		return err
	}
	return fmt.Errorf("--files-url: %w", err)
}
