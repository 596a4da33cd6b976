package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// CodeResourceUnchecked is a warning: an external resource was not read where only the
// definition itself is checked.
const CodeResourceUnchecked = "resource_unchecked"

// CodeNotGranted is the code of the error that tells of a secret, a workflow or a file that the key which applies the
// definition does not see.
const CodeNotGranted = "not_granted"

// Pin is the content of an external resource as it is kept with a definition (T69).
type Pin struct {
	Key       string `json:"uri"`    // Wanted.Key: the URI, and more where the request was authenticated
	Digest    string `json:"digest"` // sha256:<hex> of Content
	MediaType string `json:"media_type,omitempty"`
	Content   []byte `json:"content"` // base64 in JSON
}

// NewPin makes the pin of a content.
func NewPin(key, mediaType string, content []byte) Pin {
	return Pin{Key: key, Digest: digestText(content), MediaType: mediaType, Content: content}
}

// EncodePins makes the text that pins are stored as: a JSON list by key, nil for none. Equal
// pins make equal texts. It sorts the list.
func EncodePins(pins []Pin) []byte {
	if len(pins) == 0 {
		return nil
	}
	slices.SortFunc(pins, func(a, b Pin) int { return strings.Compare(a.Key, b.Key) })
	text, err := json.Marshal(pins)
	if err != nil { // texts and bytes can always be encoded
		panic(err)
	}
	return text
}

// DecodePins reads what EncodePins made, as Options.Resources takes it. It refuses content
// that is not the one of its digest.
func DecodePins(text []byte) (map[string][]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var pins []Pin
	if err := json.Unmarshal(text, &pins); err != nil {
		return nil, fmt.Errorf("read pinned resources: %w", err)
	}
	resources := make(map[string][]byte, len(pins))
	for _, p := range pins {
		if p.Digest != digestText(p.Content) {
			return nil, fmt.Errorf("read pinned resources: %s is not what was pinned", p.Key)
		}
		resources[p.Key] = p.Content
	}
	return resources, nil
}

// SourceDigest tells definitions apart by their text and what EncodePins made of their
// resources. Without resources it is the SHA-256 of the text.
func SourceDigest(source, pins []byte) [sha256.Size]byte {
	sum := sha256.Sum256(source)
	if len(pins) == 0 {
		return sum
	}
	pinned := sha256.Sum256(pins)
	return sha256.Sum256(slices.Concat([]byte("definition with resources\x00"), sum[:], pinned[:]))
}

// SourceDigestText is SourceDigest in hexadecimal digits.
func SourceDigestText(source, pins []byte) string {
	sum := SourceDigest(source, pins)
	return hex.EncodeToString(sum[:])
}
