package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

// What an installation remembers of itself, by name.
const (
	metaInstalled = "installed"
	metaEngine    = "engine"
	metaName      = "installation" // random, in hex
	metaNamespace = "temporal_namespace"
	metaFiles     = "files"
	metaSettings  = "settings" // digest of what steps may do
	metaBackup    = "last_backup"
	metaClock     = "clock_step"
)

// checkEngine refuses to drive the executions that another engine has begun. Those that have
// not begun continue with any.
func checkEngine(ctx context.Context, db *store.Store, name string) error {
	var begun int64
	same, err := agree(ctx, db, metaEngine, []byte(name), func(r *store.Reader) (bool, error) {
		unfinished, err := r.CountUnfinished()
		begun = unfinished[store.StateReady] + unfinished[store.StateActive] + unfinished[store.StateParked]
		return begun == 0, err
	})
	if err == nil && !same {
		err = badSetting("--engine %s: %d executions that have begun under the other engine have not ended: "+
			"let that one finish or cancel them first, with no other process on the database", name, begun)
	}
	return err
}

// installationName is what tells the task queues of this installation from those of others in
// the same namespace: their workers must not take each other's executions.
func installationName(ctx context.Context, db *store.Store) (string, error) {
	var name []byte
	err := db.Update(ctx, func(tx *store.Tx) error {
		known, err := tx.Meta(metaName)
		if err == nil {
			name = known
			return nil
		}
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		known, err = tx.Meta(metaName)
		if errors.Is(err, store.ErrNotFound) {
			known = make([]byte, 4)
			rand.Read(known)
			known = []byte(hex.EncodeToString(known))
			err = tx.SetMeta(metaName, known)
		}
		name = known
		return err
	})
	return string(name), err
}

// checkFiles refuses a store of files that is not the one of the other servers on the database,
// or that of another installation, whose files the sweep would delete. A data directory of
// its own needs no such thing.
func checkFiles(ctx context.Context, cfg Config, db *store.Store, blobs *blob.Store) error {
	if cfg.DatabaseURL == "" {
		return nil
	}
	name, err := installationName(ctx, db)
	if err != nil {
		return err
	}
	// The mark is read first, because it is made last: a node that starts for the first time
	// beside this one makes both meanwhile.
	var marked bool
	err = db.View(ctx, func(r *store.Reader) error {
		_, err := r.Meta(metaFiles)
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
		return cfg.filesError(err)
	case owner != "" && owner != name:
		return badSetting("--files-url: %s holds the files of another installation: give each its own bucket, prefix or folder", blobs)
	case owner == "" && marked:
		return badSetting("--files-url: %s does not hold the files of this database: all servers and workers on it need the same store of files", blobs)
	case owner == "":
		if err := blobs.SetOwner(ctx, name); err != nil {
			return cfg.filesError(err)
		}
	}
	if marked {
		return nil
	}
	return db.Update(ctx, func(tx *store.Tx) error { return tx.SetMeta(metaFiles, []byte(name)) })
}

// checkNamespace refuses a namespace, or task queues, that are not those in which executions
// have begun: there they would seem to be gone, or no worker would work on them.
func checkNamespace(ctx context.Context, db *store.Store, id string, t Temporal) error {
	var begun int64
	same, err := agree(ctx, db, metaNamespace, []byte(id+" "+t.Queue), func(r *store.Reader) (bool, error) {
		unfinished, err := r.CountUnfinished()
		begun = unfinished[store.StateReady] + unfinished[store.StateActive] + unfinished[store.StateParked]
		return begun == 0, err
	})
	if err == nil && !same {
		err = badSetting("--temporal-namespace %s, --temporal-task-queue %s: %d executions have begun in another namespace, on another cluster or with another name of task queues, and have not ended: name those", t.Namespace, t.Queue, begun)
	}
	return err
}

// tellSettings warns of a process that allows its steps other things than the one that
// started last: any of them may carry out any step.
func tellSettings(ctx context.Context, cfg Config, db *store.Store) error {
	sum := sha256.New()
	for _, list := range [][]string{cfg.AllowRun, cfg.AllowEgress, cfg.ConnectTo, cfg.TrustedCA} {
		fmt.Fprintf(sum, "%q\n", slices.Sorted(slices.Values(list)))
	}
	if cfg.ResourceRoot != "" { // without it, the digest is what it was before there was this setting
		fmt.Fprintf(sum, "resource-root %q\n", cfg.ResourceRoot)
	}
	if len(cfg.ContainerVolumes)+len(cfg.ContainerCapabilities) > 0 {
		fmt.Fprintf(sum, "container %q %q\n", slices.Sorted(slices.Values(cfg.ContainerVolumes)), slices.Sorted(slices.Values(cfg.ContainerCapabilities)))
	}
	digest, differs := sum.Sum(nil), false
	err := db.Update(ctx, func(tx *store.Tx) error {
		known, err := tx.Meta(metaSettings)
		differs = err == nil && !bytes.Equal(known, digest)
		if err == nil && !differs {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.SetMeta(metaSettings, digest)
	})
	if err == nil && differs {
		cfg.Log.Warn("--allow-run, --allow-egress, --connect-to, --trusted-ca, --resource-root, --container-volume or --container-capability differ from those of the worker that started last: any worker may carry out any step, so all need the same")
	}
	return err
}

// agree makes a value of the installation be value, if it has none or replace allows it, and
// reports whether it is. It refuses an installation that is being moved, or was.
func agree(ctx context.Context, db *store.Store, name string, value []byte, replace func(*store.Reader) (bool, error)) (same bool, err error) {
	var refused error
	err = db.Update(ctx, func(tx *store.Tx) error {
		same = true
		if refused = checkMoved(&tx.Reader); refused != nil {
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
