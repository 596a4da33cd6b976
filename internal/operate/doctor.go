package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	What    string   `json:"what"`
	OK      bool     `json:"ok"`
	Detail  string   `json:"detail"`
	Damages []string `json:"damages,omitempty"` // all of them, where there may be several
}

// doctor gathers findings.
type doctor struct {
	cfg    installation.Settings
	ring   *secret.Keyring // nil: it cannot be read
	sealer *secret.Sealer  // nil: there are no keys, and what is sealed cannot be opened
	Checks
	beside   bool // what takes the longer the more there is, is left out (Examine)
	findings []Finding
}

// Checks say what Doctor does beyond what it always does.
type Checks struct {
	Deep       bool // read every content and compare its digest
	MendCounts bool // raise counts by the hour that are too low
}

func (d *doctor) add(what, good string, err error) {
	f := Finding{What: what, OK: err == nil, Detail: good}
	if err != nil {
		f.Detail = err.Error()
	}
	d.findings = append(d.findings, f)
}

// addDamages is add for what may have several damages. err: it could not be looked at.
func (d *doctor) addDamages(what, good string, damages []string, err error) {
	if err != nil || len(damages) == 0 {
		d.add(what, good, err)
		return
	}
	detail := "1 is wrong"
	if len(damages) > 1 {
		detail = fmt.Sprintf("%d are wrong", len(damages))
	}
	d.findings = append(d.findings, Finding{What: what, Detail: detail, Damages: damages})
}

// Doctor checks an installation, beside a running server or without one, and changes nothing but what it is asked to
// mend. It reports all that is wrong, not the first problem only.
func Doctor(ctx context.Context, cfg installation.Settings, checks Checks) []Finding {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return []Finding{{What: "settings", Detail: err.Error()}}
	}
	d := &doctor{cfg: cfg, Checks: checks}
	if d.directory() {
		d.masterKey()
		d.rows(ctx)
		d.disk()
		d.confinement()
		if cfg.Engine == installation.EngineTemporal {
			good, err := checkTemporal(ctx, d.cfg)
			d.add("Temporal", good, err)
		}
	}
	return d.findings
}

// Examine is Doctor from within a server that runs, over its own rows. It leaves out what takes the longer the more
// there is: the structure of the database, the contents, the counts by the hour, and how much is encrypted.
func Examine(ctx context.Context, cfg installation.Settings, rows *store.Store) []Finding {
	d := &doctor{cfg: cfg, beside: true}
	if d.directory() {
		d.masterKey()
		if cfg.DatabaseURL == "" {
			d.log(sqlite.LogBytes(filepath.Join(cfg.DataDir, installation.DatabaseName)))
		}
		d.state(ctx, rows)
		d.disk()
		d.confinement()
	}
	return d.findings
}

// directory looks at the data directory; false: there is none.
func (d *doctor) directory() bool {
	info, err := os.Stat(d.cfg.DataDir)
	if err == nil && !info.IsDir() {
		err = errors.New(d.cfg.DataDir + " is not a folder")
	}
	if err != nil {
		d.add("data directory", "", err)
		return false
	}
	open, err := d.cfg.OpenToOthers()
	d.addDamages("data directory", d.cfg.DataDir+", closed to others", open, err)
	return true
}

func (d *doctor) masterKey() {
	ring, err := secret.Load(d.cfg.MasterKeyFile)
	good := d.cfg.MasterKeyFile
	if err == nil {
		good = fmt.Sprintf("%s, with %s as the current one", good, ring.Current().ID())
	}
	d.add("master key", good, err)
	d.ring = ring
}

// rows looks at the database, and at everything that is judged by what it holds.
func (d *doctor) rows(ctx context.Context) {
	var rows *store.Store
	var err error
	if d.cfg.DatabaseURL != "" {
		rows, err = d.cfg.OpenBeside(ctx)
		d.add("database", "it can be reached", err)
	} else {
		rows = d.openSQLite(ctx)
	}
	if rows == nil || err != nil {
		return
	}
	defer rows.Close()
	d.state(ctx, rows)
}

// state is what the rows of a database say.
func (d *doctor) state(ctx context.Context, rows *store.Store) {
	if d.ring != nil { // else told already
		d.keys(ctx, rows)
	}
	err := rows.View(ctx, installation.CheckMoved)
	d.add("store move", "the database was not left by one", err)
	if !d.beside {
		d.contents(ctx, rows)
		d.counts(ctx, rows)
	}
	d.work(ctx, rows)
	d.standbys(ctx, rows)
	d.memories(ctx, rows)
}

// openSQLite looks at the file of the database before it opens it: opening makes one where there is none.
func (d *doctor) openSQLite(ctx context.Context) *store.Store {
	path := filepath.Join(d.cfg.DataDir, installation.DatabaseName)
	state, err := sqlite.Inspect(path)
	switch {
	case err != nil:
		d.add("database", "", err)
		return nil
	case state.Schema == 0:
		err := d.cfg.CheckLoss()
		if err == nil {
			err = fmt.Errorf("there is no database in %s", d.cfg.DataDir)
		}
		d.add("database", "", err)
		return nil
	case state.Schema < state.Known:
		d.add("database", fmt.Sprintf("it has schema %d, and this program works with %d: the next `chargehand serve` brings it up to date; "+
			"nothing that it holds can be checked before", state.Schema, state.Known), nil)
		return nil
	}
	db, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		d.add("database", "", err)
		return nil
	}
	damages, err := db.Damages(ctx)
	d.addDamages("database", "its structure is sound", damages, err)
	d.log(state.LogBytes)
	return store.New(db)
}

// longLog is the length of a write-ahead log that says that something keeps it from being cut.
const longLog = 256 << 20

