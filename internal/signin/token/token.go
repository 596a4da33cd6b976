package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Length is the number of characters of a token.
const Length = 43

// New returns a token of 256 random bits, and its hash.
func New() (text string, hash [sha256.Size]byte) {
	var b [32]byte
	rand.Read(b[:])
	text = base64.RawURLEncoding.EncodeToString(b[:])
	return text, Hash(text)
}

// Hash is what a store keeps of a token. A token has as many random bits as the hash, so that it needs no key.
func Hash(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// WellFormed reports whether text may be a token, so that no store is asked about anything else.
func WellFormed(text string) bool {
	if len(text) != Length {
		return false
	}
	_, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil
}

// letters are those of codes: no vowels, so that no words come about, and none that are easily taken for others.
const letters = "BCDFGHJKLMNPQRSTVWXZ"

// codeLetters is the number of letters of a code: 20^8 codes, about 34 bits.
const codeLetters = 8

// NewCode returns a code that people type, such as WDJB-MJHT.
func NewCode() string {
	b := make([]byte, 0, codeLetters)
	for len(b) < codeLetters {
		var one [1]byte
		rand.Read(one[:])
		if int(one[0]) < 256-256%len(letters) { // each letter is as likely as the others
			b = append(b, letters[int(one[0])%len(letters)])
		}
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// ReadCode is the code that a person typed, in the form of NewCode: small letters, spaces and hyphens do no harm.
// ok is false for anything that is no code.
func ReadCode(typed string) (code string, ok bool) {
	if len(typed) > 64 {
		return "", false
	}
	var b strings.Builder
	for _, r := range strings.ToUpper(typed) {
		switch {
		case strings.ContainsRune(letters, r):
			if b.Len() == 4 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
		case r == '-' || r == ' ' || r == '\u2010' || r == '\u2011' || r == '\u2013':
		default:
			return "", false
		}
	}
	return b.String(), b.Len() == codeLetters+1
}
