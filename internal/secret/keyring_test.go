package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

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
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("file has mode %v (%v), want 0600", info.Mode(), err)
	}
	again, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(again) || len(first.IDs()) != 1 {
		t.Error("the second start has another key than the first")
	}
	other, err := LoadOrCreate(filepath.Join(t.TempDir(), "k"))
	if err != nil || other.Equal(first) || other.Current().ID() == first.Current().ID() {
		t.Errorf("two installations share a key (%v)", err)
	}
	noneLeft(t, path)
}

func noneLeft(t *testing.T, path string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".master-key-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	var rings [8]*Keyring
	var wg sync.WaitGroup
	for i := range rings {
		wg.Go(func() {
			var err error
			if rings[i], err = LoadOrCreate(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, ring := range rings {
		if ring != nil && !ring.Equal(rings[0]) {
			t.Fatal("concurrent starts made different keys")
		}
	}
}

// TestKeyringForever: what is in files and databases is read by later versions.
func TestKeyringForever(t *testing.T) {
	const text = "chargehand-keyring 1\n# about\n\n" +
		"c145510d 2026-01-31T12:00:00Z 0000000000000000000000000000000000000000000000000000000000000000\n" +
		"ab01e4eb - 0100000000000000000000000000000000000000000000000000000000000000\n"
	ring, err := ParseKeyring([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if current := ring.Current(); current.key[0] != 1 || !current.Created().IsZero() || !ring.masters[0].Created().Equal(noon) {
		t.Errorf("read %+v", ring.IDs())
	}
	again, err := ParseKeyring(ring.encode())
	if err != nil || !again.Equal(ring) || !slices.Equal(again.IDs(), []string{"c145510d", "ab01e4eb"}) {
		t.Errorf("written and read again: %v, %v", again.IDs(), err)
	}
	// 32 bytes alone are a keyring, too: `head -c 32 /dev/urandom` makes one.
	raw, err := ParseKeyring(make([]byte, 32))
	if err != nil || raw.Current().ID() != "c145510d" {
		t.Errorf("32 bytes: %v", err)
	}
	const wrapped = "29d6373c839705f5ae54c0b1d1235ae6d62d2ceed4744e1c8d23d3a89c73a7957609e482a9f8cf011cb1d638b7589db8bd6c6772a24c6965186d6781"
	key := &Key{Number: 4, Purpose: Data}
	if err := raw.Current().Unwrap(key, fromHex(t, wrapped)); err != nil || key.key != [32]byte{7} {
		t.Errorf("unwrapped %x, %v", key.key, err)
	}
}

func TestWrap(t *testing.T) {
	ring := NewKeyring(noon)
	key := NewKey(3, Data, 1, 2)
	wrapped := ring.Current().Wrap(key)
	if bytes.Contains(wrapped, key.key[:8]) {
		t.Error("the key is readable")
	}
	open := func(m *Master, number uint32, purpose Purpose, wrapped []byte) error {
		got := &Key{Number: number, Purpose: purpose}
		err := m.Unwrap(got, wrapped)
		if err == nil && got.key != key.key {
			t.Error("another key was unwrapped")
		}
		return err
	}
	if err := open(ring.Current(), 3, Data, wrapped); err != nil {
		t.Error(err)
	}
	damaged := bytes.Clone(wrapped)
	damaged[20] ^= 1
	for what, err := range map[string]error{
		"another number":     open(ring.Current(), 4, Data, wrapped),
		"another purpose":    open(ring.Current(), 3, Filters, wrapped),
		"damaged":            open(ring.Current(), 3, Data, damaged),
		"cut off":            open(ring.Current(), 3, Data, wrapped[:30]),
		"another master key": open(ring.Add(noon).Current(), 3, Data, wrapped),
	} {
		if !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestKeyringChanges(t *testing.T) {
	one := NewKeyring(noon)
	two := one.Add(noon)
	if len(one.IDs()) != 1 || len(two.IDs()) != 2 || two.Master(one.Current().ID()) == nil || two.Current() == one.Current() {
		t.Errorf("after Add: %v and %v", one.IDs(), two.IDs())
	}
	if last := two.CurrentOnly(); len(last.IDs()) != 1 || last.Current() != two.Current() {
		t.Errorf("the current one alone: %v of %v", last.IDs(), two.IDs())
	}
	if joined := two.CurrentOnly().Join(two); !joined.Equal(two) {
		t.Errorf("joined %v, want %v", joined.IDs(), two.IDs())
	}
}

func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	ring, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	ring = ring.Add(noon)
	if err := Save(link, ring); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || !got.Equal(ring) {
		t.Errorf("saved %v, read %v (%v)", ring.IDs(), got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v (%v)", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	noneLeft(t, path)
	if err := Save(filepath.Join(t.TempDir(), "none"), ring); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := Write(path, ring); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	line := "c145510d 2026-01-31T12:00:00Z " + strings.Repeat("00", 32) + "\n"
	cases := map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"short":            {strings.Repeat("\x00", 31), 0o600, "has 31 bytes and is no keyring"},
		"empty":            {"", 0o600, "has 0 bytes and is no keyring"},
		"long":             {strings.Repeat("\x00", 33), 0o600, "has 33 bytes and is no keyring"},
		"huge":             {strings.Repeat("x", maxKeyringBytes+1), 0o600, "at most 65536"},
		"open to everyone": {strings.Repeat("\x00", 32), 0o644, "chmod 600"},
		"newer format":     {"chargehand-keyring 2\n{}", 0o600, "a format that this version of chargehand does not know"},
		"no key":           {"chargehand-keyring 1\n# none\n", 0o600, "a keyring without a key"},
		"a key twice":      {"chargehand-keyring 1\n" + line + line, 0o600, "line 3 repeats key c145510d"},
		"another id":       {"chargehand-keyring 1\n" + strings.Replace(line, "c145", "c146", 1), 0o600, "its key has the id c145510d"},
		"cut off":          {"chargehand-keyring 1\n" + line[:60], 0o600, "line 2 has no 32 bytes"},
		"no time":          {"chargehand-keyring 1\n" + strings.Replace(line, "2026", "x", 1), 0o600, "line 2 has no time"},
		"too many fields":  {"chargehand-keyring 1\n" + strings.TrimSpace(line) + " x", 0o600, "line 2 is not an id"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadOrCreate(path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "00000000") {
				t.Errorf("the error tells a key: %v", err)
			}
		})
	}
}

func TestRedacted(t *testing.T) {
	ring := NewKeyring(noon)
	for _, v := range []any{ring, ring.Current(), NewKeys(), NewKey(1, Data, 0, 0)} {
		for _, verb := range []string{"%v", "%s", "%+v", "%#v"} {
			if got := fmt.Sprintf(verb, v); got != "[redacted]" {
				t.Errorf("%s of %T prints %s", verb, v, got)
			}
		}
	}
}
