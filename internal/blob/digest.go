package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/chargehand/chargehand/internal/secret"
)

// Digest says which content is meant: by its SHA-256, and by whether it is stored sealed. The same content may be
// stored both ways, as two contents.
type Digest struct {
	Sum    [sha256.Size]byte
	Sealed bool
}

// sealedMark is the last byte of what names a sealed content.
const sealedMark = 1

// String is the SHA-256 in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d.Sum[:]) }

// Bytes are the digest as package store keeps it: the SHA-256, and one more byte if the content is sealed.
func (d Digest) Bytes() []byte {
	if !d.Sealed {
		return d.Sum[:]
	}
	return append(d.Sum[:], sealedMark)
}

// DigestOf is the inverse of Bytes. Other bytes give a digest that no content has.
func DigestOf(b []byte) (d Digest) {
	copy(d.Sum[:], b)
	d.Sealed = len(b) == len(d.Sum)+1
	return d
}

// Name is what a content is called where it is stored, and in the database: its SHA-256, or, if it is
// sealed, its hidden SHA-256 (secret.Sealer.HideDigest) and one more byte. Contents are listed in the order of names.
type Name []byte

func plainName(sum [sha256.Size]byte) Name { return sum[:] }

// String is the name in hexadecimal.
func (n Name) String() string { return hex.EncodeToString(n) }

// Sealed reports whether it is the name of a sealed content.
func (n Name) Sealed() bool { return len(n) == sha256.Size+1 }

// Equal reports whether both are the same name.
func (n Name) Equal(other Name) bool { return slices.Equal(n, other) }

// Key is the name of a content in its bucket: two digits as a folder, then the rest.
func (n Name) Key() string {
	s := n.String()
	return s[:2] + "/" + s[2:]
}

// ParseKey is the inverse of Key. Errors: ErrBadName.
func ParseKey(key string) (Name, error) {
	if len(key) < 3 || key[2] != '/' {
		return nil, ErrBadName
	}
	return ParseName(key[:2] + key[3:])
}

// ParseName is the inverse of Name.String. Errors: ErrBadName.
func ParseName(s string) (Name, error) {
	n, err := hex.DecodeString(s)
	if err != nil || hex.EncodeToString(n) != s {
		return nil, ErrBadName
	}
	if len(n) != sha256.Size && (len(n) != sha256.Size+1 || n[sha256.Size] != sealedMark) {
		return nil, ErrBadName
	}
	return n, nil
}

// size is the number of bytes of a content of which so many are stored. Errors: ErrDamaged.
func (n Name) size(stored int64) (int64, error) {
	if !n.Sealed() {
		return stored, nil
	}
	size, err := secret.PlainContentBytes(stored)
	if err != nil {
		return 0, damaged(n.String(), err)
	}
	return size, nil
}

// Name is that of a content. Errors: ErrNoKeys.
func (s *Store) Name(d Digest) (Name, error) {
	if !d.Sealed {
		return plainName(d.Sum), nil
	}
	if s.sealer == nil {
		return nil, ErrNoKeys
	}
	hidden := s.sealer.HideDigest(d.Sum)
	return append(hidden[:], sealedMark), nil
}

// Digest is that of the content with a name. Errors: ErrNoKeys, ErrBadName.
func (s *Store) Digest(n Name) (d Digest, err error) {
	if len(n) < sha256.Size {
		return d, ErrBadName
	}
	copy(d.Sum[:], n)
	if n.Sealed() {
		if s.sealer == nil {
			return d, ErrNoKeys
		}
		d = Digest{s.sealer.ShowDigest(d.Sum), true}
	}
	return d, nil
}
