package service

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// IssueKey is the request of the command line to make a key without a server.
type IssueKey struct {
	Name        string
	Environment chargehand.Environment // zero: live
	Scopes      Scopes                 // zero: PresetRun
	ExpiresAt   time.Time              // zero: never
	Workflows   []string               // the only ones that it sees, by id or namespace/name
	Namespaces  []string               // the only ones that it sees
	Addresses   []string               // the only ones that it may be used from, or ranges of them
	// Rate is its own rate in requests per second, 0: no limit; nil: the installation's.
	Rate *int64
}

// Issue makes a key of the first account, beside a running server or without one. pepper is
// as in Config. Codes: invalid_parameter, workflow_not_found.
func Issue(ctx context.Context, db *store.Store, key []byte, now time.Time, r IssueKey) (secret string, err error) {
	account, err := FirstAccount(ctx, db, now)
	if err != nil {
		return "", err
	}
	if r.Environment == 0 {
		r.Environment = chargehand.Live
	}
	if r.Scopes == 0 {
		r.Scopes = PresetRun
	}
	if len(r.Name) > maxKeyNameBytes {
		return "", chargehand.NewError(chargehand.CodeInvalidParameter, "The name must not be longer than "+strconv.Itoa(maxKeyNameBytes)+" bytes.")
	}
	if r.Scopes != r.Scopes.In(r.Environment) {
		return "", chargehand.NewError(chargehand.CodeInvalidParameter, noTestPublishing)
	}
	row := store.Key{
		Account: account.No, Environment: r.Environment, Name: r.Name, Rate: -1,
		Scopes: strings.Join(r.Scopes.Names(), " "), Creator: creatorCommandLine,
	}
	if !r.ExpiresAt.IsZero() {
		row.ExpiresMs = r.ExpiresAt.UnixMilli()
		if !r.ExpiresAt.After(now) {
			return "", chargehand.NewError(chargehand.CodeInvalidParameter, "The expiry must lie in the future.")
		}
	}
	if r.Rate != nil {
		if row.Rate = *r.Rate; row.Rate < 0 || row.Rate > maxKeyRate {
			return "", chargehand.NewError(chargehand.CodeInvalidParameter, "The rate limit must be from 0 (no limit) to "+strconv.Itoa(maxKeyRate)+" requests per second.")
		}
	}
	limits, err := r.limitation(&row)
	if err != nil {
		return "", err
	}
	secret = fillKey(&row, newPepper(key), now.UnixMilli())
	err = storageError(db.Update(ctx, func(tx *store.Tx) (err error) {
		if row.Limits, err = limits.on(&tx.Reader, account.No, store.Limits{}); err != nil {
			return err
		}
		if checkAdmin(&row) != nil {
			return chargehand.NewError(chargehand.CodeInvalidParameter, adminUnlimited)
		}
		if err := tx.InsertKey(&row); err != nil {
			return err
		}
		return audit.Write(ctx, tx, now, audit.Entry{
			Account: account.No, Environment: row.Environment, Action: audit.KeyCreated,
			Target: keyTarget(&row), Changes: keyChanges(&store.Key{}, &row),
		})
	}))
	return secret, err
}

// limitation is what the lists say. The addresses are read into row. Codes: invalid_parameter.
func (r *IssueKey) limitation(row *store.Key) (limitation, error) {
	f := &fields{values: map[string]any{}}
	for name, list := range map[string][]string{"workflows": r.Workflows, "namespaces": r.Namespaces, "allowed_addresses": r.Addresses} {
		if len(list) == 0 {
			continue
		}
		values := make([]any, len(list))
		for i, text := range list {
			values[i] = text
		}
		f.values[name] = values
	}
	l := f.limitation()
	row.Addresses = f.addresses("allowed_addresses")
	if len(f.wrong) > 0 {
		return l, chargehand.NewError(chargehand.CodeInvalidParameter, f.wrong[0].Detail)
	}
	return l, nil
}
