package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// A way is what the second half of a sign-in must know of the first half: the browser keeps it in a cookie, sealed, so
// that strangers who begin sign-ins fill no database, and so that a way counts in the browser that began it.
// Every node has the key. A way that has led to its end is stored as a ticket until it expires: it counts once.
type way struct {
	Kind   wayKind `json:"kind"`
	EndsMs int64   `json:"ends_ms"`
	Secret string  `json:"secret"` // the challenge or state that the answer repeats
	State  []byte  `json:"state"`
	// Session is that of the person who goes the way; zero: the person has not signed in yet.
	Session chargehand.SessionID `json:"session"`
	// Link: the person gets the identity with which the way ends.
	Link bool   `json:"link,omitempty"`
	Page string `json:"page,omitempty"` // Journey.Page
}

type wayKind string

// The kinds. A way of one kind is never taken for another.
const (
	wayUsePasskey wayKind = "use-passkey"
	wayAddPasskey wayKind = "add-passkey"
	wayProvider   wayKind = "provider"
)

// maxWay bounds what is read of a cookie.
const maxWay = 4096

var errWay = errors.New("the way is not one of this server, not of this kind, or has expired")

func newSealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s *Service) seal(w way) (string, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("seal sign-in: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.sealer.Seal(nil, nil, text, []byte(w.Kind))), nil
}

// open reads a way that this installation has sealed. Errors: errWay.
func (s *Service) open(kind wayKind, text string) (w way, err error) {
	if len(text) > maxWay {
		return way{}, errWay
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return way{}, errWay
	}
	clear, err := s.sealer.Open(nil, nil, sealed, []byte(kind))
	if err != nil || json.Unmarshal(clear, &w) != nil || w.Kind != kind || s.now().UnixMilli() >= w.EndsMs {
		return way{}, errWay
	}
	return w, nil
}

func (s *Service) newWay(kind wayKind, secret string, state []byte, life time.Duration) way {
	return way{Kind: kind, EndsMs: s.now().Add(life).UnixMilli(), Secret: secret, State: state}
}

// use makes a way count once, within the Update of what it leads to. Errors: errWay.
func (w *way) use(tx *store.Tx, now time.Time) error {
	kind := store.TicketChallenge
	if w.Kind == wayProvider {
		kind = store.TicketOIDC
	}
	hash := token.Hash(w.Secret)
	err := tx.InsertTicket(&store.Ticket{Hash: hash[:], Kind: kind, CreatedMs: now.UnixMilli(), ExpiresMs: w.EndsMs})
	if errors.Is(err, store.ErrConflict) {
		err = errWay
	}
	return err
}
