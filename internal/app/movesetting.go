package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/secret"
)

// settings checks what was asked for, as far as that can be done without looking anywhere.
func (m *move) settings() (err error) {
	if m.Log == nil {
		m.Log = slog.New(slog.DiscardHandler)
	}
	if m.Progress == nil {
		m.Progress = func(MoveStep) {}
	}
	if m.written == nil {
		m.written = func() error { return nil }
	}
	if m.pageRows == 0 {
		m.pageRows = movePageRows
	}
	if m.From == "" {
		return badSetting("--from is missing: the data directory to move")
	}
	if m.From, err = filepath.Abs(m.From); err != nil {
		return err
	}
	if m.To == "" {
		return badSetting("--to is missing: postgres://user@host/name")
	}
	if u, err := url.Parse(m.To); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return badSetting("--to is not a postgres:// address: an installation is moved to PostgreSQL")
	}
	if m.fromPlace, err = placeOfFiles("--from-files", m.FromFilesURL, filepath.Join(m.From, filesName)); err != nil {
		return err
	}
	if m.toPlace, err = placeOfFiles("--to-files", m.ToFilesURL, ""); err != nil {
		return err
	}
	if m.toPlace == (blob.Location{}) {
		m.toPlace = m.fromPlace
	}
	m.left = m.toPlace == m.fromPlace
	if m.FromMasterKeyFile == "" {
		m.FromMasterKeyFile = filepath.Join(m.From, masterKeyName)
	}
	if m.MasterKeyFile == "" {
		m.MasterKeyFile = m.FromMasterKeyFile
	}
	m.new = Config{DataDir: m.From, DatabaseURL: m.To, FilesURL: m.ToFilesURL, MasterKeyFile: m.MasterKeyFile, Log: m.Log}
	if m.new.FilesURL == "" {
		m.new.FilesURL = m.FromFilesURL
	}
	if m.new.FilesURL == "" {
		m.new.FilesURL = (&url.URL{Scheme: "file", Path: m.fromPlace.Folder}).String()
	}
	if m.new, err = m.new.withDefaults(); err != nil {
		return err
	}
	m.report.FilesLeft = m.left
	m.report.Serve = []string{"--database-url", withoutPassword(m.To), "--files-url", m.new.FilesURL, "--master-key-file", m.MasterKeyFile}
	return nil
}

// placeOfFiles reads a setting that says where files are.
func placeOfFiles(flag, address, folder string) (blob.Location, error) {
	if address == "" {
		return blob.Location{Folder: folder}, nil
	}
	l, err := blob.ParseLocation(address)
	if err != nil {
		return l, badSetting("%s: %w", flag, err)
	}
	return l, nil
}

// readKeyring reads the master key file of the source, and compares that of the target, if it is there.
func (m *move) readKeyring() (err error) {
	if _, err := os.Stat(filepath.Join(m.From, databaseName)); err != nil {
		return fmt.Errorf("there is no installation in %s: %w", m.From, err)
	}
	if m.ring, err = secret.Load(m.FromMasterKeyFile); err != nil {
		if errors.Is(err, secret.ErrMissing) {
			err = badSetting("%w: name it with --from-master-key-file", err)
		}
		return err
	}
	there, err := secret.Load(m.MasterKeyFile)
	switch {
	case errors.Is(err, secret.ErrMissing):
		if _, err := os.Stat(filepath.Dir(m.MasterKeyFile)); err != nil {
			return badSetting("--master-key-file: %w", err)
		}
	case err != nil:
		return badSetting("--master-key-file: %w", err)
	case !there.Equal(m.ring):
		return badSetting("--master-key-file: %s holds another key than %s: keys and links are valid with the same one only", m.MasterKeyFile, m.FromMasterKeyFile)
	}
	return nil
}

// placeKey copies the master key, in one step, so that no half of it is ever found.
func (m *move) placeKey() error {
	to := m.MasterKeyFile
	if _, err := os.Stat(to); err == nil {
		return nil // compared before
	}
	folder, err := os.MkdirTemp(filepath.Dir(to), ".chargehand-key-*")
	if err != nil {
		return fmt.Errorf("copy the master key: %w", err)
	}
	defer os.RemoveAll(folder)
	unfinished := filepath.Join(folder, masterKeyName)
	if err := copyFile(m.FromMasterKeyFile, unfinished); err != nil {
		return fmt.Errorf("copy the master key: %w", err)
	}
	if err := os.Link(unfinished, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("copy the master key: %w", err)
	}
	return nil
}
