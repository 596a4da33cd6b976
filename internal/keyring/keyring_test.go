package keyring

import (
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"

	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// installation is a database and a master key file.
type installation struct {
	*testing.T
	rows   *store.Store
	file   string
	folder string
	now    time.Time
}

var tests = map[string]func(*installation){
	"open":               testOpen,
	"exchange":           testRotate,
	"exchange, cut off":  testRotateCutOff,
	"exchange, at once":  testRotateAtOnce,
	"exchange elsewhere": testRotateElsewhere,
	"data key":           testDataKey,
	"watch":              testWatch,
}

func TestSQLite(t *testing.T) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db"), Owner: true})
			if err != nil {
				t.Fatal(err)
			}
			test(newInstallation(t, db, "data"))
		})
	}
}

func TestPostgreSQL(t *testing.T) {
	server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	var schemas postgrestest.Schemas
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db, err := postgres.Open(t.Context(), postgres.Options{URL: schemas.New(t, server), Mode: postgres.Shared})
			if err != nil {
				t.Fatal(err)
			}
			test(newInstallation(t, db, ""))
		})
	}
}

func newInstallation(t *testing.T, db store.DB, folder string) *installation {
	rows := store.New(db)
	t.Cleanup(func() { rows.Close() })
	i := &installation{T: t, rows: rows, file: filepath.Join(t.TempDir(), "master.key"), folder: folder, now: time.UnixMilli(1_800_000_000_000)}
	if _, err := secret.LoadOrCreate(i.file); err != nil {
		t.Fatal(err)
	}
	return i
}

// open opens the installation with the file on the disk, as a server that starts.
func (i *installation) open() *secret.Keys {
	i.Helper()
	ring, err := secret.Load(i.file)
	if err != nil {
		i.Fatal(err)
	}
	keys, err := Open(i.Context(), i.rows, ring, i.now)
	if err != nil {
		i.Fatal(err)
	}
	return keys
}

func (i *installation) exchange() *Exchange {
	return &Exchange{Store: i.rows, File: i.file, Folder: i.folder, Now: func() time.Time { return i.now }}
}

func (i *installation) load(file string) *secret.Keyring {
	i.Helper()
	ring, err := secret.Load(file)
	if err != nil {
		i.Fatal(err)
	}
	return ring
}

func (i *installation) inspect() State {
	i.Helper()
	state, err := Inspect(i.Context(), i.rows, i.load(i.file), i.file, i.folder, i.now)
	if err != nil {
		i.Fatal(err)
	}
	return state
}

// same says whether all keys are the same ones.
func (i *installation) same(a, b *secret.Keys) {
	i.Helper()
	if a.Fingerprint() != b.Fingerprint() || len(a.List()) > len(b.List()) {
		i.Error("the installation has other keys")
	}
	for n, key := range a.List() {
		if !reflect.DeepEqual(key, b.List()[n]) {
			i.Errorf("key %d is another one", key.Number)
		}
	}
}

func testOpen(i *installation) {
	if _, err := Read(i.Context(), i.rows, i.load(i.file)); !errors.Is(err, store.ErrNotFound) {
		i.Errorf("before a server has begun: %v", err)
	}
	var all [4]*secret.Keys
	var wg sync.WaitGroup
	for n := range all {
		wg.Go(func() { all[n] = i.open() })
	}
	wg.Wait()
	for _, keys := range all {
		i.same(all[0], keys)
	}
	if state := i.inspect(); state.Keys != len(secret.Purposes) || state.Older != nil || state.Needs != nil {
		i.Errorf("a new installation needs %+v", state)
	}
	_, err := Open(i.Context(), i.rows, secret.NewKeyring(i.now), i.now)
	if !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), i.load(i.file).Current().ID()) {
		i.Errorf("with another master key: %v", err)
	}
}

