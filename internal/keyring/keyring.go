package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// ErrWrong says that a master key file is not the one of a database.
var ErrWrong = errors.New("the master key is not the one of this database")

// Open reads the keys of an installation, and makes missing ones: at its first start all of them.
// Processes that do so at the same time get the same keys. Errors: ErrWrong, secret.ErrSealed, those of the store.
func Open(ctx context.Context, rows *store.Store, ring *secret.Keyring, now time.Time) (keys *secret.Keys, err error) {
	keys, err = Read(ctx, rows, ring)
	if err == nil && len(keys.Lacks()) == 0 {
		return keys, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	err = rows.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		wrapped, err := tx.WrappedKeys()
		if err != nil {
			return err
		}
		if keys, err = unwrap(wrapped, ring); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		list := keys.List()
		for _, purpose := range keys.Lacks() {
			key := secret.NewKey(next(list), purpose, now.UnixMilli(), now.UnixMilli())
			if err := insert(tx, wrappers(wrapped, ring), key); err != nil {
				return err
			}
			list = append(list, key)
		}
		keys = secret.CollectKeys(list)
		return nil
	})
	if err != nil {
		return nil, wrap(err)
	}
	return keys, nil
}

// Read reads the keys of an installation and changes nothing. Errors: store.ErrNotFound: it has none yet, because no
// server has begun; those of Open.
func Read(ctx context.Context, rows *store.Store, ring *secret.Keyring) (keys *secret.Keys, err error) {
	err = rows.View(ctx, func(r *store.Reader) error {
		keys, err = ReadIn(r, ring)
		return err
	})
	return keys, err
}

// ReadIn is Read within a transaction.
func ReadIn(r *store.Reader, ring *secret.Keyring) (*secret.Keys, error) {
	wrapped, err := r.WrappedKeys()
	if err != nil {
		return nil, wrap(err)
	}
	keys, err := unwrap(wrapped, ring)
	return keys, wrap(err)
}

func wrap(err error) error {
	if err == nil || errors.Is(err, ErrWrong) {
		return err
	}
	return fmt.Errorf("read the keys of the installation: %w", err)
}

// unwrap opens each key with a master key of the keyring. Errors: store.ErrNotFound, with no keys, if there are none.
func unwrap(wrapped []store.WrappedKey, ring *secret.Keyring) (*secret.Keys, error) {
	if len(wrapped) == 0 {
		return secret.CollectKeys(nil), store.ErrNotFound
	}
	found := map[int64]*secret.Key{}
	var damaged error
	for i := range wrapped {
		w := &wrapped[i]
		master := ring.Master(w.Master)
		if master == nil || found[w.Number] != nil {
			continue
		}
		key := &secret.Key{Number: uint32(w.Number), Purpose: secret.Purpose(w.Purpose), CreatedMs: w.CreatedMs, ActiveMs: w.ActiveMs}
		if err := master.Unwrap(key, w.Wrapped); err != nil {
			damaged = err
			continue
		}
		found[w.Number] = key
	}
	var list []*secret.Key
	for _, w := range wrapped {
		key := found[w.Number]
		switch {
		case key == nil && damaged != nil:
			return nil, damaged
		case key == nil:
			return nil, fmt.Errorf("%w: the file holds %s, and its keys are wrapped by %s: name the right file with --master-key-file; "+
				"if the master key was exchanged, copy the file from the server where that was done, or from a backup that was made after it",
				ErrWrong, strings.Join(ring.IDs(), ", "), strings.Join(masters(wrapped), ", "))
		case !slices.Contains(list, key):
			list = append(list, key)
		}
	}
	return secret.CollectKeys(list), nil
}

// masters are the ids of the master keys that anything is wrapped by.
func masters(wrapped []store.WrappedKey) (ids []string) {
	for _, w := range wrapped {
		if !slices.Contains(ids, w.Master) {
			ids = append(ids, w.Master)
		}
	}
	return ids
}

// wrappers are the master keys that a new key is wrapped by: those of the keyring that others are wrapped by, or the
// current one.
func wrappers(wrapped []store.WrappedKey, ring *secret.Keyring) (list []*secret.Master) {
	for _, id := range masters(wrapped) {
		if master := ring.Master(id); master != nil {
			list = append(list, master)
		}
	}
	if list == nil {
		list = append(list, ring.Current())
	}
	return list
}

// next is the number of the next key.
func next(list []*secret.Key) uint32 {
	var highest uint32
	for _, key := range list {
		highest = max(highest, key.Number)
	}
	return highest + 1
}

func insert(tx *store.Tx, by []*secret.Master, key *secret.Key) error {
	for _, master := range by {
		err := tx.InsertWrappedKey(&store.WrappedKey{
			Number: int64(key.Number), Master: master.ID(), Purpose: string(key.Purpose), Wrapped: master.Wrap(key),
			CreatedMs: key.CreatedMs, ActiveMs: key.ActiveMs,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
