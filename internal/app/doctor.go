package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	What   string
	OK     bool
	Detail string
}

// Doctor checks an installation, beside a running server or without one, and changes nothing.
func Doctor(ctx context.Context, cfg Config) []Finding {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return []Finding{{"settings", false, err.Error()}}
	}
	var findings []Finding
	add := func(what, good string, err error) {
		f := Finding{what, err == nil, good}
		if err != nil {
			f.Detail = err.Error()
		}
		findings = append(findings, f)
	}
	add("data directory", cfg.DataDir, privateFolder(cfg.DataDir))
	master, err := secret.Load(cfg.MasterKeyFile)
	add("master key", cfg.MasterKeyFile, err)
	cfg.master = master
	if cfg.DatabaseURL != "" {
		add("database", "it can be reached, and the master key is its own", checkShared(ctx, cfg))
		good, err := checkContents(ctx, cfg)
		add("files", good, err)
		if cfg.Engine == EngineTemporal {
			good, err := checkTemporal(ctx, cfg)
			add("Temporal", good, err)
		}
		return findings
	}
	path := filepath.Join(cfg.DataDir, databaseName)
	if _, err := os.Stat(path); err != nil {
		add("database", "", err)
		return findings
	}
	db, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		add("database", "", err)
		return findings
	}
	rows := store.New(db)
	defer rows.Close()
	add("database", "its structure is sound", db.Check(ctx))
	good, err := checkContents(ctx, cfg)
	add("files", good, err)
	return findings
}

// checkShared checks a database that several servers share.
func checkShared(ctx context.Context, cfg Config) error {
	rows, err := openInstalled(ctx, cfg)
	if err != nil {
		return err
	}
	defer rows.Close()
	if cfg.master == nil {
		return nil // told already
	}
	return checkMaster(ctx, rows, cfg.master)
}

func privateFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New(path + " is not a folder")
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s can be read by everybody: chmod o-rwx %s", path, path)
	}
	return nil
}

// checkContents looks whether the store of files can be used. Of a folder it reads every
// content and compares its digest; in a bucket that would take too long and cost money.
func checkContents(ctx context.Context, cfg Config) (string, error) {
	location, err := cfg.location()
	if err != nil {
		return "", err
	}
	blobs, err := cfg.openContents(ctx, nil)
	if err != nil {
		return "", err
	}
	defer blobs.Close()
	if location.Bucket != "" {
		if err := blobs.Check(ctx); err != nil {
			return "", cfg.filesError(err)
		}
		return location.String() + " can be written, read and listed; contents are checked whenever they are read", nil
	}
	count, err := readContents(ctx, blobs)
	return fmt.Sprintf("%d contents match their digests", count), err
}

// readContents reads every content and compares its digest.
func readContents(ctx context.Context, blobs *blob.Store) (int, error) {
	count := 0
	err := blobs.List(ctx, func(c blob.Content) error {
		content, err := blobs.Open(ctx, c.Digest, 0, -1)
		if errors.Is(err, blob.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.Copy(io.Discard, content) // the reader compares the digest
		count++
		return err
	})
	return count, err
}