// testRotate exchanges the master key, and holds every file of the way to what it must open.
func testRotate(i *installation) {
	before, old := i.open(), i.load(i.file)
	report, err := i.exchange().Rotate(i.Context(), false)
	if err != nil {
		i.Fatal(err)
	}
	ring := i.load(i.file)
	if !report.Made || report.Wrapped != len(secret.Purposes) || report.Current != ring.Current().ID() || !slices.Equal(report.Older, old.IDs()) || len(ring.IDs()) != 2 {
		i.Errorf("reported %+v, the file holds %v", report, ring.IDs())
	}
	i.same(before, i.open())
	for what, with := range map[string]*secret.Keyring{"old file": old, "new key alone": ring.CurrentOnly()} {
		keys, err := Open(i.Context(), i.rows, with, i.now)
		if err != nil {
			i.Fatalf("%s: %v", what, err)
		}
		i.same(before, keys)
	}
	if state := i.inspect(); !slices.Equal(state.Older, old.IDs()) || len(state.Needs) > 0 {
		i.Errorf("after the exchange: %+v", state)
	}
	done, err := i.exchange().Finish(i.Context())
	if err != nil || !slices.Equal(done.Removed, old.IDs()) {
		i.Fatalf("removed %+v, %v", done, err)
	}
	i.same(before, i.open())
	if got := i.load(i.file); !got.Equal(ring.CurrentOnly()) {
		i.Errorf("the file holds %v", got.IDs())
	}
	if _, err := Open(i.Context(), i.rows, old, i.now); !errors.Is(err, ErrWrong) {
		i.Errorf("with the old file: %v", err)
	}
	if again, err := i.exchange().Finish(i.Context()); err != nil || len(again.Removed) > 0 {
		i.Errorf("a second end: %+v, %v", again, err)
	}
}

// testRotateCutOff ends an exchange after every durable step. The file opens the installation each time, and
// repeating the command completes it, without a master key more.
func testRotateCutOff(i *installation) {
	killed := errors.New("killed")
	at := func(x *Exchange, step string) *Exchange {
		x.done = func(done string) error {
			if done == step {
				return killed
			}
			return nil
		}
		return x
	}
	before := i.open()
	for _, step := range []string{"file", "wrapped"} {
		if _, err := at(i.exchange(), step).Rotate(i.Context(), false); !errors.Is(err, killed) {
			i.Fatalf("cut off after %s: %v", step, err)
		}
		i.same(before, i.open())
		if step == "file" {
			if _, err := i.exchange().Finish(i.Context()); !errors.Is(err, ErrNeeded) {
				i.Errorf("the end before the exchange: %v", err)
			}
			ring := i.load(i.file)
			report, err := i.exchange().Rotate(i.Context(), false)
			if err != nil || report.Made || report.Wrapped != len(secret.Purposes) || !i.load(i.file).Equal(ring) {
				i.Errorf("repeated: %+v, %v", report, err)
			}
			i.same(before, i.open())
		}
	}
	for _, step := range []string{"unwrapped", "file"} {
		if _, err := i.exchange().Rotate(i.Context(), false); err != nil {
			i.Fatal(err)
		}
		if _, err := at(i.exchange(), step).Finish(i.Context()); !errors.Is(err, killed) {
			i.Fatalf("cut off after %s: %v", step, err)
		}
		i.same(before, i.open())
		if _, err := i.exchange().Finish(i.Context()); err != nil {
			i.Fatal(err)
		}
		i.same(before, i.open())
		if got := i.load(i.file).IDs(); len(got) != 1 {
			i.Errorf("the file holds %v", got)
		}
	}
}

// testRotateAtOnce: of two that exchange the master key at once, the second begins when the first one has ended.
func testRotateAtOnce(i *installation) {
	before := i.open()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := i.exchange().Rotate(i.Context(), false); err != nil {
				i.Error(err)
			}
		})
	}
	wg.Wait()
	i.same(before, i.open())
	if got := i.load(i.file).IDs(); len(got) != 4 {
		i.Errorf("the file holds %v, want the first key and three more", got)
	}
	if state := i.inspect(); len(state.Needs) > 0 {
		i.Errorf("needed: %v", state.Needs)
	}
}

