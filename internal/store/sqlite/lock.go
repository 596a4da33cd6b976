package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/chargehand/chargehand/internal/store"
)

// takeLock takes the lock beside the file, and waits a moment for a process that only brings
// the schema up to date. The lock is a file of its own, because SQLite's locks on the
// database would be lost when any other handle on it is closed.
func (db *DB) takeLock(atMost time.Duration) error {
	name := db.path + ".lock"
	lock := flock.New(name, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	held, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w%s; stop it first, or use another data directory", store.ErrLocked, ownerOf(name))
	}
	if err != nil || !held {
		return unavailable(fmt.Errorf("lock %s: %v", name, err))
	}
	db.lock = lock
	return writable(name)
}

// writable tells what is wrong with a directory that cannot be written, where SQLite only
// says that it cannot open its files.
func writable(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return unavailable(err)
	}
	return file.Close()
}

// sign writes the number of this process into the lock file, for the message to a second
// one. The lock does not depend on it.
func (db *DB) sign() {
	_ = os.WriteFile(db.lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

func (db *DB) unlock() error {
	if db.lock == nil {
		return nil
	}
	err := db.lock.Unlock()
	db.lock = nil
	return err
}

// ownerOf names the process that wrote its number into the lock file.
func ownerOf(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	if _, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return ""
	}
	return " (process " + strings.TrimSpace(string(text)) + ")"
}
