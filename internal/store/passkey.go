package store

import (
	"github.com/chargehand/chargehand"
)

// Passkey is a passkey of a person.
type Passkey struct {
	No         int64
	ID         chargehand.PasskeyID
	Person     int64
	Credential []byte // the id that the authenticator gave it: unique
	Data       []byte // public key and what belongs to it; only package signin reads it
	SignCount  int64
	Name       string
	CreatedMs  int64
	LastUsedMs int64 // 0: never
}

const selectPasskey = `SELECT no, id, person, credential, data, sign_count, name, created_ms, last_used_ms FROM passkey`

// InsertPasskey inserts k and sets k.No. ErrConflict: the id or the credential is taken.
func (t *Tx) InsertPasskey(k *Passkey) (err error) {
	k.No, err = t.insert("insert passkey", `INSERT INTO passkey (id, person, credential, data, sign_count, name, created_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, k.ID[:], k.Person, k.Credential, k.Data, k.SignCount, k.Name, k.CreatedMs)
	return err
}

// UsePasskey writes Data, SignCount and LastUsedMs of k. ErrConflict: its count is not was any more.
func (t *Tx) UsePasskey(k *Passkey, was int64) error {
	return t.change("use passkey", `UPDATE passkey SET data = ?3, sign_count = ?4, last_used_ms = ?5 WHERE no = ?1 AND sign_count = ?2`,
		k.No, was, k.Data, k.SignCount, k.LastUsedMs)
}

// RenamePasskey changes the name of a passkey of a person. ErrConflict: there is none with that id.
func (t *Tx) RenamePasskey(person int64, id chargehand.PasskeyID, name string) error {
	return t.change("rename passkey", `UPDATE passkey SET name = ?3 WHERE id = ?1 AND person = ?2`, id[:], person, name)
}

// DeletePasskey deletes a passkey of a person. ErrConflict: there is none with that id.
func (t *Tx) DeletePasskey(person int64, id chargehand.PasskeyID) error {
	return t.change("delete passkey", `DELETE FROM passkey WHERE id = ?1 AND person = ?2`, id[:], person)
}

// DeletePasskeys deletes all passkeys of a person.
func (t *Tx) DeletePasskeys(person int64) error {
	return t.c.Send("delete passkeys", `DELETE FROM passkey WHERE person = ?1`, person)
}

func scanPasskey(row Row, k *Passkey) {
	*k = Passkey{
		No: row.Int(0), Person: row.Int(2), Credential: row.Bytes(3), Data: row.Bytes(4), SignCount: row.Int(5), Name: row.Text(6),
		CreatedMs: row.Int(7), LastUsedMs: row.Int(8),
	}
	scanID(row, 1, &k.ID)
}

// PasskeysOf lists the passkeys of a person, oldest first.
func (r *Reader) PasskeysOf(person int64) ([]Passkey, error) {
	return readAll(r, "read passkeys", selectPasskey+` WHERE person = ?1 ORDER BY no`, scanPasskey, person)
}

// PasskeyByCredential reads a passkey by the id that its authenticator gave it. Errors: ErrNotFound.
func (r *Reader) PasskeyByCredential(credential []byte) (Passkey, error) {
	return readOne(r, "read passkey", selectPasskey+` WHERE credential = ?1`, scanPasskey, credential)
}

// Identity is who a person is at an identity provider.
type Identity struct {
	Issuer    string
	Subject   string // unique with the issuer
	Person    int64
	Provider  string // its name in the configuration
	CreatedMs int64
	// BySession: a session of the person has linked it, which may have been a stolen one.
	BySession bool
}

// InsertIdentity inserts i. ErrConflict: a person is this subject of the issuer.
func (t *Tx) InsertIdentity(i *Identity) error {
	return t.change("insert identity", `INSERT INTO identity (issuer, subject, person, provider, created_ms, by_session)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (issuer, subject) DO NOTHING`, i.Issuer, i.Subject, i.Person, i.Provider, i.CreatedMs, i.BySession)
}

// DeleteIdentities deletes what a person is at a provider, by the name of the provider.
func (t *Tx) DeleteIdentities(person int64, provider string) error {
	return t.c.Send("delete identities", `DELETE FROM identity WHERE person = ?1 AND provider = ?2`, person, provider)
}

// IdentityOf reads who a subject of an issuer is. Errors: ErrNotFound.
func (r *Reader) IdentityOf(issuer, subject string) (Identity, error) {
	return readOne(r, "read identity", selectIdentity+` WHERE issuer = ?1 AND subject = ?2`, scanIdentity, issuer, subject)
}

// IdentitiesOf lists who a person is at identity providers.
func (r *Reader) IdentitiesOf(person int64) ([]Identity, error) {
	return readAll(r, "read identities", selectIdentity+` WHERE person = ?1 ORDER BY issuer, subject`, scanIdentity, person)
}

const selectIdentity = `SELECT issuer, subject, person, provider, created_ms, by_session FROM identity`

func scanIdentity(row Row, i *Identity) {
	*i = Identity{Issuer: row.Text(0), Subject: row.Text(1), Person: row.Int(2), Provider: row.Text(3), CreatedMs: row.Int(4), BySession: row.Int(5) != 0}
}
