package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
)

// A sealed column is the number of the data key in 4 bytes, 8 random bytes (the salt), 12 random bytes (the nonce), and
// what AES-256-GCM makes of the data, with its tag of 16 bytes. Random nonces are safe for four billion messages under
// one key. A busy installation writes more rows than that, so each process seals under keys of its own, which follow
// from the data key, the kind of the row and the salt, and takes another salt in time.
const (
	saltBytes    = 8
	columnHeader = 4 + saltBytes
	// ColumnBytes is the number of bytes by which SealColumn makes data longer.
	ColumnBytes = columnHeader + 12 + 16
	// columnsPerSalt is after how many columns another salt is taken.
	columnsPerSalt = 1 << 30
	// maxOpeners bounds the ciphers that are kept for opening. Each process that has ever sealed has left a few.
	maxOpeners = 1024
)

// columnSeal seals columns under one salt.
type columnSeal struct {
	key     *Key
	salt    [saltBytes]byte
	sealed  atomic.Int64
	ciphers sync.Map // kind -> cipher.AEAD
}

func newColumnSeal(key *Key) *columnSeal {
	c := &columnSeal{key: key}
	rand.Read(c.salt[:]) // never fails
	return c
}

func (c *columnSeal) cipher(kind string) cipher.AEAD {
	if found, ok := c.ciphers.Load(kind); ok {
		return found.(cipher.AEAD)
	}
	made, _ := c.ciphers.LoadOrStore(kind, columnCipher(c.key, kind, c.salt[:]))
	return made.(cipher.AEAD)
}

func columnCipher(key *Key, kind string, salt []byte) cipher.AEAD {
	return newAEAD(key.derive("columns/" + kind + "/" + string(salt)))
}

// columnOpeners are the ciphers of columns that were opened before.
type columnOpeners struct {
	mu      sync.RWMutex
	ciphers map[columnOpener]cipher.AEAD
}

type columnOpener struct {
	number uint32
	salt   [saltBytes]byte
	kind   string
}

func (o *columnOpeners) find(keys *Keys, which columnOpener) (cipher.AEAD, error) {
	o.mu.RLock()
	found := o.ciphers[which]
	o.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	key := keys.data(which.number)
	if key == nil {
		return nil, errUnknownKey(which.number)
	}
	found = columnCipher(key, which.kind, which.salt[:])
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ciphers == nil || len(o.ciphers) >= maxOpeners {
		o.ciphers = make(map[columnOpener]cipher.AEAD)
	}
	o.ciphers[which] = found
	return found, nil
}

// SealColumn appends to b what seals the data of a column. kind names the column, and row says which row it is in: the
// sealed data opens at no other place.
func (s *Sealer) SealColumn(b []byte, kind string, row, data []byte) []byte {
	c := s.columns(s.keys.Load())
	b = binary.BigEndian.AppendUint32(b, c.key.Number)
	b = append(b, c.salt[:]...)
	return c.cipher(kind).Seal(b, nil, data, row)
}

// columns is what seals columns now: under the current data key, and a salt that is not used up.
func (s *Sealer) columns(keys *sealingKeys) *columnSeal {
	for {
		c := s.column.Load()
		if c != nil && c.key.Number == keys.current.Number && c.sealed.Add(1) <= columnsPerSalt {
			return c
		}
		s.column.CompareAndSwap(c, newColumnSeal(keys.current))
	}
}

// OpenColumn is the inverse of SealColumn. Errors: ErrSealed.
func (s *Sealer) OpenColumn(kind string, row, sealed []byte) ([]byte, error) {
	if len(sealed) < ColumnBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrSealed, len(sealed))
	}
	which := columnOpener{number: binary.BigEndian.Uint32(sealed), kind: kind}
	copy(which.salt[:], sealed[4:])
	aead, err := s.openers.find(s.keys.Load().Keys, which)
	if err != nil {
		return nil, err
	}
	data, err := aead.Open(make([]byte, 0, len(sealed)-ColumnBytes), nil, sealed[columnHeader:], row)
	if err != nil {
		return nil, fmt.Errorf("%w: the %s is damaged, not from this place, or of another installation", ErrSealed, kind)
	}
	return data, nil
}

// ColumnKey is the number of the data key that a column is sealed under.
func ColumnKey(sealed []byte) uint32 {
	if len(sealed) < ColumnBytes {
		return 0
	}
	return binary.BigEndian.Uint32(sealed)
}

// hidden is the cipher that hides digests. Its key never changes, because hidden digests are compared.
func (k *Keys) hidden() cipher.Block {
	filters := Key{key: [keyBytes]byte(k.Of(Filters))}
	block, err := aes.NewCipher(filters.derive("digests"))
	if err != nil {
		panic("make a cipher: " + err.Error()) // only for a length of key that is never used
	}
	return block
}

var zeroIV [aes.BlockSize]byte

// HideDigest replaces a SHA-256 where it can be seen. It is the same for the same digest, and without the keys
// it does not tell whether it is that of a content that was guessed. AES-256-CBC without a nonce does that,
// because the two blocks of a digest look random and no two digests have the same first one.
func (s *Sealer) HideDigest(digest [sha256.Size]byte) [sha256.Size]byte {
	cipher.NewCBCEncrypter(s.keys.Load().digests, zeroIV[:]).CryptBlocks(digest[:], digest[:])
	return digest
}

// ShowDigest is the inverse of HideDigest.
func (s *Sealer) ShowDigest(hidden [sha256.Size]byte) [sha256.Size]byte {
	cipher.NewCBCDecrypter(s.keys.Load().digests, zeroIV[:]).CryptBlocks(hidden[:], hidden[:])
	return hidden
}
