package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand"
)

// Sealed columns. A column that may be sealed says by its first byte whether it is: what a database holds stays
// readable when sealing is switched on and off. Package secret has the only Sealer.
//
// What is sealed is tied to its row, so that nothing opens in the place of another. Digests of contents are hidden
// (hiddenMark): equal ones stay equal, and without the keys they do not tell what they are of.

// Sealer seals and opens columns. Implementations are safe for concurrent use.
type Sealer interface {
	// SealColumn appends to b what seals data. kind names the column; row is authenticated.
	SealColumn(b []byte, kind string, row, data []byte) []byte
	// OpenColumn is the inverse of SealColumn.
	OpenColumn(kind string, row, sealed []byte) ([]byte, error)
	// HideDigest replaces a digest, always the same one by the same one; ShowDigest is the inverse.
	HideDigest(digest [32]byte) [32]byte
	ShowDigest(hidden [32]byte) [32]byte
}

// ErrClear says that a column is not sealed in a store that refuses what is not (RefuseClear).
var ErrClear = errors.New("it is not encrypted, and what is not encrypted is refused")

// ErrNoSealer says that a column is sealed, and the store was given no keys.
var ErrNoSealer = errors.New("it is sealed, and there are no keys here")

const (
	// plainMark begins a column that is not sealed and whose data begins with one of these marks.
	plainMark = 0xC4
	// sealedMark begins a sealed column. No JSON text begins with either.
	sealedMark = 0xC5
	// digestBytes is the length of a digest. One more byte, hiddenMark, says that it is that of a sealed content, and
	// hidden in the database.
	digestBytes = 32
	hiddenMark  = 1
)

// The kinds of columns that may be sealed. They are part of what is sealed: names never change.
const (
	kindInput      = "input of an execution"
	kindOutput     = "output of an execution"
	kindFault      = "error of an execution"
	kindTimeline   = "timeline of an execution"
	kindLog        = "log of an execution"
	kindJournal    = "journal of an execution"
	kindCheckpoint = "state of an execution"
	kindEvent      = "event"
	kindMatch      = "events that a schedule has collected"
	kindWaits      = "what an execution waits for"
	kindReason     = "reason of a cancellation" // of an execution
	kindBatch      = "reason of the cancellation of a batch"
	kindDefinition = "definition"
	kindResources  = "resources of a definition"
	kindChanges    = "changes of an audit entry"
	kindOperation  = "reason of the cancellations of an operation"
	kindItemDetail = "error of an item of an operation"

	kindTaskTitle   = "title of a human task"
	kindTaskRequest = "request of a human task"
	kindTaskAnswer  = "answer of a human task"
	kindTaskComment = "comment on a human task"
	kindTaskDraft   = "draft of an answer to a human task"
)

// sealing is how a store seals: with what, and whether new columns are.
type sealing struct {
	sealer Sealer
	all    bool
	strict bool // RefuseClear
	log    *slog.Logger
}

// SetSealer gives the store the keys, without which nothing sealed can be read; all: what is written from now on is
// sealed. Damages are logged, because a list shows its other rows all the same; log nil: they are not.
func (s *Store) SetSealer(sealer Sealer, all bool, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s.sealing.Store(&sealing{sealer: sealer, all: all, log: log})
}

// RefuseClear makes the store open sealed columns only, so that nothing takes their place that was written without the
// keys. What an audit entry has changed is excepted: the commands beside a server write it without them. It is called
// once, after SetSealer with all.
func (s *Store) RefuseClear() {
	strict := *s.sealing.Load()
	strict.strict = true
	s.sealing.Store(&strict)
}

// rowKey is the key of a row, up to three numbers.
type rowKey [3]int64

