package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// keyBytes is the length of every key.
const keyBytes = 32

// maxMasters bounds the master keys of a keyring.
const maxMasters = 16

// Master is one master key of a keyring. It only wraps the random keys of an installation (Key). It never appears in
// a log: it formats as "[redacted]".
type Master struct {
	id      string
	created time.Time // zero: not known
	key     [keyBytes]byte
}

func (m *Master) String() string   { return "[redacted]" }
func (m *Master) GoString() string { return "[redacted]" }

// ID names a master key, and tells nothing about it: 8 hex digits that follow from the key.
func (m *Master) ID() string { return m.id }

// Created is when the master key was made; zero: not known.
func (m *Master) Created() time.Time { return m.created }

func newMaster(key [keyBytes]byte, created time.Time) *Master {
	m := &Master{key: key, created: created.UTC().Truncate(time.Second)}
	m.id = hex.EncodeToString(m.derive("id")[:4])
	return m
}

// derive returns a key for one use of the master key (HKDF-SHA-256), so that no two uses share key material.
func (m *Master) derive(use string) []byte {
	key, err := hkdf.Key(sha256.New, m.key[:], nil, "chargehand/"+use, keyBytes)
	if err != nil {
		panic("derive key: " + err.Error()) // only for a length or hash that is never asked for
	}
	return key
}

// Wrap seals a random key of the installation: 12 random bytes (the nonce) and what AES-256-GCM makes of the key,
// with its tag of 16 bytes. Number and purpose of the key are authenticated.
func (m *Master) Wrap(k *Key) []byte {
	return newAEAD(m.derive("wrap")).Seal(nil, nil, k.key[:], k.additional())
}

// Unwrap is the inverse of Wrap: it completes a Key whose number and purpose are known. Errors: ErrSealed.
func (m *Master) Unwrap(k *Key, wrapped []byte) error {
	key, err := newAEAD(m.derive("wrap")).Open(nil, nil, wrapped, k.additional())
	if err != nil || len(key) != keyBytes {
		return fmt.Errorf("%w: key %d (%s) is damaged, or was not wrapped by master key %s", ErrSealed, k.Number, k.Purpose, m.id)
	}
	copy(k.key[:], key)
	return nil
}

func (k *Key) additional() []byte {
	return append(binary.AppendUvarint([]byte("wrapped key "), uint64(k.Number)), k.Purpose...)
}

// Keyring is the content of a master key file: the current master key and older ones, which are needed as long as
// something is wrapped by them alone. It is immutable. It formats as "[redacted]".
type Keyring struct{ masters []*Master } // the current one is the last

func (k *Keyring) String() string   { return "[redacted]" }
func (k *Keyring) GoString() string { return "[redacted]" }

// NewKeyring makes a keyring with one random master key.
func NewKeyring(now time.Time) *Keyring { return (&Keyring{}).Add(now) }

// Add returns the keyring with another, random master key, which is its current one.
func (k *Keyring) Add(now time.Time) *Keyring {
	var key [keyBytes]byte
	rand.Read(key[:]) // never fails: crypto/rand ends the process instead
	return &Keyring{append(slices.Clone(k.masters), newMaster(key, now))}
}

// CurrentOnly returns the keyring without its older master keys.
func (k *Keyring) CurrentOnly() *Keyring { return &Keyring{k.masters[len(k.masters)-1:]} }

// Join returns the keyring with the master keys of another one that it lacks. The current one stays.
func (k *Keyring) Join(other *Keyring) *Keyring {
	var more []*Master
	for _, m := range other.masters {
		if k.Master(m.id) == nil {
			more = append(more, m)
		}
	}
	return &Keyring{append(more, k.masters...)}
}

// Current is the master key that new keys are wrapped by.
func (k *Keyring) Current() *Master { return k.masters[len(k.masters)-1] }

// Master is the master key with that id; nil: the keyring has none.
func (k *Keyring) Master(id string) *Master {
	for _, m := range k.masters {
		if m.id == id {
			return m
		}
	}
	return nil
}

// IDs are the ids of the master keys, the current one last.
func (k *Keyring) IDs() []string {
	ids := make([]string, len(k.masters))
	for i, m := range k.masters {
		ids[i] = m.id
	}
	return ids
}

// Equal reports whether both hold the same master keys.
func (k *Keyring) Equal(other *Keyring) bool {
	return slices.EqualFunc(k.masters, other.masters, func(a, b *Master) bool { return a.key == b.key })
}

// keyringFormat is the first line of a keyring. Another format will have another number.
const keyringFormat = "chargehand-keyring 1"

const keyringAbout = `# The master keys of an installation: keep this file secret, and keep a copy with every copy of the database.
# A line is a key: its id, when it was made, and 32 bytes in hex. The last one is the current one.
`

// encode writes what ParseKeyring reads.
func (k *Keyring) encode() []byte {
	var b strings.Builder
	b.WriteString(keyringFormat + "\n" + keyringAbout)
	for _, m := range k.masters {
		created := "-"
		if !m.created.IsZero() {
			created = m.created.Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "%s %s %x\n", m.id, created, m.key)
	}
	return []byte(b.String())
}

// ParseKeyring reads the content of a master key file: a keyring, or exactly 32 bytes, which are one master key.
// Its errors never tell a key.
func ParseKeyring(data []byte) (*Keyring, error) {
	if len(data) == keyBytes {
		return &Keyring{[]*Master{newMaster([keyBytes]byte(data), time.Time{})}}, nil
	}
	format, rest, _ := strings.Cut(string(data), "\n")
	if format = strings.TrimSpace(format); format != keyringFormat {
		if strings.HasPrefix(format, "chargehand-keyring ") {
			return nil, fmt.Errorf("is of a format that this version of chargehand does not know (%.40q): use the version that wrote it, or a newer one", format)
		}
		return nil, fmt.Errorf("has %d bytes and is no keyring (whose first line is %q), nor exactly %d random bytes: restore it from a backup", len(data), keyringFormat, keyBytes)
	}
	ring := &Keyring{}
	for i, line := range strings.Split(rest, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		m, err := parseMaster(line)
		if err == nil && ring.Master(m.id) != nil {
			err = fmt.Errorf("repeats key %s", m.id)
		}
		if err != nil {
			return nil, fmt.Errorf("is damaged: line %d %w: restore it from a backup", i+2, err)
		}
		ring.masters = append(ring.masters, m)
	}
	switch n := len(ring.masters); {
	case n == 0:
		return nil, errors.New("is a keyring without a key: restore it from a backup")
	case n > maxMasters:
		return nil, fmt.Errorf("holds %d master keys; at most %d are allowed", n, maxMasters)
	}
	return ring, nil
}

func parseMaster(line string) (*Master, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return nil, errors.New("is not an id, a time and a key")
	}
	var created time.Time
	if fields[1] != "-" {
		var err error
		if created, err = time.Parse(time.RFC3339, fields[1]); err != nil {
			return nil, errors.New("has no time such as 2026-01-31T12:00:00Z in its second place")
		}
	}
	key, err := hex.DecodeString(fields[2])
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("has no %d bytes in hex in its third place", keyBytes)
	}
	m := newMaster([keyBytes]byte(key), created)
	if m.id != fields[0] {
		return nil, fmt.Errorf("says %.20q, but its key has the id %s", fields[0], m.id)
	}
	return m, nil
}

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
