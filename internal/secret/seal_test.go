package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"
)

// fixedKeys are always the same ones: numbers 1 to 4, each with its number as the first byte.
func fixedKeys() *Keys {
	var list []*Key
	for i, purpose := range Purposes {
		list = append(list, &Key{Number: uint32(i + 1), Purpose: purpose, key: [32]byte{byte(i + 1)}})
	}
	return CollectKeys(list)
}

func TestSeal(t *testing.T) {
	keys := NewKeys()
	s := NewSealer(keys)
	location := Location{Account: 7, Environment: 1, Name: "token", Version: 3}
	value := []byte(`"s3cret value"`)
	sealed := s.Seal(location, value)
	if len(sealed) != len(value)+SealedBytes || bytes.Contains(sealed, []byte("cret")) {
		t.Fatalf("sealed %q", sealed)
	}
	if bytes.Equal(sealed, s.Seal(location, value)) {
		t.Error("the same value was sealed the same way twice")
	}
	again := NewSealer(keys) // another process
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
	if _, err := NewSealer(NewKeys()).Open(location, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("opened with the keys of another installation: %v", err)
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
	s := NewSealer(NewKeys())
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

// TestDataKeys: a new data key seals from its time on, and what older ones have sealed still opens.
func TestDataKeys(t *testing.T) {
	keys := NewKeys()
	s := NewSealer(keys)
	location := Location{Account: 1, Environment: 1, Name: "token", Version: 1}
	old := s.Seal(location, []byte("old"))
	box := s.Execution([16]byte{1})
	more := CollectKeys(append(keys.List(), NewKey(9, Data, 1000, 2000)))
	number := func() byte { return s.Seal(location, nil)[4] }
	s.SetKeys(more, time.UnixMilli(1999))
	if n := number(); n != 4 {
		t.Errorf("before its time key %d seals", n)
	}
	s.SetKeys(more, time.UnixMilli(2000))
	if n := number(); n != 9 {
		t.Errorf("at its time key %d seals", n)
	}
	if got, err := s.Open(location, old); err != nil || string(got) != "old" {
		t.Errorf("what the old key has sealed: %q, %v", got, err)
	}
	sealed := s.Execution([16]byte{1}).Seal("event", []byte("new"))
	if got, err := box.Open("event", sealed); err != nil || string(got) != "new" {
		t.Errorf("a box from before opens %q, %v", got, err)
	}
	if _, err := NewSealer(keys).Execution([16]byte{1}).Open("event", sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("without the new key: %v", err)
	}
}

func BenchmarkBox(b *testing.B) {
	s := NewSealer(NewKeys())
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
		sealed = "0100000004a631965e802e7158b1e4efc0b1a230b82e4f6ee678e2ea34307919d60e10020f134d83"
		marked = "bab23935e0b436111d66ff14faa4ed21f5409ce8649504ab048ecbd9e3b31560"
		boxed  = "01000000048c5386945df6b39ce77074faeb190792667b4c412f00a06df4c9af32fea3e4e4"
	)
	s := NewSealer(fixedKeys())
	if got, err := s.Open(Location{Account: 1, Environment: 1, Name: "token", Version: 1}, fromHex(t, sealed)); err != nil || string(got) != `"value"` {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Execution([16]byte{15: 1}).Open("event", fromHex(t, boxed)); err != nil || string(got) != "data" {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.Mark([]byte("data")); !bytes.Equal(got[:], fromHex(t, marked)) {
		t.Errorf("a mark is %x", got)
	}
	if other := NewSealer(NewKeys()).Mark([]byte("data")); bytes.Equal(other[:], fromHex(t, marked)) {
		t.Error("another key makes the same mark")
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
