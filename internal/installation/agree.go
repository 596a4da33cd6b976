package installation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

// What an installation remembers of itself, by name in table meta.
const (
	MetaInstalled = "installed"
	MetaEngine    = "engine"
	MetaName      = "installation" // random, in hex
	MetaNamespace = "temporal_namespace"
	MetaFiles     = "files"
	MetaSettings  = "settings" // digest of what steps may do
	MetaBackup    = "last_backup"
	MetaClock     = "clock_step"
)

// ClockStep is what the installation remembers of the last step.
type ClockStep struct {
	At   time.Time `json:"at"` // by the new time
	ByMs int64     `json:"by_ms"`
}

// CheckEngine refuses to drive the executions that another engine has begun. Those that have
// not begun continue with any.
func CheckEngine(ctx context.Context, db *store.Store, name string) error {
	var begun int64
	same, err := agree(ctx, db, MetaEngine, []byte(name), func(r *store.Reader) (bool, error) {
		unfinished, err := r.CountUnfinished()
		begun = unfinished[store.StateReady] + unfinished[store.StateActive] + unfinished[store.StateParked]
		return begun == 0, err
	})
	if err == nil && !same {
		err = BadSetting("--engine %s: %d executions that have begun under the other engine have not ended: "+
			"let that one finish or cancel them first, with no other process on the database", name, begun)
	}
	return err
}

// Name is what tells the task queues of this installation from those of others in
// the same namespace: their workers must not take each other's executions.
func Name(ctx context.Context, db *store.Store) (string, error) {
	var name []byte
	err := db.Update(ctx, func(tx *store.Tx) error {
		known, err := tx.Meta(MetaName)
		if err == nil {
			name = known
			return nil
		}
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		known, err = tx.Meta(MetaName)
		if errors.Is(err, store.ErrNotFound) {
			known = make([]byte, 4)
			rand.Read(known)
			known = []byte(hex.EncodeToString(known))
			err = tx.SetMeta(MetaName, known)
		}
		name = known
		return err
	})
	return string(name), err
}

// CheckFiles refuses a store of files that is not the one of the other servers on the database,
// or that of another installation, whose files the sweep would delete. A data directory of
// its own needs no such thing.
func CheckFiles(ctx context.Context, s Settings, db *store.Store, blobs *blob.Store) error {
	if s.DatabaseURL == "" {
		return nil
	}
	name, err := Name(ctx, db)
	if err != nil {
		return err
	}
	// The mark is read first, because it is made last: a node that starts for the first time
	// beside this one makes both meanwhile.
	var marked bool
	err = db.View(ctx, func(r *store.Reader) error {
		_, err := r.Meta(MetaFiles)
		marked = err == nil
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look up the installation: %w", err)
	}
	owner, err := blobs.Owner(ctx)
	switch {
	case err != nil:
		return s.FilesError(err)
	case owner != "" && owner != name:
		return BadSetting("--files-url: %s holds the files of another installation: give each its own bucket, prefix or folder", blobs)
	case owner == "" && marked:
		return BadSetting("--files-url: %s does not hold the files of this database: all servers and workers on it need the same store of files", blobs)
	case owner == "":
		if err := blobs.SetOwner(ctx, name); err != nil {
			return s.FilesError(err)
		}
	}
	if marked {
		return nil
	}
	return db.Update(ctx, func(tx *store.Tx) error { return tx.SetMeta(MetaFiles, []byte(name)) })
}

// CheckNamespace refuses a namespace, or task queues, that are not those in which executions
// have begun: there they would seem to be gone, or no worker would work on them.
func CheckNamespace(ctx context.Context, db *store.Store, id string, t Temporal) error {
	var begun int64
	same, err := agree(ctx, db, MetaNamespace, []byte(id+" "+t.Queue), func(r *store.Reader) (bool, error) {
		unfinished, err := r.CountUnfinished()
		begun = unfinished[store.StateReady] + unfinished[store.StateActive] + unfinished[store.StateParked]
		return begun == 0, err
	})
	if err == nil && !same {
		err = BadSetting("--temporal-namespace %s, --temporal-task-queue %s: %d executions have begun in another namespace, on another cluster or with another name of task queues, and have not ended: name those", t.Namespace, t.Queue, begun)
	}
	return err
}

// agree makes a value of the installation be value, if it has none or replace allows it, and
// reports whether it is. It refuses an installation that is being moved, or was.
func agree(ctx context.Context, db *store.Store, name string, value []byte, replace func(*store.Reader) (bool, error)) (same bool, err error) {
	var refused error
	err = db.Update(ctx, func(tx *store.Tx) error {
		same = true
		if refused = CheckMoved(&tx.Reader); refused != nil {
			return refused
		}
		known, err := tx.Meta(name)
		if err == nil && bytes.Equal(known, value) {
			return nil
		}
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		known, err = tx.Meta(name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return tx.SetMeta(name, value)
		case err != nil || bytes.Equal(known, value):
			return err
		case replace != nil:
			if same, err = replace(&tx.Reader); err != nil || !same {
				return err
			}
			return tx.SetMeta(name, value)
		}
		same = false
		return nil
	})
	if refused != nil {
		return false, refused
	}
	if err != nil {
		return false, fmt.Errorf("look up the installation: %w", err)
	}
	return same, nil
}
