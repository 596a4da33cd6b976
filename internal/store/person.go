package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// Person is a human being who can sign in. What the interface calls a user is a person as a member of an account.
type Person struct {
	No         int64
	ID         chargehand.UserID
	Email      string // as it was given
	EmailKey   string // in the form that is compared (package person): equal in two persons, they are the same
	Name       string
	NameKey    string // in the form that is compared; it is stored with the memberships alone
	Locale     string // empty: none chosen
	Password   string // hash with its parameters; empty: the person has no password
	CreatedMs  int64
	DisabledMs int64 // 0 unless disabled in all accounts
}

const personColumns = `p.no, p.id, p.email, p.email_key, p.name, p.locale, p.password, p.created_ms, p.disabled_ms`

func scanPerson(r Row, p *Person) { scanPersonAt(r, 0, p) }

// scanPersonAt reads personColumns, which begin at column at.
func scanPersonAt(r Row, at int, p *Person) {
	*p = Person{
		No: r.Int(at), Email: r.Text(at + 2), EmailKey: r.Text(at + 3), Name: r.Text(at + 4), Locale: r.Text(at + 5),
		Password: r.Text(at + 6), CreatedMs: r.Int(at + 7), DisabledMs: r.Int(at + 8),
	}
	scanID(r, at+1, &p.ID)
}

// InsertPerson inserts p and sets p.No. ErrConflict: the id or the e-mail is taken.
func (t *Tx) InsertPerson(p *Person) (err error) {
	p.No, err = t.insert("insert person", `INSERT INTO person (id, email, email_key, name, locale, password, created_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, p.ID[:], p.Email, p.EmailKey, p.Name, textArg(p.Locale), textArg(p.Password), p.CreatedMs)
	return err
}

// UpdatePerson writes Name, NameKey and Locale of p, in its memberships too.
// ErrConflict: there is no such person.
func (t *Tx) UpdatePerson(p *Person) error {
	err := t.change("update person", `UPDATE person SET name = ?2, locale = ?3 WHERE no = ?1`, p.No, p.Name, textArg(p.Locale))
	if err != nil {
		return err
	}
	return t.c.Send("update memberships", `UPDATE membership SET name_key = ?2 WHERE person = ?1`, p.No, p.NameKey)
}

// SetPassword writes the hash of a password; empty takes the password away. ErrConflict: there is no such person.
func (t *Tx) SetPassword(person int64, hash string) error {
	return t.change("set password", `UPDATE person SET password = ?2 WHERE no = ?1`, person, textArg(hash))
}

// DisablePerson disables a person in all accounts, or with 0 enables it again. ErrConflict: there is no such person.
func (t *Tx) DisablePerson(person, disabledMs int64) error {
	return t.change("disable person", `UPDATE person SET disabled_ms = ?2 WHERE no = ?1`, person, disabledMs)
}

// PersonByNo reads a person by its internal number. Errors: ErrNotFound.
func (r *Reader) PersonByNo(no int64) (Person, error) {
	return r.person(`SELECT `+personColumns+` FROM person p WHERE p.no = ?1`, no)
}

// PersonByID reads a person. Errors: ErrNotFound.
func (r *Reader) PersonByID(id chargehand.UserID) (Person, error) {
	return r.person(`SELECT `+personColumns+` FROM person p WHERE p.id = ?1`, id[:])
}

// PersonByEmail reads a person by the e-mail in the form that is compared. Errors: ErrNotFound.
func (r *Reader) PersonByEmail(key string) (Person, error) {
	return r.person(`SELECT `+personColumns+` FROM person p WHERE p.email_key = ?1`, key)
}

// PersonForUpdate reads a person by its internal number and locks it. Errors: ErrNotFound.
func (t *Tx) PersonForUpdate(no int64) (Person, error) {
	return t.person(`SELECT `+personColumns+` FROM person p WHERE p.no = ?1`+t.c.ForUpdate(), no)
}

func (r *Reader) person(query string, args ...any) (Person, error) {
	return readOne(r, "read person", query, scanPerson, args...)
}

// Settings reads what a person has set in the web interface; nil: nothing.
func (r *Reader) Settings(person int64) (data []byte, err error) {
	err = r.c.Query(`SELECT data FROM person_settings WHERE person = ?1`, func(row Row) error {
		data = row.Bytes(0)
		return nil
	}, person)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return data, nil
}

// SetSettings replaces what a person has set in the web interface.
func (t *Tx) SetSettings(person int64, data []byte, updatedMs int64) error {
	return t.c.Send("set settings", `INSERT INTO person_settings (person, data, updated_ms) VALUES (?1, ?2, ?3)
 ON CONFLICT (person) DO UPDATE SET data = excluded.data, updated_ms = excluded.updated_ms`, person, data, updatedMs)
}
