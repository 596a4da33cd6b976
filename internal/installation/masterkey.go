package installation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// Keyring reads the master key file, or makes it at the first start, before there is a database.
// Later a missing one is an error: with another in its place nothing that is sealed could be opened, and no API key
// would count.
func (s Settings) Keyring() (*secret.Keyring, error) {
	if s.DatabaseURL != "" {
		ring, err := secret.Load(s.MasterKeyFile)
		if errors.Is(err, secret.ErrMissing) {
			return nil, BadSetting("--master-key-file: %w: several servers share a database and need the same key; make one with `head -c 32 /dev/urandom > FILE; chmod 600 FILE`, and keep a copy", err)
		}
		return ring, err
	}
	state, err := sqlite.Inspect(filepath.Join(s.DataDir, DatabaseName))
	if err != nil {
		return nil, err
	}
	if state.Schema == 0 {
		if err := s.CheckLoss(); err != nil {
			return nil, err
		}
		if err := s.beginStart(); err != nil {
			return nil, err
		}
		return secret.LoadOrCreate(s.MasterKeyFile)
	}
	ring, err := secret.Load(s.MasterKeyFile)
	if errors.Is(err, secret.ErrMissing) {
		return nil, fmt.Errorf("%w, although there is a database: restore it from a backup, or name it with --master-key-file", err)
	}
	return ring, err
}

// OpenKeys reads the keys of the installation, or makes them at its first start. It refuses an installation that is
// being moved, or was, and a master key file that is not the one of the database.
func OpenKeys(ctx context.Context, db *store.Store, ring *secret.Keyring) (*secret.Keys, error) {
	if _, err := agree(ctx, db, MetaInstalled, []byte{1}, nil); err != nil {
		return nil, err
	}
	return keyring.Open(ctx, db, ring, time.Now())
}

// DatabaseFolder is the data directory, if the database is in it; empty: it is on a server.
func (s Settings) DatabaseFolder() string {
	if s.DatabaseURL != "" {
		return ""
	}
	return s.DataDir
}
