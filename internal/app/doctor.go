package app

import (
	"context"
	"crypto/sha256"
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

// Doctor checks a data directory, beside a running server or without one, and changes nothing.
func Doctor(ctx context.Context, dataDir, masterKeyFile string) []Finding {
	cfg, err := Config{DataDir: dataDir, MasterKeyFile: masterKeyFile}.withDefaults()
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
	_, err = secret.Load(cfg.MasterKeyFile)
	add("master key", cfg.MasterKeyFile, err)
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
	count, err := checkContents(ctx, filepath.Join(cfg.DataDir, filesName))
	add("files", fmt.Sprintf("%d contents match their digests", count), err)
	return findings
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

// checkContents reads every content and compares its digest.
func checkContents(ctx context.Context, folder string) (int, error) {
	blobs, err := blob.OpenFolder(blob.Config{Folder: folder})
	if err != nil {
		return 0, err
	}
	defer blobs.Close()
	count := 0
	err = blobs.List(ctx, func(c blob.Content) error {
		content, err := blobs.Open(ctx, c.Digest, 0, -1)
		if errors.Is(err, blob.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		defer content.Close()
		hash := sha256.New()
		_, err = io.Copy(hash, content)
		if err == nil && [sha256.Size]byte(hash.Sum(nil)) != c.Digest {
			err = fmt.Errorf("the content %s is damaged", c.Digest)
		}
		count++
		return err
	})
	return count, err
}
