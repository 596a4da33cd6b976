package secret

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Purpose names a use of the master key. A name is never given to another use.
type Purpose string

// The purposes.
const (
	APIKeyPepper  Purpose = "api-key-pepper"
	LinkSignature Purpose = "link-signature"
	KeyCheck      Purpose = "key-check" // tells in the database which master key belongs to it
	Secrets       Purpose = "secrets"   // seals the secrets of environments (Sealer)
	Executions    Purpose = "executions"
	Filters       Purpose = "filters" // hides what is compared (Sealer.Mark)
)

// keyBytes is the length of the master key and of every derived key.
const keyBytes = 32

// ErrMissing is returned by Load for a path where there is no file.
var ErrMissing = errors.New("no master key file")

// Master is the master key. It never appears in a log: it formats as "[redacted]".
type Master struct{ key [keyBytes]byte }

func (m *Master) String() string   { return "[redacted]" }
func (m *Master) GoString() string { return "[redacted]" }

// Derive returns the 32-byte key of a purpose (HKDF-SHA-256). The same master key and
// purpose always give the same key.
func (m *Master) Derive(p Purpose) []byte {
	key, err := hkdf.Key(sha256.New, m.key[:], nil, "chargehand/"+string(p), keyBytes)
	if err != nil {
		panic("derive key: " + err.Error()) // only for a length or hash that is never asked for
	}
	return key
}

// Load reads the master key file at path. Errors: ErrMissing; a sentence for a file of the
// wrong length or one that every user may read.
func Load(path string) (*Master, error) {
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
	if info.Size() != keyBytes {
		return nil, fmt.Errorf("master key file %s has %d bytes instead of %d: restore it from a backup", path, info.Size(), keyBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	m := &Master{}
	if copy(m.key[:], b) != keyBytes {
		return nil, fmt.Errorf("master key file %s changed while it was read", path)
	}
	return m, nil
}

// LoadOrCreate reads the master key file at path, or makes one, durably, with mode 0600.
// Two processes that do so at once get the same key.
func LoadOrCreate(path string) (*Master, error) {
	m, err := Load(path)
	if !errors.Is(err, ErrMissing) {
		return m, err
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("make master key: %w", err)
	}
	return Load(path)
}

// create writes a key beside path and links it there, which fails if another process was
// faster; its key is the one that counts then.
func create(path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".master-key-*") // has mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	var key [keyBytes]byte
	rand.Read(key[:]) // never fails: crypto/rand ends the process instead
	_, err = f.Write(key[:])
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
