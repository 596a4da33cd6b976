package keyring

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// watchTime lies between two looks at the file and the database.
	watchTime = 10 * time.Second
	// announceTime is how often a process writes its row, where there are several.
	announceTime = time.Minute
	// AnnouncedWithin is the longest time between two of these writes.
	AnnouncedWithin = announceTime + watchTime
	leaveTime       = time.Second
)

// Watch has the keys of the installation of a running server, and keeps them up to date.
type Watch struct {
	Store  *store.Store
	File   string         // the master key file
	Sealer *secret.Sealer // gets the keys; may be nil
	Log    *slog.Logger
	// Folder is the data directory with the database, on which one server at a time works: then nothing is written while
	// nothing changes. Empty: the database is elsewhere, and several servers may work on it.
	Folder string
	// Reads: nothing is written, because another server owns the database.
	Reads bool

	node      store.Node
	ring      *secret.Keyring
	file      os.FileInfo
	announced time.Time
	warned    string // what was logged last
}

// Run looks at the file and the database, until ctx ends. Then it takes the row of this process away.
func (w *Watch) Run(ctx context.Context) {
	w.begin()
	defer w.end(ctx)
	ticker := time.NewTicker(watchTime)
	defer ticker.Stop()
	for {
		if err := w.scan(ctx); err != nil && ctx.Err() == nil {
			w.tell("the keys of the installation cannot be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *Watch) begin() {
	rand.Read(w.node.ID[:])
	w.node.Name = ProcessName()
	if w.Folder != "" {
		w.node.Name = folderName(w.Folder)
	}
	var err error
	if w.node.File, err = filepath.Abs(w.File); err != nil {
		w.node.File = w.File
	}
}

// ProcessName names this process for people: its host and its number there.
func ProcessName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	return fmt.Sprintf("%s (process %d)", host, os.Getpid())
}

// folderName names the server of a data directory. It tells its row from the one in a restored copy of the database.
func folderName(folder string) string {
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	return "of " + folder
}

// end takes the row of this process away, or leaves it to be forgotten later.
func (w *Watch) end(ctx context.Context) {
	if w.Reads {
		return
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = w.Store.Update(leaving, func(tx *store.Tx) error { return tx.DeleteNode(w.node.ID) })
}

// scan reads what has changed.
func (w *Watch) scan(ctx context.Context) error {
	if err := w.readFile(); err != nil {
		return err
	}
	var wrapped []store.WrappedKey
	err := w.Store.View(ctx, func(r *store.Reader) (err error) {
		wrapped, err = r.WrappedKeys()
		return err
	})
	if err != nil {
		return err
	}
	keys, err := unwrap(wrapped, w.ring)
	if err != nil {
		return err
	}
	if w.Sealer != nil && len(keys.Lacks()) == 0 {
		w.Sealer.SetKeys(keys, time.Now())
	}
	if lacks := lacking(wrapped, w.ring); len(lacks) > 0 {
		w.tell("the master key was exchanged, and the file of this server has not got the new one: copy the file from the server "+
			"where that was done; once the old master key is removed, this server could not start",
			"file", w.File, "lacks", strings.Join(lacks, ", "))
	} else {
		w.warned = ""
	}
	return w.announce(ctx)
}

// readFile reads the file if it is another one than before.
func (w *Watch) readFile() error {
	info, err := os.Stat(w.File)
	if err != nil {
		return err
	}
	if w.file != nil && os.SameFile(w.file, info) && w.file.ModTime().Equal(info.ModTime()) && w.file.Size() == info.Size() {
		return nil
	}
	ring, err := secret.Load(w.File)
	if err != nil {
		return err
	}
	if w.ring != nil && !ring.Equal(w.ring) {
		w.Log.Info("the master key file has changed", "file", w.File, "current", ring.Current().ID(), "keys", len(ring.IDs()))
	}
	w.ring, w.file = ring, info
	return nil
}

// announce says what this process knows, for those who want to remove an older master key.
func (w *Watch) announce(ctx context.Context) error {
	now := time.Now()
	if w.Reads {
		return nil
	}
	if slices.Equal(w.node.Masters, w.ring.IDs()) && (w.Folder != "" || now.Sub(w.announced) < announceTime) {
		return nil
	}
	w.node.Masters, w.node.SeenMs = w.ring.IDs(), now.UnixMilli()
	err := w.Store.Update(ctx, func(tx *store.Tx) error {
		before := now.Add(-24 * time.Hour).UnixMilli()
		if w.Folder != "" {
			before = w.node.SeenMs // those of processes that have ended
		}
		if err := tx.DeleteNodes(before); err != nil {
			return err
		}
		return tx.PutNode(&w.node)
	})
	if err != nil {
		w.node.Masters = nil
		return err
	}
	w.announced = now
	return nil
}

// tell warns of something once, until something else is to be said.
func (w *Watch) tell(text string, args ...any) {
	said := fmt.Sprint(append([]any{text}, args...)...)
	if said == w.warned {
		return
	}
	w.warned = said
	w.Log.Warn(text, args...)
}
