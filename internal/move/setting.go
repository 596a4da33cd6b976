package move

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/secret"
)

// settings checks what was asked for, as far as that can be done without looking anywhere.
func (m *move) settings() (err error) {
	if m.Log == nil {
		m.Log = slog.New(slog.DiscardHandler)
	}
	if m.Progress == nil {
		m.Progress = func(Step) {}
	}
	if m.written == nil {
		m.written = func() error { return nil }
	}
	if m.pageRows == 0 {
		m.pageRows = movePageRows
	}
	if m.From == "" {
		return installation.BadSetting("--from is missing: the data directory to move")
	}
	if m.From, err = filepath.Abs(m.From); err != nil {
		return err
	}
	if m.To == "" {
		return installation.BadSetting("--to is missing: postgres://user@host/name")
	}
	if u, err := url.Parse(m.To); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return installation.BadSetting("--to is not a postgres:// address: an installation is moved to PostgreSQL")
	}
	if m.fromFiles, err = filesLocation("--from-files", m.FromFilesURL, filepath.Join(m.From, installation.FilesName)); err != nil {
		return err
	}
	if m.toFiles, err = filesLocation("--to-files", m.ToFilesURL, ""); err != nil {
		return err
	}
	if m.toFiles == (blob.Location{}) {
		m.toFiles = m.fromFiles
	}
	m.left = m.toFiles == m.fromFiles
	if m.FromMasterKeyFile == "" {
		m.FromMasterKeyFile = filepath.Join(m.From, installation.MasterKeyName)
	}
	if m.MasterKeyFile == "" {
		m.MasterKeyFile = m.FromMasterKeyFile
	}
	m.new = installation.Settings{DataDir: m.From, DatabaseURL: m.To, FilesURL: m.ToFilesURL, MasterKeyFile: m.MasterKeyFile, Log: m.Log}
	if m.new.FilesURL == "" {
		m.new.FilesURL = m.FromFilesURL
	}
	if m.new.FilesURL == "" {
		m.new.FilesURL = (&url.URL{Scheme: "file", Path: m.fromFiles.Folder}).String()
	}
	if m.new, err = m.new.WithDefaults(); err != nil {
		return err
	}
	m.report.FilesLeft = m.left
	m.report.Serve = []string{"--database-url", withoutPassword(m.To), "--files-url", m.new.FilesURL, "--master-key-file", m.MasterKeyFile}
	return nil
}

// filesLocation reads a setting that says where files are.
func filesLocation(flag, address, folder string) (blob.Location, error) {
	if address == "" {
		return blob.Location{Folder: folder}, nil
	}
	l, err := blob.ParseLocation(address)
	if err != nil {
		return l, installation.BadSetting("%s: %w", flag, err)
	}
	return l, nil
}

// readKeyring reads the master key file of the source, and compares that of the target, if that exists.
func (m *move) readKeyring() (err error) {
	if _, err := os.Stat(filepath.Join(m.From, installation.DatabaseName)); err != nil {
		return fmt.Errorf("there is no installation in %s: %w", m.From, err)
	}
	if m.ring, err = secret.Load(m.FromMasterKeyFile); err != nil {
		if errors.Is(err, secret.ErrMissing) {
			err = installation.BadSetting("%w: name it with --from-master-key-file", err)
		}
		return err
	}
	there, err := secret.Load(m.MasterKeyFile)
	switch {
	case errors.Is(err, secret.ErrMissing):
		if _, err := os.Stat(filepath.Dir(m.MasterKeyFile)); err != nil {
			return installation.BadSetting("--master-key-file: %w", err)
		}
	case err != nil:
		return installation.BadSetting("--master-key-file: %w", err)
	case !there.Equal(m.ring):
		return installation.BadSetting("--master-key-file: %s holds another key than %s: keys and links are valid with the same one only", m.MasterKeyFile, m.FromMasterKeyFile)
	}
	return nil
}

// copyKey copies the master key, in one step, so that no half of it is ever found.
func (m *move) copyKey() error {
	to := m.MasterKeyFile
	if _, err := os.Stat(to); err == nil {
		return nil // compared before
	}
	folder, err := os.MkdirTemp(filepath.Dir(to), ".chargehand-key-*")
	if err != nil {
		return fmt.Errorf("copy the master key: %w", err)
	}
	defer os.RemoveAll(folder)
	unfinished := filepath.Join(folder, installation.MasterKeyName)
	if err := installation.CopyFile(m.FromMasterKeyFile, unfinished); err != nil {
		return fmt.Errorf("copy the master key: %w", err)
	}
	if err := os.Link(unfinished, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("copy the master key: %w", err)
	}
	return nil
}
