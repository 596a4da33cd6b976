package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Backup implements store.DB. The copy is one snapshot, compacted, and safe on the disk
// when Backup returns; path must not exist. While it runs, the write-ahead log grows.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := db.pool.Open(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("back up database: %s exists already", path)
	}
	if err := copyDatabase(ctx, db.path, path); err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	return nil
}

// copyDatabase writes a copy under another name first, so that path never holds half of
// one.
func copyDatabase(ctx context.Context, from, to string) error {
	unfinished := to + ".unfinished"
	if err := os.Remove(unfinished); err != nil && !os.IsNotExist(err) {
		return unavailable(err)
	}
	c, err := openConn(from)
	if err != nil {
		return mapError(err)
	}
	defer c.close()
	c.c.SetInterrupt(ctx.Done())
	if _, err := c.plain("VACUUM INTO '" + strings.ReplaceAll(unfinished, "'", "''") + "'"); err != nil {
		os.Remove(unfinished)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return mapError(err)
	}
	if err := syncFile(unfinished); err != nil {
		return unavailable(err)
	}
	if err := os.Rename(unfinished, to); err != nil {
		return unavailable(err)
	}
	return syncFolder(filepath.Dir(to))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return unavailable(err)
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}
