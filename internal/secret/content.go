package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// A sealed content is a header and chunks. The header is one byte that names the format, the number of the data key in
// 4 bytes, 16 random bytes (the salt), and 32 bytes (the bond) that tie it to the digest of the content. The salt
// makes the key of the chunks, so each content has a key of its own, and its nonces may be counted: a nonce is 7 bytes
// of 0, the number of the chunk in 4 bytes, and 1 for the last chunk or 0. A chunk that was moved, dropped or
// repeated cannot be opened, nor can a content that was cut or continued.
const (
	contentFormat = 1
	contentSalt   = 16
	// ContentHeaderBytes is the length of the header.
	ContentHeaderBytes = 1 + 4 + contentSalt + sha256.Size
	// ContentChunkBytes is the length of every chunk but the last one, which may be shorter, before it is sealed.
	ContentChunkBytes = 64 << 10
	// ContentTagBytes is the number of bytes by which sealing makes a chunk longer.
	ContentTagBytes = 16
	sealedChunk     = ContentChunkBytes + ContentTagBytes
)

// MaxContentBytes bounds a sealed content: chunks are counted in 4 bytes.
const MaxContentBytes = ContentChunkBytes << 32

// SealedContentBytes is the length of a sealed content of size bytes. The empty one has a chunk too.
func SealedContentBytes(size int64) int64 {
	chunks := max(1, (size+ContentChunkBytes-1)/ContentChunkBytes)
	return ContentHeaderBytes + size + chunks*ContentTagBytes
}

// PlainContentBytes is the inverse of SealedContentBytes. Errors: ErrSealed if no content is sealed so long.
func PlainContentBytes(sealed int64) (int64, error) {
	rest := sealed - ContentHeaderBytes
	chunks := max(1, (rest+sealedChunk-1)/sealedChunk)
	size := rest - chunks*ContentTagBytes
	if size < 0 || SealedContentBytes(size) != sealed {
		return 0, fmt.Errorf("%w: a content of %d bytes was cut off", ErrSealed, sealed)
	}
	return size, nil
}

// Content seals and opens the chunks of one content.
type Content struct {
	header [ContentHeaderBytes]byte
	bond   []byte // key
	aead   cipher.AEAD
}

func (c *Content) String() string   { return "[redacted]" }
func (c *Content) GoString() string { return "[redacted]" }

// NewContent begins to seal a content.
func (s *Sealer) NewContent() *Content {
	key := s.keys.Load().current
	c := &Content{}
	c.header[0] = contentFormat
	binary.BigEndian.PutUint32(c.header[1:], key.Number)
	rand.Read(c.header[5 : 5+contentSalt]) // never fails
	c.derive(key)
	return c
}

func (c *Content) derive(key *Key) {
	salt := string(c.header[5 : 5+contentSalt])
	c.bond = key.derive("content bonds/" + salt)
	block, err := aes.NewCipher(key.derive("contents/" + salt))
	if err == nil {
		c.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic("make a cipher: " + err.Error()) // only for a length of key that is never used
	}
}

func (c *Content) bondTo(digest [sha256.Size]byte) []byte {
	h := hmac.New(sha256.New, c.bond)
	h.Write(c.header[:ContentHeaderBytes-sha256.Size])
	h.Write(digest[:])
	return h.Sum(nil)
}

// Header is the header of a content with that digest, which is known only at its end.
func (c *Content) Header(digest [sha256.Size]byte) []byte {
	header := c.header
	copy(header[ContentHeaderBytes-sha256.Size:], c.bondTo(digest))
	return header[:]
}

// OpenContent begins to open the content with that digest. Errors: ErrSealed.
func (s *Sealer) OpenContent(header []byte, digest [sha256.Size]byte) (*Content, error) {
	number, err := ContentKey(header)
	if err != nil {
		return nil, err
	}
	key := s.keys.Load().data(number)
	if key == nil {
		return nil, errUnknownKey(number)
	}
	c := &Content{header: [ContentHeaderBytes]byte(header)}
	c.derive(key)
	if !hmac.Equal(c.bondTo(digest), header[ContentHeaderBytes-sha256.Size:]) {
		return nil, fmt.Errorf("%w: the head of the content is damaged, or that of another one", ErrSealed)
	}
	return c, nil
}

// ContentKey is the number of the data key that a content is sealed under, by its header. Errors: ErrSealed.
func ContentKey(header []byte) (uint32, error) {
	switch {
	case len(header) != ContentHeaderBytes:
		return 0, fmt.Errorf("%w: the head of the content was cut off", ErrSealed)
	case header[0] != contentFormat:
		return 0, fmt.Errorf("%w: its format %d is not known", ErrSealed, header[0])
	}
	return binary.BigEndian.Uint32(header[1:]), nil
}

func chunkNonce(number int64, last bool) []byte {
	var nonce [12]byte
	binary.BigEndian.PutUint32(nonce[7:], uint32(number))
	if last {
		nonce[11] = 1
	}
	return nonce[:]
}

// errTooManyChunks: the numbers of chunks would repeat, and with them the nonces.
var errTooManyChunks = errors.New("a content is too long to be sealed")

// SealChunk appends to b a chunk of the content. No number may be sealed twice.
func (c *Content) SealChunk(b, chunk []byte, number int64, last bool) ([]byte, error) {
	if number > 1<<32-1 {
		return nil, errTooManyChunks
	}
	return c.aead.Seal(b, chunkNonce(number, last), chunk, nil), nil
}

// OpenChunk is the inverse of SealChunk. b may be sealed[:0]. Errors: ErrSealed.
func (c *Content) OpenChunk(b, sealed []byte, number int64, last bool) ([]byte, error) {
	if number > 1<<32-1 {
		return nil, errTooManyChunks
	}
	chunk, err := c.aead.Open(b, chunkNonce(number, last), sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: part %d of the content is damaged, or not where it belongs", ErrSealed, number+1)
	}
	return chunk, nil
}
