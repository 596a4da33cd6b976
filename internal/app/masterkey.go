package app

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

// keyring reads the master key file, or makes it at the first start, before there is a database.
// Later a missing one is an error: with another in its place nothing that is sealed could be opened, and no API key
// would count.
func (c Config) keyring() (*secret.Keyring, error) {
	if c.DatabaseURL != "" {
		ring, err := secret.Load(c.MasterKeyFile)
		if errors.Is(err, secret.ErrMissing) {
			return nil, badSetting("--master-key-file: %w: several servers share a database and need the same key; make one with `head -c 32 /dev/urandom > FILE; chmod 600 FILE`, and keep a copy", err)
		}
		return ring, err
	}
	state, err := sqlite.Inspect(filepath.Join(c.DataDir, databaseName))
	if err != nil {
		return nil, err
	}
	if state.Schema == 0 {
		if err := c.checkLoss(); err != nil {
			return nil, err
		}
		if err := c.beginStart(); err != nil {
			return nil, err
		}
		return secret.LoadOrCreate(c.MasterKeyFile)
	}
	ring, err := secret.Load(c.MasterKeyFile)
	if errors.Is(err, secret.ErrMissing) {
		return nil, fmt.Errorf("%w, although there is a database: restore it from a backup, or name it with --master-key-file", err)
	}
	return ring, err
}

// openKeys reads the keys of the installation, or makes them at its first start. It refuses an installation that is
// being moved, or was, and a master key file that is not the one of the database.
func openKeys(ctx context.Context, db *store.Store, ring *secret.Keyring) (*secret.Keys, error) {
	if _, err := agree(ctx, db, metaInstalled, []byte{1}, nil); err != nil {
		return nil, err
	}
	return keyring.Open(ctx, db, ring, time.Now())
}

// ExchangeMasterKey exchanges the master key of an installation, beside its running servers or without one: it adds a
// new one and wraps all keys by it, or with finish removes the older ones. Errors: keyring.ErrNeeded, a SettingError.
func ExchangeMasterKey(ctx context.Context, cfg Config, finish, dataKey bool) (keyring.Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return keyring.Report{}, err
	}
	rows, err := openInstalled(ctx, cfg)
	if err != nil {
		return keyring.Report{}, err
	}
	defer rows.Close()
	if err := rows.View(ctx, checkMoved); err != nil {
		return keyring.Report{}, err
	}
	x := keyring.Exchange{Store: rows, File: cfg.MasterKeyFile, Alone: cfg.DatabaseURL == "", Now: time.Now}
	if finish {
		return x.Finish(ctx)
	}
	return x.Rotate(ctx, dataKey)
}
