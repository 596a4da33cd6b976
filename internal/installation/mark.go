package installation

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// Marks of a move in table meta. The database that is filled has MarkBegun from the first
// row to the last check; the one that was left has MarkMoved. Neither is served. Both have the
// same id, which distinguishes a move that was cut off between them from another one.
const (
	MarkBegun = store.MovePrefix + "begun"
	MarkMoved = store.MovePrefix + "moved"
)

// Mark is the value of MarkBegun and MarkMoved.
type Mark struct {
	ID     string    `json:"id"`     // random
	Source string    `json:"source"` // which installation it is, whatever its folder is called
	From   string    `json:"from"`   // data directory
	To     string    `json:"to"`     // database, without its password
	At     time.Time `json:"at"`
}

// Encode is the value of the mark.
func (m Mark) Encode() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts and a time
	}
	return data
}

// ReadMark reads a mark; nil: there is none.
func ReadMark(r *store.Reader, name string) (*Mark, error) {
	data, err := r.Meta(name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mark := &Mark{}
	if err := json.Unmarshal(data, mark); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return mark, nil
}

// CheckMoved refuses a database that was left by a move, or that a move fills. Call it in
// the transaction that first writes something for a server: a move that begins at the same
// time waits for it, and finds the database filled.
func CheckMoved(r *store.Reader) error {
	mark, err := ReadMark(r, MarkMoved)
	if err != nil {
		return fmt.Errorf("look up the installation: %w", err)
	}
	if mark != nil {
		return fmt.Errorf("this installation was moved to %s on %s: serve it from there; "+
			"to come back here, without what has happened there since, run `chargehand store move --from %s --undo`",
			mark.To, mark.At.Format(time.DateTime), mark.From)
	}
	mark, err = ReadMark(r, MarkBegun)
	if err == nil && mark != nil {
		err = fmt.Errorf("the move of %s into this database, begun on %s, is not finished: run the same `chargehand store move` again, or use an empty database",
			mark.From, mark.At.Format(time.DateTime))
	}
	return err
}
