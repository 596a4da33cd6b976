package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "master.key")
	if _, err := Load(path); !errors.Is(err, ErrMissing) {
		t.Fatalf("Load before there is a file: %v, want ErrMissing", err)
	}
	first, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Fatalf("file has mode %v and %d bytes (%v), want 0600 and 32", info.Mode(), info.Size(), err)
	}
	again, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if *first != *again {
		t.Error("the second start has another key than the first")
	}
	other, err := LoadOrCreate(filepath.Join(t.TempDir(), "k"))
	if err != nil || *other == *first {
		t.Errorf("two installations share a key (%v)", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".master-key-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	var keys [8]*Master
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = LoadOrCreate(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k != nil && *k != *keys[0] {
			t.Fatal("concurrent starts made different keys")
		}
	}
}

func TestDerive(t *testing.T) {
	m := &Master{}
	pepper := m.Derive(APIKeyPepper)
	// Fixed for all time: another value would make every stored API key invalid.
	const want = "be3711ef2cfd9987f2a78b98580b8f3ee0a14b283c521b506977de5cf9bc3808"
	if got := hex.EncodeToString(pepper); got != want {
		t.Errorf("pepper of the zero key is %s, want %s", got, want)
	}
	if bytes.Equal(pepper, m.Derive(LinkSignature)) {
		t.Error("two purposes share a key")
	}
	if !bytes.Equal(pepper, m.Derive(APIKeyPepper)) {
		t.Error("derivation is not stable")
	}
	other := &Master{key: [32]byte{1}}
	if bytes.Equal(pepper, other.Derive(APIKeyPepper)) {
		t.Error("the derived key does not depend on the master key")
	}
}

func TestLoadRefuses(t *testing.T) {
	cases := map[string]struct {
		content []byte
		mode    os.FileMode
		want    string
	}{
		"short":            {make([]byte, 31), 0o600, "31 bytes instead of 32"},
		"empty":            {nil, 0o600, "0 bytes instead of 32"},
		"long":             {make([]byte, 33), 0o600, "33 bytes instead of 32"},
		"open to everyone": {make([]byte, 32), 0o644, "chmod 600"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(path, c.content, c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := LoadOrCreate(path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRedacted(t *testing.T) {
	m := &Master{key: [32]byte{0xab, 0xcd}}
	for _, verb := range []string{"%v", "%s", "%+v", "%#v"} {
		if got := fmt.Sprintf(verb, m); got != "[redacted]" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}
