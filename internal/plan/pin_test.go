package plan

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
)

func TestPins(t *testing.T) {
	one, two := NewPin("https://e.org/a", "application/json", []byte("{}")), NewPin("https://e.org/b", "", []byte("\x00\xff"))
	text := EncodePins([]Pin{two, one})
	if !bytes.Equal(text, EncodePins([]Pin{one, two})) {
		t.Error("the order of the pins counts")
	}
	resources, err := DecodePins(text)
	if err != nil || len(resources) != 2 || string(resources[one.Key]) != "{}" || string(resources[two.Key]) != "\x00\xff" {
		t.Errorf("read %v, %v", resources, err)
	}
	if EncodePins(nil) != nil {
		t.Error("no pins have a text")
	}
	if resources, err := DecodePins(nil); resources != nil || err != nil {
		t.Errorf("no pins: %v, %v", resources, err)
	}
	for _, broken := range []string{"{", `{"uri":1}`, strings.Replace(string(text), one.Digest, two.Digest, 1)} {
		if _, err := DecodePins([]byte(broken)); err == nil {
			t.Errorf("%.60s was read", broken)
		}
	}
}

// A definition without resources has the digest that it always had: digests are in databases
// and histories.
func TestSourceDigest(t *testing.T) {
	source := []byte("do: []")
	if SourceDigest(source, nil) != sha256.Sum256(source) {
		t.Error("the digest of a definition without resources has changed")
	}
	a := SourceDigest(source, EncodePins([]Pin{NewPin("u", "", []byte("1"))}))
	b := SourceDigest(source, EncodePins([]Pin{NewPin("u", "", []byte("2"))}))
	if a == b || a == SourceDigest(source, nil) {
		t.Error("resources do not count")
	}
}
