package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sealed data is one byte that names format and key, 12 random bytes (the nonce), and what
// AES-256-GCM makes of the data, with its tag of 16 bytes. What the data is and whose it is
// is no part of it, but is authenticated: sealed data that was moved to another location cannot be opened.
const (
	// sealedByFirst is AES-256-GCM under keys derived from the master key. Another number will
	// stand for another key, when keys are exchanged.
	sealedByFirst = 1
	// SealedBytes is how much longer sealed data is.
	SealedBytes = 1 + 12 + 16
)

// ErrSealed says that sealed data cannot be opened: it was damaged, belongs to another place,
// or was sealed under another master key.
var ErrSealed = errors.New("sealed data cannot be opened")

// Sealer seals and opens under the keys of an installation. It is safe for concurrent use.
type Sealer struct {
	secrets    cipher.AEAD
	executions []byte // the key of which each execution's own is derived
	filters    []byte
}

// NewSealer derives the keys for the purposes Secrets, Executions and Filters.
func NewSealer(m *Master) *Sealer {
	return &Sealer{secrets: newAEAD(m.Derive(Secrets)), executions: m.Derive(Executions), filters: m.Derive(Filters)}
}

// Mark replaces data where it is only compared: it is the same for the same data, and without the
// master key it cannot be found out by trying which data it is (HMAC-SHA-256). Data begins with
// what tells one use from others.
func (s *Sealer) Mark(data []byte) [32]byte {
	h := hmac.New(sha256.New, s.filters)
	h.Write(data)
	return [32]byte(h.Sum(nil))
}

func (s *Sealer) String() string   { return "[redacted]" }
func (s *Sealer) GoString() string { return "[redacted]" }

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic("make a cipher: " + err.Error()) // only for a length of key that is never used
}

// Location is where the value of a secret stands. A sealed value opens in its own place only.
type Location struct {
	Account     int64 // internal number
	Environment uint8
	Name        string
	Version     int64
}

// additional has every part with its length, so that no two places are the same text.
func (p Location) additional() []byte {
	text := append(make([]byte, 0, 64+len(p.Name)), "secret"...)
	text = binary.AppendVarint(text, p.Account)
	text = append(text, p.Environment)
	text = binary.AppendUvarint(text, uint64(len(p.Name)))
	text = append(text, p.Name...)
	return binary.AppendVarint(text, p.Version)
}

// Seal seals the value of a secret.
func (s *Sealer) Seal(p Location, value []byte) []byte { return seal(s.secrets, value, p.additional()) }

// Open is the inverse of Seal. Errors: ErrSealed.
func (s *Sealer) Open(p Location, sealed []byte) ([]byte, error) {
	return open(s.secrets, sealed, p.additional())
}

// Box seals and opens what belongs to one execution. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// Execution returns the box of an execution. Each has a key of its own: random nonces are safe
// for four billion messages under one key, which all executions together would exceed.
func (s *Sealer) Execution(id [16]byte) *Box {
	key, err := hkdf.Expand(sha256.New, s.executions, string(id[:]), keyBytes)
	if err != nil {
		panic("derive key: " + err.Error()) // only for a length that is never asked for
	}
	return &Box{newAEAD(key)}
}

func (b *Box) String() string   { return "[redacted]" }
func (b *Box) GoString() string { return "[redacted]" }

// Seal seals data of a kind; kinds are names such as "event". It copies the data.
func (b *Box) Seal(kind string, data []byte) []byte {
	return seal(b.aead, data, []byte("execution"+kind))
}

// Open is the inverse of Seal, for the same kind. Errors: ErrSealed.
func (b *Box) Open(kind string, sealed []byte) ([]byte, error) {
	return open(b.aead, sealed, []byte("execution"+kind))
}

func seal(aead cipher.AEAD, data, additional []byte) []byte {
	sealed := append(make([]byte, 0, SealedBytes+len(data)), sealedByFirst)
	return aead.Seal(sealed, nil, data, additional)
}

func open(aead cipher.AEAD, sealed, additional []byte) ([]byte, error) {
	if len(sealed) < SealedBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrSealed, len(sealed))
	}
	if sealed[0] != sealedByFirst {
		return nil, fmt.Errorf("%w: this server does not know key %d", ErrSealed, sealed[0])
	}
	data, err := aead.Open(nil, nil, sealed[1:], additional)
	if err != nil {
		return nil, fmt.Errorf("%w: it is damaged, not from this place, or of another master key", ErrSealed)
	}
	return data, nil
}
