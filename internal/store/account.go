package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// Account is a tenant. Every other row belongs to one.
type Account struct {
	No        int64
	ID        chargehand.AccountID
	Name      string
	CreatedMs int64
}

const selectAccount = `SELECT no, id, name, created_ms FROM account`

func scanAccount(r Row, a *Account) {
	*a = Account{No: r.Int(0), Name: r.Text(2), CreatedMs: r.Int(3)}
	scanID(r, 1, &a.ID)
}

// InsertAccount inserts a and sets a.No. ErrConflict: the id is taken.
func (t *Tx) InsertAccount(a *Account) (err error) {
	a.No, err = t.insert("insert account", `INSERT INTO account (id, name, created_ms) VALUES (?1, ?2, ?3)`, a.ID[:], a.Name, a.CreatedMs)
	return err
}

// RenameAccount gives an account another name. ErrConflict: there is no such account.
func (t *Tx) RenameAccount(no int64, name string) error {
	return t.change("rename account", `UPDATE account SET name = ?2 WHERE no = ?1`, no, name)
}

// Accounts reads all accounts, oldest first.
func (r *Reader) Accounts() ([]Account, error) {
	return readAll(r, "list accounts", selectAccount+` ORDER BY no`, scanAccount)
}

// AccountByID reads an account. Errors: ErrNotFound.
func (r *Reader) AccountByID(id chargehand.AccountID) (Account, error) {
	return r.account(selectAccount+` WHERE id = ?1`, id[:])
}

// AccountByNo reads an account by its internal number. Errors: ErrNotFound.
func (r *Reader) AccountByNo(no int64) (Account, error) {
	return r.account(selectAccount+` WHERE no = ?1`, no)
}

func (r *Reader) account(query string, args ...any) (Account, error) {
	return readOne(r, "read account", query, scanAccount, args...)
}

// Meta reads a value of the installation. Errors: ErrNotFound.
func (r *Reader) Meta(key string) (value []byte, err error) {
	if err = r.one(`SELECT value FROM meta WHERE name = ?1`, func(row Row) { value = row.Bytes(0) }, key); err != nil {
		return nil, fmt.Errorf("read meta %s: %w", key, err)
	}
	return value, nil
}

// SetMeta inserts or replaces a value of the installation.
func (t *Tx) SetMeta(key string, value []byte) error {
	return t.c.Send("set meta", `INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, key, value)
}
