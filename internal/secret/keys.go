package secret

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Purpose names a use of a random key. It is stored: a name is never given to another use.
type Purpose string

// The purposes. Of each there is one key for all time, because what it was used for is only compared and cannot be
// made anew, but of Data, of which there may be several.
const (
	APIKeyPepper  Purpose = "api-key-pepper"
	LinkSignature Purpose = "link-signature"
	Filters       Purpose = "filters" // hides what is compared (Sealer.Mark)
	Data          Purpose = "data"    // seals (Sealer); the newest one that is active
)

// Purposes are those that every installation has a key for.
var Purposes = []Purpose{APIKeyPepper, LinkSignature, Filters, Data}

// Key is a random key of an installation. It is stored wrapped (Master.Wrap). It formats as "[redacted]".
type Key struct {
	Number    uint32 // from 1; what is sealed names its key by it
	Purpose   Purpose
	CreatedMs int64
	ActiveMs  int64 // from when on it seals; so that every process knows it before
	key       [keyBytes]byte
}

func (k *Key) String() string   { return "[redacted]" }
func (k *Key) GoString() string { return "[redacted]" }

// NewKey makes a random key.
func NewKey(number uint32, purpose Purpose, createdMs, activeMs int64) *Key {
	k := &Key{Number: number, Purpose: purpose, CreatedMs: createdMs, ActiveMs: activeMs}
	rand.Read(k.key[:]) // never fails
	return k
}

// Keys are the random keys of an installation, unwrapped. They are immutable, and format as "[redacted]".
type Keys struct{ list []*Key } // by number

func (k *Keys) String() string   { return "[redacted]" }
func (k *Keys) GoString() string { return "[redacted]" }

// CollectKeys makes Keys of a list.
func CollectKeys(list []*Key) *Keys {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *Key) int { return int(a.Number) - int(b.Number) })
	return &Keys{list}
}

// NewKeys makes a random key for each purpose, active at once.
func NewKeys() *Keys {
	var list []*Key
	for i, purpose := range Purposes {
		list = append(list, NewKey(uint32(i+1), purpose, 0, 0))
	}
	return CollectKeys(list)
}

// List returns the keys by number.
func (k *Keys) List() []*Key { return slices.Clone(k.list) }

// Of returns the key for a purpose of which there is one. It panics without one: the caller checks Keys made of stored
// ones for that (Lacks).
func (k *Keys) Of(p Purpose) []byte {
	for _, key := range k.list {
		if key.Purpose == p {
			return slices.Clone(key.key[:])
		}
	}
	panic("there is no key for " + string(p))
}

// Lacks lists the purposes without a key.
func (k *Keys) Lacks() (list []Purpose) {
	for _, p := range Purposes {
		if !slices.ContainsFunc(k.list, func(key *Key) bool { return key.Purpose == p }) {
			list = append(list, p)
		}
	}
	return list
}

// sealing is the data key that seals at a time: the newest one that is active, or else the oldest.
func (k *Keys) sealing(nowMs int64) *Key {
	var found *Key
	for _, key := range k.list {
		if key.Purpose == Data && (found == nil || key.ActiveMs <= nowMs) {
			found = key
		}
	}
	if found == nil {
		panic("there is no data key")
	}
	return found
}

// data is the data key with a number; nil: there is none.
func (k *Keys) data(number uint32) *Key {
	i, found := slices.BinarySearchFunc(k.list, number, func(key *Key, n uint32) int { return int(key.Number) - int(n) })
	if !found || k.list[i].Purpose != Data {
		return nil
	}
	return k.list[i]
}

// derive returns the key of one use of a data key (HKDF-SHA-256). Random nonces are safe for four billion messages
// under one key, so what is written often has a key for each thing that it belongs to.
func (k *Key) derive(use string) []byte {
	key, err := hkdf.Expand(sha256.New, k.key[:], "chargehand/"+use, keyBytes)
	if err != nil {
		panic("derive key: " + err.Error()) // only for a length that is never asked for
	}
	return key
}

// Fingerprint tells the keys of one installation from those of another one, and nothing about them.
func (k *Keys) Fingerprint() string {
	sum := sha256.Sum256(append([]byte("chargehand/fingerprint"), k.Of(APIKeyPepper)...))
	return hex.EncodeToString(sum[:])
}

// ErrUnknownKey says that sealed data names a key that is not there. It is an ErrSealed that passes when the key is
// read.
var ErrUnknownKey = errors.New("the key is not known")

type errUnknownKey uint32

func (number errUnknownKey) Error() string {
	return fmt.Sprintf("%v: this server does not know key %d", ErrSealed, uint32(number))
}

func (errUnknownKey) Is(target error) bool { return target == ErrSealed || target == ErrUnknownKey }
