package secret

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Sealed data is one byte that names the format, the number of the data key in 4 bytes, 12 random bytes (the
// nonce), and what AES-256-GCM makes of the data, with its tag of 16 bytes. What the data is and whose it is
// is no part of it, but is authenticated: sealed data that was moved to another location cannot be opened.
const (
	// sealedFormat is AES-256-GCM under keys derived from a data key.
	sealedFormat = 1
	sealedHeader = 1 + 4
	// SealedBytes is the number of bytes by which sealing makes data longer.
	SealedBytes = sealedHeader + 12 + 16
)

// ErrSealed says that sealed data cannot be opened: it was damaged, belongs to another place,
// or was sealed under a key that is not known.
var ErrSealed = errors.New("sealed data cannot be opened")

// Sealer seals and opens under the keys of an installation. It is safe for concurrent use.
type Sealer struct {
	keys    atomic.Pointer[sealingKeys]
	column  atomic.Pointer[columnSeal]
	openers columnOpeners
	all     bool
	only    bool // RefuseClear
}

// sealingKeys are the keys with what follows from them. They are immutable.
type sealingKeys struct {
	*Keys
	current *Key
	secrets cipher.AEAD // of current, for secrets of environments
	filters []byte
	digests cipher.Block // hides digests
}

// NewSealer makes a Sealer with the keys of an installation.
func NewSealer(keys *Keys) *Sealer {
	s := &Sealer{}
	s.SetKeys(keys, time.Now())
	return s
}

// SetKeys makes keys those that count: all of them open, and the newest one that is active at now seals.
func (s *Sealer) SetKeys(keys *Keys, now time.Time) {
	current := keys.sealing(now.UnixMilli())
	if old := s.keys.Load(); old != nil && old.current.Number == current.Number && len(old.list) == len(keys.list) {
		return // nothing has changed
	}
	s.keys.Store(&sealingKeys{Keys: keys, current: current, secrets: newAEAD(current.derive(secretsUse)), filters: keys.Of(Filters), digests: keys.hidden()})
}

// SealAll has everything sealed that users give and that executions make of it: payloads, files, events, Temporal's
// histories. Without it only secrets are, and what may hold them. It must be called before s is used.
func (s *Sealer) SealAll() { s.all = true }

// ErrClear says that something is not sealed, and is refused (RefuseClear).
var ErrClear = errors.New("it is not encrypted, and what is not encrypted is refused")

// RefuseClear has nothing opened that is not sealed, of what SealAll has sealed. It includes SealAll.
func (s *Sealer) RefuseClear() { s.all, s.only = true, true }

// RefusesClear reports whether RefuseClear was called.
func (s *Sealer) RefusesClear() bool { return s != nil && s.only }

// SealsAll reports whether SealAll was called. A Sealer that is nil seals nothing.
func (s *Sealer) SealsAll() bool { return s != nil && s.all }

// Mark replaces data where it is only compared: it is the same for the same data, and without the
// master key it cannot be found out by trying which data it is (HMAC-SHA-256). Data begins with
// what tells one use from others.
func (s *Sealer) Mark(data []byte) [32]byte {
	h := hmac.New(sha256.New, s.keys.Load().filters)
	h.Write(data)
	return [32]byte(h.Sum(nil))
}

func (s *Sealer) String() string   { return "[redacted]" }
func (s *Sealer) GoString() string { return "[redacted]" }

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
func (s *Sealer) Seal(p Location, value []byte) []byte {
	return s.secrets().seal(value, p.additional())
}

// Open is the inverse of Seal. Errors: ErrSealed.
func (s *Sealer) Open(p Location, sealed []byte) ([]byte, error) {
	return s.secrets().open(sealed, p.additional())
}

// secretsUse is the use of a data key for secrets of environments.
const secretsUse = "secrets"

func (s *Sealer) secrets() *Box {
	keys := s.keys.Load()
	return &Box{sealer: s, use: secretsUse, key: keys.current, aead: keys.secrets}
}

// Box seals and opens what belongs together, such as all of one execution. It is safe for concurrent use.
type Box struct {
	sealer *Sealer
	use    string // of the data key
	key    *Key   // that it seals with
	aead   cipher.AEAD
}

// Execution returns the box of an execution. Each has a key of its own.
func (s *Sealer) Execution(id [16]byte) *Box { return s.box("executions/" + string(id[:])) }

// Mail returns the box of a mail. Each has a key of its own.
func (s *Sealer) Mail(id [16]byte) *Box { return s.box("mails/" + string(id[:])) }

func (s *Sealer) box(use string) *Box {
	key := s.keys.Load().current
	return &Box{sealer: s, use: use, key: key, aead: newAEAD(key.derive(use))}
}

func (b *Box) String() string   { return "[redacted]" }
func (b *Box) GoString() string { return "[redacted]" }

// Seal seals data of a kind; kinds are names such as "event". It copies the data.
func (b *Box) Seal(kind string, data []byte) []byte { return b.seal(data, []byte("execution"+kind)) }

// Open is the inverse of Seal, for the same kind. Errors: ErrSealed.
func (b *Box) Open(kind string, sealed []byte) ([]byte, error) {
	return b.open(sealed, []byte("execution"+kind))
}

func (b *Box) seal(data, additional []byte) []byte {
	sealed := append(make([]byte, 0, SealedBytes+len(data)), sealedFormat)
	sealed = binary.BigEndian.AppendUint32(sealed, b.key.Number)
	return b.aead.Seal(sealed, nil, data, additional)
}

func (b *Box) open(sealed, additional []byte) ([]byte, error) {
	if len(sealed) < SealedBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrSealed, len(sealed))
	}
	if sealed[0] != sealedFormat {
		return nil, fmt.Errorf("%w: its format %d is not known", ErrSealed, sealed[0])
	}
	aead := b.aead
	if number := binary.BigEndian.Uint32(sealed[1:]); number != b.key.Number {
		key := b.sealer.keys.Load().data(number)
		if key == nil {
			return nil, errUnknownKey(number)
		}
		aead = newAEAD(key.derive(b.use))
	}
	data, err := aead.Open(nil, nil, sealed[sealedHeader:], additional)
	if err != nil {
		return nil, fmt.Errorf("%w: it is damaged, not from this place, or of another installation", ErrSealed)
	}
	return data, nil
}
