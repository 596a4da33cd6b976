package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
)

// Errors of signed links.
var (
	ErrBadSignature = errors.New("signature does not match")
	ErrExpired      = errors.New("link has expired")
)

// LinkKind says what a link leads to. Numbers are part of signatures: never reused.
type LinkKind byte

// The kinds.
const (
	LinkFile   LinkKind = 1 // ID is a file
	LinkOutput LinkKind = 2 // ID is an execution: its output, rendered as output.json
	LinkUpload LinkKind = 3 // ID is a file that is to become part of an answer; it leads nowhere
)

// Link is everything that a signature covers. A change of any part makes it invalid.
type Link struct {
	Kind        LinkKind
	Environment chargehand.Environment
	ID          [16]byte
	ExpiresUnix int64  // seconds since 1970; from then on the link has no use
	Disposition string // "attachment" or "inline"; part of the address
}

// Signer signs links. It is safe for concurrent use.
type Signer struct{ key []byte }

// NewSigner takes the key derived for that purpose (secret.LinkSignature), 32 bytes.
func NewSigner(key []byte) *Signer { return &Signer{key: append([]byte(nil), key...)} }

// Sign is the signature of a link: 43 characters that need no escaping in an address.
func (s *Signer) Sign(l Link) string {
	return base64.RawURLEncoding.EncodeToString(s.sum(l))
}

// Verify checks a signature, in constant time, and then the expiry. Errors:
// ErrBadSignature, ErrExpired.
func (s *Signer) Verify(l Link, signature string, now time.Time) error {
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || !hmac.Equal(given, s.sum(l)) {
		return ErrBadSignature
	}
	if now.Unix() >= l.ExpiresUnix {
		return ErrExpired
	}
	return nil
}

// sum covers fields of fixed length first, so that no two links have the same message.
func (s *Signer) sum(l Link) []byte {
	message := make([]byte, 0, 64)
	message = append(message, 1, byte(l.Kind), byte(l.Environment))
	message = append(message, l.ID[:]...)
	message = binary.BigEndian.AppendUint64(message, uint64(l.ExpiresUnix))
	message = append(message, l.Disposition...)
	mac := hmac.New(sha256.New, s.key)
	mac.Write(message)
	return mac.Sum(nil)
}
