package app

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// waitedFor is a database for which other processes wait.
type waitedFor struct {
	store.DB
	standbys []store.Standby
}

type waitedForConn struct {
	store.Conn
	standbys []store.Standby
}

func (w waitedFor) View(ctx context.Context, fn func(store.Conn) error) error {
	return w.DB.View(ctx, func(c store.Conn) error { return fn(waitedForConn{c, w.standbys}) })
}

func (c waitedForConn) Standbys() ([]store.Standby, error) { return c.standbys, nil }

// TestProcessesThatWork: a process that was killed leaves its row, and so does one that has lost the database to
// another one and waits for it again.
func TestProcessesThatWork(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	long := strings.Repeat("pod-", 20) + "abc (process 1)"
	rows := store.New(waitedFor{db, []store.Standby{
		{Name: "deposed", SinceMs: ago(2 * time.Minute)}, {Name: store.StandbyName(long), SinceMs: ago(2 * time.Minute)},
		{Name: "namesake", SinceMs: ago(2 * time.Minute)}, {Name: "hidden"}, {Name: "twin", SinceMs: ago(5 * time.Second)},
	}})
	for i, n := range []store.Node{
		{Name: "works", SeenMs: ago(time.Second)},
		{Name: "namesake", SeenMs: ago(2 * time.Second)}, // works on another machine of that name
		{Name: "twin", SeenMs: ago(50 * time.Second)},    // so does it, and says so once a minute
		{Name: "deposed", SeenMs: ago(150 * time.Second)},
		{Name: long, SeenMs: ago(150 * time.Second)},
		{Name: "killed", SeenMs: ago(keyring.AliveTime + time.Minute)},
	} {
		n.ID[0] = byte(i)
		if err := rows.Update(t.Context(), func(tx *store.Tx) error { return tx.PutNode(&n) }); err != nil {
			t.Fatal(err)
		}
	}
	names := func(url string) (list []string) {
		var processes []service.SystemProcess
		s := &system{cfg: Config{Settings: installation.Settings{DatabaseURL: url}}}
		err := rows.View(t.Context(), func(r *store.Reader) (err error) {
			processes, err = s.processes(r, now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range processes {
			if p.Standby {
				p.Name += " waits"
			}
			list = append(list, p.Name)
		}
		return list
	}
	waiting := []string{"deposed waits", store.StandbyName(long) + " waits", "namesake waits", "hidden waits", "twin waits"}
	if got, want := names("postgres://db.example.com/x"), append([]string{"works", "namesake", "twin"}, waiting...); !slices.Equal(got, want) {
		t.Errorf("of several servers: %q, want %q", got, want)
	}
	// The server of a data directory writes its row when something changes, and keeps it.
	if got := names(""); len(got) != 6+len(waiting) {
		t.Errorf("of a data directory: %q", got)
	}
}