func (k rowKey) bytes() []byte {
	b := make([]byte, 0, 24)
	for _, n := range k {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// String names the row in logs and errors: by its number, or by its id.
func (k rowKey) String() string {
	if k[0] == -1 {
		return uuid.UUID(k.bytes()[8:]).String()
	}
	text := strconv.FormatInt(k[0], 10)
	for _, n := range k[1:] {
		if n != 0 {
			text += "/" + strconv.FormatInt(n, 10)
		}
	}
	return text
}

// idKey is the key of a row that has no number yet when it is sealed.
func idKey[K any](id chargehand.ID[K]) rowKey {
	return rowKey{-1, int64(binary.BigEndian.Uint64(id[:])), int64(binary.BigEndian.Uint64(id[8:]))}
}

// seals reports whether new columns are sealed.
func (r *Reader) seals() bool { return r.sealing != nil && r.sealing.all }

// seal is the argument for a column; nil stays NULL.
func (r *Reader) seal(kind string, row rowKey, data []byte) any {
	switch {
	case data == nil:
		return nil
	case r.seals():
		b := append(make([]byte, 0, 64+len(data)), sealedMark)
		return r.sealing.sealer.SealColumn(b, kind, row.bytes(), data)
	case len(data) > 0 && (data[0] == sealedMark || data[0] == plainMark):
		return append([]byte{plainMark}, data...)
	}
	return data
}

// open is the inverse of seal. Errors: those of the Sealer, ErrNoSealer, ErrClear.
func (r *Reader) open(kind string, row rowKey, column []byte) ([]byte, error) {
	switch {
	case len(column) == 0:
		return column, nil
	case column[0] != sealedMark && r.sealing != nil && r.sealing.strict && kind != kindChanges:
		r.sealing.log.Error("a column is not sealed, and refused", "kind", kind, "row", row.String())
		return nil, fmt.Errorf("open the %s in row %s: %w", kind, row, ErrClear)
	case column[0] != sealedMark && column[0] != plainMark:
		return column, nil
	case column[0] == plainMark:
		return column[1:], nil
	case r.sealing == nil:
		return nil, fmt.Errorf("open the %s: %w", kind, ErrNoSealer)
	}
	data, err := r.sealing.sealer.OpenColumn(kind, row.bytes(), column[1:])
	if err != nil {
		r.sealing.log.Error("a sealed column cannot be opened", "kind", kind, "row", row, "error", err)
		return nil, fmt.Errorf("open the %s: %w", kind, err)
	}
	return data, nil
}

// opener reads the sealed columns of one row, and remembers the first that cannot be opened.
type opener struct {
	r   *Reader
	key rowKey
	err error
}

func (o *opener) open(kind string, column []byte) []byte {
	data, err := o.r.open(kind, o.key, column)
	if o.err == nil {
		o.err = err
	}
	return data
}

// reason reads why something was cancelled. It is empty if it cannot be opened: a cancellation needs no reason.
func (r *Reader) reason(kind string, row rowKey, column []byte) string {
	text, err := r.open(kind, row, column)
	if err != nil {
		return ""
	}
	return string(text)
}

// payload reads a payload from its three columns: inline, blob, size. One that cannot be opened says so when its data
// is asked for (Payload.Damage), because the other rows of a list are sound.
func (r *Reader) payload(rw Row, col int, kind string, row rowKey) Payload {
	if blob := rw.Bytes(col + 1); blob != nil {
		return Payload{Blob: r.show(blob), Size: rw.Int(col + 2)}
	}
	inline, err := r.open(kind, row, rw.Bytes(col))
	return Payload{Inline: inline, Size: int64(len(inline)), Damage: err}
}

// hide is the argument for a column with the digest of a content; nil stays NULL.
func (r *Reader) hide(digest []byte) any {
	if digest == nil {
		return nil
	}
	return r.hidden(digest)
}

// hidden is what stands for a digest in the database. That of a content that is not sealed stays as it is.
func (r *Reader) hidden(digest []byte) []byte {
	if len(digest) != digestBytes+1 || r.sealing == nil {
		return digest
	}
	hidden := r.sealing.sealer.HideDigest([digestBytes]byte(digest))
	return append(hidden[:], hiddenMark)
}

// show is the inverse of hide. Without keys the digest stays hidden: it names a content all the same.
func (r *Reader) show(column []byte) []byte {
	if len(column) != digestBytes+1 || r.sealing == nil {
		return column
	}
	digest := r.sealing.sealer.ShowDigest([digestBytes]byte(column))
	return append(digest[:], hiddenMark)
}

// sealHash is the argument for a hash of what a user has sent, which would tell those who guess that what it is.
func (r *Reader) sealHash(hash []byte) []byte {
	if len(hash) != digestBytes || !r.seals() {
		return hash
	}
	return r.hidden(append(bytes.Clone(hash), hiddenMark))
}

// openHash is the inverse of sealHash.
func (r *Reader) openHash(column []byte) []byte {
	return r.show(column)[:min(digestBytes, len(column))]
}