// testRotateElsewhere: with a file that has not got the newest master key, nothing is exchanged and nothing removed.
func testRotateElsewhere(i *installation) {
	i.open()
	copied := filepath.Join(i.TempDir(), "copy")
	if err := secret.Write(copied, i.load(i.file)); err != nil {
		i.Fatal(err)
	}
	if _, err := i.exchange().Rotate(i.Context(), false); err != nil {
		i.Fatal(err)
	}
	other := i.exchange()
	other.File = copied
	_, rotated := other.Rotate(i.Context(), false)
	_, finished := other.Finish(i.Context())
	for _, err := range []error{rotated, finished} {
		if err == nil || !strings.Contains(err.Error(), "exchanged elsewhere") || !strings.Contains(err.Error(), i.load(i.file).Current().ID()) {
			i.Errorf("with the file of before: %v", err)
		}
	}
	if got := i.load(copied).IDs(); len(got) != 1 {
		i.Errorf("the file of before holds %v", got)
	}
}

func testDataKey(i *installation) {
	sealer := secret.NewSealer(i.open())
	location := secret.Location{Account: 1, Environment: 1, Name: "n", Version: 1}
	old := sealer.Seal(location, []byte("old"))
	report, err := i.exchange().Rotate(i.Context(), true)
	if err != nil || report.DataKey != uint32(len(secret.Purposes)+1) || !report.ActiveAt.Equal(i.now.Add(activeAfter)) {
		i.Fatalf("%+v, %v", report, err)
	}
	if _, err := i.exchange().Finish(i.Context()); err != nil {
		i.Fatal(err)
	}
	keys := i.open()
	sealer.SetKeys(keys, report.ActiveAt)
	sealed := sealer.Seal(location, []byte("new"))
	for text, sealed := range map[string][]byte{"old": old, "new": sealed} {
		if got, err := secret.NewSealer(keys).Open(location, sealed); err != nil || string(got) != text {
			i.Errorf("opened %q, %v", got, err)
		}
	}
}

// testWatch: a running server reads what was exchanged, says so, and keeps the old master key in place until then.
func testWatch(i *installation) {
	i.now = time.Now()
	keys := i.open()
	copied := filepath.Join(i.TempDir(), "copy")
	if err := secret.Write(copied, i.load(i.file)); err != nil {
		i.Fatal(err)
	}
	log := &logtest.Buffer{}
	w := &Watch{Store: i.rows, File: copied, Sealer: secret.NewSealer(keys), Log: slog.New(slog.NewTextHandler(log, nil)), Folder: i.folder}
	w.begin()
	scan := func() {
		i.Helper()
		if err := w.scan(i.Context()); err != nil {
			i.Fatal(err)
		}
	}
	scan()
	if _, err := i.exchange().Rotate(i.Context(), false); err != nil {
		i.Fatal(err)
	}
	scan()
	scan()
	if n := strings.Count(log.String(), "has not got the new one"); n != 1 {
		i.Errorf("the log says it %d times:\n%s", n, log)
	}
	if state := i.inspect(); len(state.Needs) != 1 || !strings.Contains(state.Needs[0], copied) {
		i.Errorf("needed: %q", state.Needs)
	}
	if _, err := i.exchange().Finish(i.Context()); !errors.Is(err, ErrNeeded) {
		i.Errorf("removed although a server needs it: %v", err)
	}
	if i.folder != "" { // in a restored copy, the row of the server does not count
		state, err := Inspect(i.Context(), i.rows, i.load(i.file), i.file, "restored", i.now)
		if err != nil || len(state.Needs) > 0 {
			i.Errorf("needed of a copy: %q, %v", state.Needs, err)
		}
	}
	if err := secret.Save(copied, i.load(i.file)); err != nil {
		i.Fatal(err)
	}
	scan()
	if !strings.Contains(log.String(), "the master key file has changed") {
		i.Errorf("the log says:\n%s", log)
	}
	if _, err := i.exchange().Finish(i.Context()); err != nil {
		i.Error(err)
	}
	w.end(i.Context())
	err := i.rows.View(i.Context(), func(r *store.Reader) error {
		list, err := r.Nodes()
		if len(list) > 0 {
			i.Errorf("after its end there are %+v", list)
		}
		return err
	})
	if err != nil {
		i.Error(err)
	}
}
