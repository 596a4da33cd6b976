package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// integrityEvery lies between two looks at the structure of the database.
const integrityEvery = 24 * time.Hour

// integrityPause lies before another check where one was interrupted.
const integrityPause = 10 * time.Minute

// maxLoggedDamages bounds the lines of one check; doctor lists all.
const maxLoggedDamages = 20

// unclosed reports whether the database was not closed in good order: the process that closes it last
// leaves no log. It is asked before anything opens the database.
func (c Config) unclosed() bool {
	info, err := os.Stat(filepath.Join(c.DataDir, installation.DatabaseName+"-wal"))
	return err == nil && info.Size() > 0
}

// watchIntegrity looks through the database at once if it was not closed in good order the last time, and once a day,
// beside everything else, until ctx ends.
func (a *App) watchIntegrity(ctx context.Context, db *sqlite.DB) {
	next := integrityEvery
	if a.unclean {
		a.log.Info("the database was not closed in good order: its structure is checked beside the work")
		next = 0
	}
	for {
		if pause.For(ctx, next) != nil {
			return
		}
		next = integrityEvery
		began := time.Now()
		damages, err := db.TableDamages(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrUnavailable): // interrupted for the sake of writers (logKeeper)
			a.log.Info("the structure of the database could not be checked now; it is tried again", "error", err, "in", integrityPause.String())
			next = integrityPause
		case err != nil:
			a.log.Error("the structure of the database cannot be checked", "error", err)
		case len(damages) == 0:
			a.log.Info("the structure of the database is sound", "seconds", time.Since(began).Round(time.Millisecond).Seconds())
		}
		a.tellDamages(damages)
	}
}

// tellDamages says in the log what is wrong with the database.
func (a *App) tellDamages(damages []string) {
	for i, damage := range damages {
		if i == maxLoggedDamages {
			a.log.Error("the database is damaged in more places: run `chargehand doctor`", "damages", len(damages))
			return
		}
		a.log.Error("the database is damaged: stop the server and restore a backup, or see `chargehand doctor`", "damage", damage)
	}
}
