package service

import (
	"encoding/binary"
	"math/rand/v2"
)

// Ids need to be unique, not unguessable: what they name is closed without a key.

// newID makes a UUID of version 7 with that time part.
func newID[T ~[16]byte](milli int64) T {
	var id [16]byte
	s := sequence{milli: milli, high: uint16(rand.Uint32()) & 0xfff, low: rand.Uint64() >> 2}
	s.put(id[:])
	return T(id)
}

// sequence makes UUIDs of version 7 that ascend although they have the same time part.
type sequence struct {
	milli int64
	high  uint16 // the 12 bits after the version
	low   uint64 // the 62 bits after the variant
}

// newSequence starts in the lower half, so that 2^20 steps never run over.
func newSequence(milli int64) sequence {
	return sequence{milli: milli, high: uint16(rand.Uint32()) & 0x7ff, low: rand.Uint64() >> 2}
}

// next fills in the next id.
func (s *sequence) next(id []byte) {
	s.low += 1 + rand.Uint64N(1<<40)
	if s.low >= 1<<62 {
		s.low -= 1 << 62
		s.high++
	}
	s.put(id)
}

func (s *sequence) put(id []byte) {
	binary.BigEndian.PutUint64(id, uint64(s.milli)<<16|0x7000|uint64(s.high))
	binary.BigEndian.PutUint64(id[8:], 1<<63|s.low)
}
