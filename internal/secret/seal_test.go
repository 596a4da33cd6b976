package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
)

func TestSeal(t *testing.T) {
	s := NewSealer(&Master{key: [32]byte{1}})
	location := Location{Account: 7, Environment: 1, Name: "token", Version: 3}
	value := []byte(`"s3cret value"`)
	sealed := s.Seal(location, value)
	if len(sealed) != len(value)+SealedBytes || bytes.Contains(sealed, []byte("cret")) {
		t.Fatalf("sealed %q", sealed)
	}
	if bytes.Equal(sealed, s.Seal(location, value)) {
		t.Error("the same value was sealed the same way twice")
	}
	again := NewSealer(&Master{key: [32]byte{1}}) // another process
	if got, err := again.Open(location, sealed); err != nil || !bytes.Equal(got, value) {
		t.Errorf("opened %q, %v", got, err)
	}
	locations := map[string]Location{
		"account":     {8, 1, "token", 3},
		"environment": {7, 2, "token", 3},
		"name":        {7, 1, "tokem", 3},
		"version":     {7, 1, "token", 4},
	}
	for what, other := range locations {
		if _, err := s.Open(other, sealed); !errors.Is(err, ErrSealed) {
			t.Errorf("opened under another %s: %v", what, err)
		}
	}
	if _, err := NewSealer(&Master{}).Open(location, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("opened with another master key: %v", err)
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := s.Open(location, damaged); !errors.Is(err, ErrSealed) {
			t.Errorf("opened with byte %d damaged: %v", i, err)
		}
		if _, err := s.Open(location, sealed[:i]); !errors.Is(err, ErrSealed) {
			t.Errorf("opened %d bytes: %v", i, err)
		}
	}
}

func TestBox(t *testing.T) {
	s := NewSealer(&Master{key: [32]byte{1}})
	box := s.Execution([16]byte{1})
	for _, data := range [][]byte{{}, []byte("x"), make([]byte, 1<<20)} {
		sealed := box.Seal("event", data)
		if got, err := s.Execution([16]byte{1}).Open("event", sealed); err != nil || !bytes.Equal(got, data) {
			t.Errorf("opened %d bytes of %d, %v", len(got), len(data), err)
		}
		if _, err := box.Open("checkpoint", sealed); !errors.Is(err, ErrSealed) {
			t.Errorf("opened as another kind: %v", err)
		}
		if _, err := s.Execution([16]byte{2}).Open("event", sealed); !errors.Is(err, ErrSealed) {
			t.Errorf("opened in another execution: %v", err)
		}
	}
	for _, v := range []any{s, box} {
		if text := fmt.Sprintf("%v %+v %#v", v, v, v); text != "[redacted] [redacted] [redacted]" {
			t.Errorf("prints %s", text)
		}
	}
}

func BenchmarkBox(b *testing.B) {
	s := NewSealer(&Master{})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			s.Execution([16]byte{1})
		}
	})
	b.Run("seal 1 KiB", func(b *testing.B) {
		box, data := s.Execution([16]byte{1}), make([]byte, 1<<10)
		b.SetBytes(1 << 10)
		for b.Loop() {
			box.Seal("event", data)
		}
	})
}

// TestSealedForever: what is stored can be opened by later versions.
func TestSealedForever(t *testing.T) {
	const (
		sealed = "01a5230e96e82219728c32f43f8e10cf75006bf0bc3e105c7ac448a7a7b176e68ce1fdbc"
		marked = "50cf087d17f4b60d6d62cb71386b934aadebd5705c6e65affca12cd3b0350be7"
		boxed  = "01eb53d96752e0ce771e77f402068a3e710d123b143e0584388213fcc9ab4ac990"
	)
	s := NewSealer(&Master{})
	if got, err := s.Open(Location{Account: 1, Environment: 1, Name: "token", Version: 1}, fromHex(t, sealed)); err != nil || string(got) != `"value"` {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Execution([16]byte{15: 1}).Open("event", fromHex(t, boxed)); err != nil || string(got) != "data" {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.Mark([]byte("data")); !bytes.Equal(got[:], fromHex(t, marked)) {
		t.Errorf("a mark is %x", got)
	}
	if other := NewSealer(&Master{key: [32]byte{1}}).Mark([]byte("data")); bytes.Equal(other[:], fromHex(t, marked)) {
		t.Error("another master key makes the same mark")
	}
}

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
