package service

import (
	"crypto/rand"
	"hash/crc32"

	"github.com/chargehand/chargehand"
)

// An API key is a prefix that names the environment, 32 random base62 characters (190 bits)
// and 6 base62 characters with the CRC32 of everything before them, so that a mistyped key is
// recognised without reading the database.
const (
	prefixLive     = "sk_live_"
	prefixTest     = "sk_test_"
	randomChars    = 32
	checksumChars  = 6
	secretChars    = len(prefixLive) + randomChars + checksumChars
	base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// secretPrefix is what the keys of an environment start with.
func secretPrefix(e chargehand.Environment) string {
	if e == chargehand.Test {
		return prefixTest
	}
	return prefixLive
}

// newSecret makes an API key.
func newSecret(e chargehand.Environment) string {
	text := make([]byte, 0, secretChars)
	text = append(text, secretPrefix(e)...)
	var random [64]byte
	for len(text) < len(prefixLive)+randomChars {
		rand.Read(random[:]) // never fails: the process ends where there is no randomness
		for _, b := range random {
			// 248 is the largest multiple of 62 that a byte holds: no character is likelier.
			if b < 248 && len(text) < len(prefixLive)+randomChars {
				text = append(text, base62Alphabet[b%62])
			}
		}
	}
	return string(appendChecksum(text, text))
}

// appendChecksum appends the checksum of text as base62, most significant digit first.
func appendChecksum(dst, text []byte) []byte {
	var digits [checksumChars]byte
	sum := crc32.ChecksumIEEE(text)
	for i := checksumChars - 1; i >= 0; i-- {
		digits[i] = base62Alphabet[sum%62]
		sum /= 62
	}
	return append(dst, digits[:]...)
}

// wellFormed tells whether text can be an API key: prefix, alphabet and checksum are right.
func wellFormed(text string) bool {
	if len(text) != secretChars {
		return false
	}
	if prefix := text[:len(prefixLive)]; prefix != prefixLive && prefix != prefixTest {
		return false
	}
	for i := len(prefixLive); i < len(text); i++ {
		c := text[i]
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	var whole [secretChars]byte
	body := append(whole[:0], text[:secretChars-checksumChars]...)
	return string(appendChecksum(body, body)) == text
}
