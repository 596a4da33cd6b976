package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// tinyDisk mounts a file system of that many bytes, which only root may do.
func tinyDisk(t *testing.T, bytes int) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		peer.Skip(t, "mounting a small file system needs Linux and root; TestFullDatabase covers the rest")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		peer.Skip(t, "mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestFullDisk fills the disk from several goroutines: what was acknowledged is there,
// nothing else is, reads continue, and writes do when there is room again.
func TestFullDisk(t *testing.T) {
	dir := tinyDisk(t, 3<<20)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "data.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var mu sync.Mutex
	kept := map[string]bool{}
	fill := func(phase string) {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for n := range 1000 {
					name := fmt.Sprint(phase, i, " ", n)
					err := store.New(db).Update(context.Background(), func(tx *store.Tx) error {
						return errors.Join(tx.SetMeta(name, make([]byte, 5000)), tx.SetMeta(name+" too", []byte{}))
					})
					if errors.Is(err, store.ErrUnavailable) {
						return
					}
					if err != nil {
						t.Errorf("on a full disk: %v, want ErrUnavailable", err)
						return
					}
					mu.Lock()
					kept[name] = true
					mu.Unlock()
				}
				t.Error("the disk was never full")
			})
		}
		wg.Wait()
	}
	check := func(when string) {
		names := metaNames(t, db)
		for name := range kept {
			if !names[name] || !names[name+" too"] {
				t.Errorf("%s: %q was acknowledged and is gone", when, name)
			}
		}
		if len(names) != 2*len(kept) {
			t.Errorf("%s: %d rows for %d acknowledged updates of two", when, len(names), len(kept))
		}
	}
	fill("first ")
	check("when full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before := len(kept)
	fill("second ")
	check("when full again")
	if before == 0 || len(kept) <= before {
		t.Errorf("%d writes before the disk was full and %d after there was room again", before, len(kept)-before)
	}
	storetest.CheckInvariants(t, db)
}

// TestReadOnlyDisk opens databases on a file system that cannot be written to.
func TestReadOnlyDisk(t *testing.T) {
	dir := tinyDisk(t, 4<<20)
	path := filepath.Join(dir, "data.db")
	db, err := sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(setMeta(db, "before"), db.Close()); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	for _, owner := range []bool{true, false} {
		for _, name := range []string{"data.db", "new.db"} {
			db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, name), Owner: owner})
			if err == nil { // a guest may look at it, but not write
				err = setMeta(db, "never")
				db.Close()
			}
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s, owner %v: %v, want ErrUnavailable", name, owner, err)
			}
		}
	}
	remount(0)
	db, err = sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if err != nil {
		t.Fatalf("when it can be written to again: %v", err)
	}
	defer db.Close()
	if err := setMeta(db, "after"); err != nil {
		t.Error(err)
	}
	if names := metaNames(t, db); len(names) != 2 || !names["before"] || !names["after"] {
		t.Errorf("rows %v, want before and after", names)
	}
}
