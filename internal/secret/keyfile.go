package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxKeyringBytes bounds a master key file.
const maxKeyringBytes = 64 << 10

// ErrMissing is returned by Load for a path where there is no file.
var ErrMissing = errors.New("no master key file")

// Load reads the master key file at path. Errors: ErrMissing; a sentence for a file that is damaged, or that every
// user may read.
func Load(path string) (*Keyring, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrMissing, path)
	}
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, fmt.Errorf("master key file %s is open to every user (mode %#o): run chmod 600 on it", path, mode)
	}
	if info.Size() > maxKeyringBytes {
		return nil, fmt.Errorf("master key file %s has %d bytes; at most %d are allowed", path, info.Size(), maxKeyringBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	ring, err := ParseKeyring(data)
	if err != nil {
		return nil, fmt.Errorf("master key file %s %w", path, err)
	}
	return ring, nil
}

// LoadOrCreate reads the master key file at path, or makes one with a random key, durably, with mode 0600.
// Two processes that do so at once get the same key.
func LoadOrCreate(path string) (*Keyring, error) {
	ring, err := Load(path)
	if !errors.Is(err, ErrMissing) {
		return ring, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	// os.Link fails if another process was faster; its key is the one that counts then.
	err = Write(path, NewKeyring(time.Now()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	return Load(path)
}

// Write makes a master key file. Errors: one that says fs.ErrExist if there is a file.
func Write(path string, ring *Keyring) error {
	if err := putFile(path, ring, nil, os.Link); err != nil {
		return fmt.Errorf("write master key file: %w", err)
	}
	return nil
}

// Save replaces the keyring in a master key file, durably and in one step: whenever the process or the machine ends,
// the file holds the whole keyring of before or the whole new one. Owner and mode stay, so that a
// server which could read the file still can. A symbolic link stays, and what it points to is replaced.
func Save(path string, ring *Keyring) error {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(path); err == nil {
			err = putFile(path, ring, info, os.Rename)
		}
	}
	if err != nil {
		return fmt.Errorf("replace master key file: %w", err)
	}
	return nil
}

// putFile writes a keyring beside path and moves it there. like: the file whose owner and mode it gets.
func putFile(path string, ring *Keyring, like os.FileInfo, move func(from, to string) error) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, ".master-key-*") // has mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(ring.encode())
	if err == nil && like != nil {
		err = takeAfter(f, like)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := move(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// takeAfter gives a file the owner and the mode of another one.
func takeAfter(f *os.File, like os.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	is, _ := now.Sys().(*syscall.Stat_t)
	want, _ := like.Sys().(*syscall.Stat_t)
	if is != nil && want != nil && (is.Uid != want.Uid || is.Gid != want.Gid) {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return fmt.Errorf("give it the owner that it had (run this as that user, or as root): %w", err)
		}
	}
	return f.Chmod(like.Mode().Perm())
}
