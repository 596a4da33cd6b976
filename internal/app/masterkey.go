package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// masterKey reads the master key, or makes it at the first start, before there is a database.
// Later a missing one is an error: with another in its place no API key and no link would
// count any more.
func (c Config) masterKey() (*secret.Master, error) {
	if c.DatabaseURL != "" {
		master, err := secret.Load(c.MasterKeyFile)
		if errors.Is(err, secret.ErrMissing) {
			return nil, badSetting("--master-key-file: %w: several servers share a database and need the same key; make one with `head -c 32 /dev/urandom > FILE; chmod 600 FILE`, and keep a copy", err)
		}
		return master, err
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
	master, err := secret.Load(c.MasterKeyFile)
	if errors.Is(err, secret.ErrMissing) {
		return nil, fmt.Errorf("%w, although there is a database: restore it from a backup, or name it with --master-key-file", err)
	}
	return master, err
}
