package disk

import (
	"errors"
	"log/slog"
	"testing"
)

func TestReserve(t *testing.T) {
	type space struct{ free, total uint64 }
	var now map[string]space
	probe := func(path string) (uint64, uint64, error) {
		if s, ok := now[path]; ok {
			return s.free, s.total, nil
		}
		return 0, 0, errors.New("no such disk")
	}
	const gib = 1 << 30
	r := NewReserve(slog.New(slog.DiscardHandler), probe, "a", "b")
	for name, one := range map[string]struct {
		disks map[string]space
		low   bool
	}{
		"room":                     {map[string]space{"a": {gib, 100 * gib}, "b": {gib, 10 * gib}}, false},
		"large disk below 512 MiB": {map[string]space{"a": {512<<20 - 1, 1000 * gib}}, true},
		"large disk at 512 MiB":    {map[string]space{"a": {512 << 20, 1000 * gib}}, false},
		"small disk below 5 %":     {map[string]space{"a": {40 << 20, gib}}, true},
		"small disk above 5 %":     {map[string]space{"a": {60 << 20, gib}}, false},
		"the second disk":          {map[string]space{"a": {gib, 2 * gib}, "b": {0, gib}}, true},
		"cannot be asked":          {nil, false},
	} {
		now = one.disks
		if r.Check() != one.low || r.Low() != one.low {
			t.Errorf("%s: low is %t, want %t", name, r.Low(), one.low)
		}
	}
	var none *Reserve
	if none.Check() || none.Low() {
		t.Error("a nil reserve is low")
	}
}

// TestFree asks the disk of the test.
func TestFree(t *testing.T) {
	free, total, err := Free(t.TempDir())
	if err != nil || total == 0 || free > total {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
}
