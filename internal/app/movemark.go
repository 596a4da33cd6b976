package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// Marks of a move in table meta. The database that is filled has markBegun from the first
// row to the last check; the one that was left has markMoved. Neither is served. Both have the
// same id: a move that was cut off between them can be told from another one.
const (
	markBegun = store.MovePrefix + "begun"
	markMoved = store.MovePrefix + "moved"
	markTable = store.MovePrefix + "table/" // and the name: how far it is filled
	markFiles = store.MovePrefix + "files"
)

// moveMark is the value of markBegun and markMoved.
type moveMark struct {
	ID     string    `json:"id"`     // random
	Source string    `json:"source"` // which installation it is, whatever its folder is called
	From   string    `json:"from"`   // data directory
	To     string    `json:"to"`     // database, without its password
	At     time.Time `json:"at"`
}

func (m moveMark) encode() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts and a time
	}
	return data
}

// readMark reads a mark; nil: there is none.
func readMark(r *store.Reader, name string) (*moveMark, error) {
	data, err := r.Meta(name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mark := &moveMark{}
	if err := json.Unmarshal(data, mark); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return mark, nil
}

// checkMoved refuses a database that was left by a move, or that a move fills. It belongs into
// the transaction that first writes something for a server: a move that begins at the same
// time waits for it, and finds the database filled.
func checkMoved(r *store.Reader) error {
	mark, err := readMark(r, markMoved)
	if err != nil {
		return fmt.Errorf("look up the installation: %w", err)
	}
	if mark != nil {
		return fmt.Errorf("this installation was moved to %s on %s: serve it from there; "+
			"to come back here, without what has happened there since, run `chargehand store move --from %s --undo`",
			mark.To, mark.At.Format(time.DateTime), mark.From)
	}
	mark, err = readMark(r, markBegun)
	if err == nil && mark != nil {
		err = fmt.Errorf("the move of %s into this database, begun on %s, is not finished: run the same `chargehand store move` again, or use an empty database",
			mark.From, mark.At.Format(time.DateTime))
	}
	return err
}

// UndoMove lets a data directory that was moved be served again.
func UndoMove(ctx context.Context, from string) (to string, err error) {
	source, err := openSource(from, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	err = store.New(source).Update(ctx, func(tx *store.Tx) error {
		mark, err := readMark(&tx.Reader, markMoved)
		if err == nil && mark == nil {
			err = fmt.Errorf("the installation in %s was not moved", from)
		}
		if err != nil {
			return err
		}
		to = mark.To
		return tx.DeleteMeta(markMoved)
	})
	return to, err
}

// withoutPassword is a database URL for people.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a database"
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}