func (d *doctor) log(length int64) {
	text := fmt.Sprintf("%d bytes in %s-wal", length, installation.DatabaseName)
	if length > longLog {
		d.add("write-ahead log", "", fmt.Errorf("%s: something reads the database for a very long time, or no server runs that would cut it", text))
		return
	}
	d.add("write-ahead log", text, nil)
}

// keys compares the master key file with the keys of the installation.
func (d *doctor) keys(ctx context.Context, rows *store.Store) {
	state, err := keyring.Inspect(ctx, rows, d.ring, d.cfg.MasterKeyFile, d.cfg.DatabaseFolder(), time.Now())
	d.add("master key of the database", fmt.Sprintf("the %d keys of the installation open with it", state.Keys), err)
	if err != nil {
		return
	}
	if !d.beside {
		d.encryption(ctx, rows)
	}
	older := strings.Join(state.Older, ", ")
	switch {
	case len(state.Older) == 0:
		d.add("older master keys", "there are none", nil)
	case len(state.Needs) == 0:
		d.add("older master keys", "nothing needs "+older+": `chargehand secrets rotate-master-key --finish` removes it", nil)
	default:
		d.addDamages("older master keys", "", state.Needs, nil)
	}
}

// clearRows is how many values in clear are listed of each kind.
const clearRows = 20

// encryption tells what is encrypted. What is not is wrong only where the setting refuses it.
func (d *doctor) encryption(ctx context.Context, rows *store.Store) {
	keys, err := keyring.Read(ctx, rows, d.ring)
	if errors.Is(err, store.ErrNotFound) { // no server has begun
		return
	}
	var share store.SealedShare
	var found []string
	if err == nil {
		if d.sealer = secret.NewSealer(keys); d.cfg.Encrypt == installation.EncryptOnly {
			d.sealer.RefuseClear()
		}
		err = rows.View(ctx, func(r *store.Reader) (err error) {
			if share, err = r.SealedShare(); err == nil && d.cfg.Encrypt == installation.EncryptOnly {
				found, err = r.ClearRows(clearRows)
			}
			return err
		})
	}
	d.addDamages("encryption", share.String(), found, err)
}

// work tells what waits. It is never wrong by itself.
func (d *doctor) work(ctx context.Context, rows *store.Store) {
	var work Work
	err := rows.View(ctx, func(r *store.Reader) (err error) {
		work, err = ReadWork(r, d.cfg.Engine == installation.EngineTemporal, time.Now())
		return err
	})
	d.add("work", work.String(), err)
}

// standbys tells what waits to take over, where one server works and others may wait.
func (d *doctor) standbys(ctx context.Context, rows *store.Store) {
	if d.cfg.DatabaseURL == "" || d.cfg.Engine == installation.EngineTemporal {
		return
	}
	var list []store.Standby
	err := rows.View(ctx, func(r *store.Reader) (err error) {
		list, err = r.Standbys()
		return err
	})
	d.add("standby", nameStandbys(list), err)
}

// nameStandbys names them all. Since when one waits is left out where the database does not tell it to its user.
func nameStandbys(list []store.Standby) string {
	if len(list) == 0 {
		return "none waits to take over"
	}
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Name
		if one.SinceMs != 0 {
			names[i] += ", since " + time.UnixMilli(one.SinceMs).UTC().Format(time.RFC3339)
		}
	}
	return strings.Join(names, "; ")
}

// memories tells what the installation remembers of its backups and of the clock.
func (d *doctor) memories(ctx context.Context, rows *store.Store) {
	backup, clock := "made with PostgreSQL's own tools, so nothing is known of them here", "no step was seen"
	err := rows.View(ctx, func(r *store.Reader) error {
		if d.cfg.DatabaseURL == "" {
			at, err := r.Meta(installation.MetaBackup)
			switch {
			case errors.Is(err, store.ErrNotFound):
				backup = "none was made with `chargehand backup`"
			case err != nil:
				return err
			default:
				backup = "the last one that `chargehand backup` made is of " + string(at)
			}
		}
		data, err := r.Meta(installation.MetaClock)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		var step installation.ClockStep
		if err == nil {
			err = json.Unmarshal(data, &step)
		}
		if err == nil {
			clock = fmt.Sprintf("a server saw it step by %s at %s", time.Duration(step.ByMs)*time.Millisecond, step.At.UTC().Format(time.RFC3339))
		}
		return err
	})
	if err != nil {
		d.add("backups", "", err)
		return
	}
	d.add("backups", backup, nil)
	d.add("clock", clock, nil)
}

// A disk is nearly full when less than leastFree and less than one part in leastPart of it is left.
const (
	leastFree = 256 << 20
	leastPart = 20
)

func (d *doctor) disk() {
	free, total, err := disk.Free(d.cfg.DataDir)
	text := fmt.Sprintf("%d of %d MiB are free", free>>20, total>>20)
	if err == nil && free < min(leastFree, total/leastPart) {
		err = fmt.Errorf("%s where %s is: when none is left, writes are refused", text, d.cfg.DataDir)
	}
	d.add("disk", text, err)
}

// capabilities are those of this machine, which are tried out with a process: once is enough.
var capabilities = sync.OnceValue(process.Capabilities)

// confinement reports how far this machine can keep processes of workflows apart, as seen by the
// user and in the cgroup of doctor itself. What is missing is a note: the installation works without it.
func (d *doctor) confinement() {
	for _, fact := range capabilities().Facts() {
		if !fact.OK {
			fact.Detail = "note: " + fact.Detail + "; " + fact.Remedy
		}
		d.add(fact.What, fact.Detail, nil)
	}
}
