package installation

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// OpenBeside opens the database beside a running server or without one.
func (s Settings) OpenBeside(ctx context.Context) (*store.Store, error) {
	if s.DatabaseURL != "" {
		db, err := postgres.Open(ctx, postgres.Options{URL: s.DatabaseURL, Mode: postgres.Shared, Writers: 1, Readers: 1, Logger: s.Log})
		if err != nil {
			return nil, err
		}
		return store.New(db), nil
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(s.DataDir, DatabaseName)})
	if err != nil {
		return nil, err
	}
	s.EndStart()
	return store.New(db), nil
}

// CheckInstalled refuses a data directory that holds no installation, before anything is made in it.
func (s Settings) CheckInstalled() error {
	if s.DatabaseURL != "" {
		return nil // OpenInstalled looks into the database
	}
	state, err := sqlite.Inspect(filepath.Join(s.DataDir, DatabaseName))
	if err != nil || state.Schema != 0 {
		return err
	}
	if err := s.CheckLoss(); err != nil {
		return err
	}
	if dir, err := filepath.Abs(s.DataDir); err == nil {
		s.DataDir = dir
	}
	return BadSetting("there is no installation in %s: name the data directory of the server with --data-dir; `chargehand serve` makes a new one", s.DataDir)
}

// OpenInstalled is OpenBeside for a database that holds an installation. It makes none. Errors: *SettingError.
func (s Settings) OpenInstalled(ctx context.Context) (*store.Store, error) {
	if err := s.CheckInstalled(); err != nil {
		return nil, err
	}
	rows, err := s.OpenBeside(ctx)
	if err != nil || s.DatabaseURL == "" {
		return rows, err
	}
	err = rows.View(ctx, func(r *store.Reader) error {
		_, err := r.Meta(MetaInstalled)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = BadSetting("there is no installation in the database that --database-url names; `chargehand serve` makes a new one")
	}
	if err != nil {
		rows.Close()
		return nil, err
	}
	return rows, nil
}

// CopyFile copies a file that no other user may read. It replaces none.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
