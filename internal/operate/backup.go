package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// BackupReport counts what was copied.
type BackupReport struct {
	Files  int
	Sealed int // of them
	Bytes  int64
	Unread error // of the first file that could not be read and was left out; nil: of none
}

// Backup copies the database, the master key and all files to a new folder, beside a running
// server. The database comes first: content that its copy refers to stays for at least an
// hour after its last reference, longer than it takes to copy. If a content that the copy refers
// to was not there to be copied, or was damaged, or its file could not be read, or the keys do not
// open with the master key, what there is stays, for one lost file must not keep the rest from being
// saved; but Backup fails, and the installation knows of no new backup.
func Backup(ctx context.Context, cfg installation.Settings, to string) (BackupReport, error) {
	var report BackupReport
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return report, err
	}
	if cfg.DatabaseURL != "" {
		return report, installation.BadSetting("--database-url: backup copies a data directory; use pg_dump for PostgreSQL, and keep the master key with its copy")
	}
	if err := cfg.CheckInstalled(); err != nil {
		return report, err
	}
	if err := freshFolder(to); err != nil {
		return report, err
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(cfg.DataDir, installation.DatabaseName)})
	if err != nil {
		return report, err
	}
	defer db.Close()
	// The master key may be exchanged meanwhile: the keys of before and those of after are in the backup.
	ring, err := secret.Load(cfg.MasterKeyFile)
	if err != nil {
		return report, err
	}
	unfinished := filepath.Join(to, installation.DatabaseName+".unfinished")
	if err := db.Backup(ctx, unfinished); err != nil {
		return report, err
	}
	after, err := secret.Load(cfg.MasterKeyFile)
	if err != nil {
		return report, err
	}
	ring = after.Join(ring)
	if err := secret.Write(filepath.Join(to, installation.MasterKeyName), ring); err != nil {
		return report, err
	}
	rows := store.New(db)
	sealer, unchecked := openSealer(ctx, rows, ring)
	report, err = copyContents(ctx, cfg, sealer, filepath.Join(to, installation.FilesName))
	if err != nil {
		return report, err
	}
	// Only now is it a backup: one that was cut off must not be restored without its files.
	copied := filepath.Join(to, installation.DatabaseName)
	if err := os.Rename(unfinished, copied); err != nil {
		return report, err
	}
	if err := blob.SyncFolder(to); err != nil { // before the installation knows of a backup
		return report, err
	}
	lacking := checkCopied(ctx, cfg, rows, copied, to)
	if lacking != nil { // what could not be read may be what nothing refers to
		lacking = errors.Join(lacking, report.Unread)
	}
	if err := errors.Join(lacking, unchecked); err != nil {
		return report, err
	}
	at := []byte(time.Now().UTC().Format(time.RFC3339))
	return report, rows.Update(ctx, func(tx *store.Tx) error { return tx.SetMeta(installation.MetaBackup, at) })
}

// openSealer reads the keys of the installation; nil: it has none yet, and nothing is sealed. Errors: what is sealed
// cannot be checked.
func openSealer(ctx context.Context, rows *store.Store, ring *secret.Keyring) (*secret.Sealer, error) {
	keys, err := keyring.Read(ctx, rows, ring)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("what is encrypted was copied, and not checked: %w", err)
	}
	return secret.NewSealer(keys), nil
}

// listedMissing is how many of the contents that a backup lacks its error names.
const listedMissing = 3

// checkCopied reports an error if the copied database refers to a content that was not copied with it. What the server
// has deleted meanwhile, by its own database (live), is nothing that the backup lacks.
func checkCopied(ctx context.Context, cfg installation.Settings, live *store.Store, database, to string) error {
	db, err := sqlite.Open(sqlite.Options{Path: database})
	if err != nil {
		return err
	}
	defer db.Close()
	copies, err := installation.Settings{DataDir: to}.OpenContents(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer copies.Close()
	inspect := contentCheck{ctx: ctx, rows: store.New(db), live: live, blobs: copies, most: listedMissing}
	if err := inspect.run(); err != nil || len(inspect.damages) == 0 {
		return err
	}
	location, err := cfg.Location()
	if err != nil {
		return err
	}
	missing := strings.Join(inspect.damages, "; ")
	if inspect.more > 0 {
		missing += fmt.Sprintf("; and %d more", inspect.more)
	}
	advice := "`chargehand doctor --deep` lists all of them"
	if cfg.FilesURL == "" {
		advice += ". If the server keeps its files elsewhere, give --files-url as it has it, or its --config"
	}
	return fmt.Errorf("the backup lacks what could not be copied whole from %s, although the database refers to it: %s. %s", location, missing, advice)
}

// Restore makes a data directory from a backup. The directory must be new or empty. Sealed contents are not checked:
// the database, which has the keys to them, comes last.
func Restore(ctx context.Context, from, dataDir string) (BackupReport, error) {
	var report BackupReport
	// It is not opened here: a backup may be kept where nothing can be written.
	info, err := os.Stat(filepath.Join(from, installation.DatabaseName))
	if err != nil {
		return report, fmt.Errorf("no backup in %s: %w", from, err)
	}
	if info.Size() == 0 {
		return report, fmt.Errorf("no backup in %s: its %s is empty", from, installation.DatabaseName)
	}
	if err := freshFolder(dataDir); err != nil {
		return report, err
	}
	report, err = copyContents(ctx, installation.Settings{DataDir: from}, nil, filepath.Join(dataDir, installation.FilesName))
	if err != nil {
		return report, err
	}
	if err := copyKey(filepath.Join(from, installation.MasterKeyName), filepath.Join(dataDir, installation.MasterKeyName)); err != nil {
		return report, err
	}
	// The database comes last: without it the directory is no installation.
	if err := installation.CopyFile(filepath.Join(from, installation.DatabaseName), filepath.Join(dataDir, installation.DatabaseName)); err != nil {
		return report, err
	}
	return report, blob.SyncFolder(dataDir)
}

// freshFolder makes a folder that no other user may read, durably, or accepts an empty one.
func freshFolder(path string) error {
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a folder that is new or empty", path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return blob.MakeFolder(path)
}

func copyKey(from, to string) error {
	if _, err := secret.Load(from); err != nil {
		return err
	}
	return installation.CopyFile(from, to)
}

// copyContents copies every content, as it is stored. One that is damaged, or whose file cannot be read, is left out:
// what looks for the contents that rows refer to finds that it is missing. Without a sealer, sealed contents are not
// checked.
func copyContents(ctx context.Context, from installation.Settings, sealer *secret.Sealer, to string) (BackupReport, error) {
	var report BackupReport
	source, err := from.OpenContents(ctx, sealer, nil)
	if err != nil {
		return report, err
	}
	defer source.Close()
	target, err := blob.OpenFolder(blob.Config{Folder: to})
	if err != nil {
		return report, err
	}
	defer target.Close()
	err = source.List(ctx, func(c blob.Content) error {
		size, err := blob.Copy(ctx, source, target, c.Name)
		switch {
		case errors.Is(err, blob.ErrNotFound), errors.Is(err, blob.ErrDamaged):
			return nil // the first was swept meanwhile
		case errors.Is(err, blob.ErrOneFile):
			if report.Unread == nil {
				report.Unread = fmt.Errorf("the content %s cannot be read: %w", c.Name, err)
			}
			return nil
		}
		if report.Files++; c.Name.Sealed() {
			report.Sealed++
		}
		report.Bytes += size
		return err
	})
	return report, err
}
