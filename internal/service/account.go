package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// FirstAccount returns the oldest account of the installation and makes it if there is none,
// once, also when several nodes begin at the same time.
func FirstAccount(ctx context.Context, db *store.Store, now time.Time) (store.Account, error) {
	var first store.Account
	find := func(r *store.Reader) error {
		first = store.Account{}
		all, err := r.Accounts()
		if err == nil && len(all) > 0 {
			first = all[0]
		}
		return err
	}
	if err := db.View(ctx, find); err != nil || first.No != 0 {
		return first, storageError(err)
	}
	err := db.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		if err := find(&tx.Reader); err != nil || first.No != 0 {
			return err
		}
		first = store.Account{ID: newID[chargehand.AccountID](now.UnixMilli()), Name: "default", CreatedMs: now.UnixMilli()}
		return tx.InsertAccount(&first)
	})
	return first, storageError(err)
}
