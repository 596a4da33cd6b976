package move

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// Request says what Run moves where.
type Request struct {
	From              string // data directory
	FromMasterKeyFile string // default: master.key in it
	FromFilesURL      string // default: files in it
	To                string // postgres://…
	ToFilesURL        string // s3://… or file:///…; default: the files are left where they are
	MasterKeyFile     string // of the new installation; default: the key is left where it is
	Log               *slog.Logger
	// Progress is called often with how far the move is, from one goroutine at a time. Nil: no call.
	Progress func(Step)

	pageRows int          // default movePageRows
	written  func() error // called after each transaction in the target; its error ends the move
}

// Step is how far a part of a move is.
type Step struct {
	Part        string // a table, or "files"
	Compare     bool   // the part is compared, not copied
	Done, Total int64  // rows or files
}

// Report says what was moved, and how the new installation is.
type Report struct {
	Tables      int
	Rows        int64 // copied by this run; fewer than Compared, if it continued an earlier one
	CopyTime    time.Duration
	Compared    int64
	CompareTime time.Duration
	Files       int64 // contents that rows refer to
	FileBytes   int64
	FilesTime   time.Duration
	FilesLeft   bool // they are where they were
	Findings    []operate.Finding
	Serve       []string // the flags of `chargehand serve`; a password is not repeated
}

// Run takes the installation in a data directory, which no server may work on, into an empty
// PostgreSQL database, and its files to another place. Cut off at any moment, it continues from
// where it was when it is run again. Nothing is written before everything was looked at; the
// source is changed only at the end, after every table was compared: then it cannot be served
// any more, and from then on the target can. Errors: *installation.SettingError; store.ErrLocked;
// store.ErrUnavailable.
func Run(ctx context.Context, what Request) (report Report, err error) {
	m := &move{Request: what}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return report, err
	}
	// One transaction, which keeps out every process that might change the source meanwhile, such
	// as one that makes a key. The mark is all that it writes.
	err = m.source.Update(ctx, func(c store.Conn) error { return m.run(ctx, c) })
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, blob.ErrUnavailable) {
		err = fmt.Errorf("%w; run the same move again to continue", err)
	}
	if err != nil {
		return m.report, err
	}
	if err := m.finish(context.WithoutCancel(ctx)); err != nil {
		return m.report, err
	}
	m.close()
	m.report.Findings = operate.Doctor(ctx, m.new, operate.Checks{})
	return m.report, nil
}

// move is a move that is under way.
type move struct {
	Request
	new       installation.Settings // of the new installation
	fromFiles blob.Location
	toFiles   blob.Location
	left      bool // files stay where they are
	ring      *secret.Keyring
	id        string // of the source
	mark      installation.Mark
	source    *sqlite.DB
	target    *postgres.DB
	loader    *postgres.Loader
	tables    []store.Table // as the target describes them
	from, to  *blob.Store   // to is nil if the files stay
	report    Report
}

func (m *move) close() {
	if m.loader != nil {
		m.loader.Close()
	}
	for _, b := range []*blob.Store{m.from, m.to} {
		if b != nil {
			b.Close()
		}
	}
	if m.target != nil {
		m.target.Close()
	}
	if m.source != nil {
		m.source.Close()
	}
	m.loader, m.from, m.to, m.target, m.source = nil, nil, nil, nil, nil
}

// prepare looks at everything that can be wrong before anything is written.
func (m *move) prepare(ctx context.Context) error {
	if err := m.settings(); err != nil {
		return err
	}
	if err := m.readKeyring(); err != nil {
		return err
	}
	var err error
	if m.source, err = openSource(m.From, m.Log); err != nil {
		return err
	}
	if err := m.identify(ctx); err != nil {
		return err
	}
	if err := m.openTarget(ctx); err != nil {
		return err
	}
	if err := m.openFiles(ctx); err != nil {
		return err
	}
	m.loader, err = m.target.Load(ctx)
	return err
}

// openTarget connects, without becoming an owner, and so without bringing the schema up to
// date: a database with rows is left as it is.
func (m *move) openTarget(ctx context.Context) (err error) {
	m.target, err = postgres.Open(ctx, postgres.Options{URL: m.To, Mode: postgres.Owner, Readers: 1, Logger: m.Log})
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return store.New(m.target).View(ctx, func(r *store.Reader) error {
		tables, err := postgres.Tables(r.Conn())
		if err != nil {
			return err
		}
		for _, t := range tables {
			if t.Name == "meta" {
				begun, err := installation.ReadMark(r, installation.MarkBegun)
				if err != nil || begun != nil {
					return errors.Join(err, m.refuseOther(begun))
				}
			}
		}
		for _, t := range tables {
			filled, err := t.Holds(r.Conn())
			if err == nil && filled {
				err = m.filled(fmt.Errorf("%w: there are rows in %s", postgres.ErrFilled, t.Name))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// identify opens the keys of the source, which say what installation it is.
func (m *move) identify(ctx context.Context) error {
	keys, err := keyring.Read(ctx, store.New(m.source), m.ring)
	switch {
	case errors.Is(err, store.ErrNotFound):
		m.id = "never served"
	case err != nil:
		return installation.BadSetting("--from-master-key-file: %w", err)
	default:
		m.id = keys.Fingerprint()
	}
	return nil
}

func (m *move) refuseOther(begun *installation.Mark) error {
	if begun == nil || begun.Source == m.id {
		return nil
	}
	return fmt.Errorf("--to: another installation is being moved into this database, from %s, since %s: finish that move, or use an empty database",
		begun.From, begun.At.Format(time.DateTime))
}

func (m *move) filled(err error) error {
	return fmt.Errorf("--to: %w; create a database for this installation, or an empty schema and name it with ?search_path= "+
		"(if the installation was moved there before, serve it)", err)
}

// openFiles opens both stores of files.
func (m *move) openFiles(ctx context.Context) (err error) {
	// What is on its way to a bucket is kept in the data directory.
	cfg := blob.Config{Folder: filepath.Join(m.From, installation.FilesName), Log: m.Log}
	if m.from, err = installation.OpenLocation(ctx, m.fromFiles, cfg); err != nil {
		return fmt.Errorf("--from-files: %w", err)
	}
	if m.left {
		return nil
	}
	if m.to, err = installation.OpenLocation(ctx, m.toFiles, cfg); err == nil {
		err = m.to.Check(ctx)
	}
	if err != nil {
		return fmt.Errorf("--to-files: %w", err)
	}
	return nil
}

// openSource takes the database of a data directory that no server works on. One that an older
// version has written is brought up to date, after a copy of it was made, as `serve` does.
func openSource(dir string, log *slog.Logger) (*sqlite.DB, error) {
	path := filepath.Join(dir, installation.DatabaseName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no installation in %s: %w", dir, err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: path, Owner: true, Readers: 1, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	return db, nil
}

// run copies, compares and marks, within the transaction that holds the source.
func (m *move) run(ctx context.Context, c store.Conn) error {
	tx := store.NewTx(c)
	moved, err := installation.ReadMark(&tx.Reader, installation.MarkMoved)
	if err != nil {
		return err
	}
	if err := m.compareTables(ctx, c); err != nil {
		return err
	}
	if err := m.begin(ctx, moved); err != nil {
		return err
	}
	if err := m.copyKey(); err != nil {
		return err
	}
	if err := m.copyRows(ctx, c); err != nil {
		return err
	}
	if err := m.copyFiles(ctx, c); err != nil {
		return err
	}
	if err := m.compareRows(ctx, c); err != nil {
		return err
	}
	if err := m.compareFiles(ctx, c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mark.At = time.Now().UTC()
	return tx.SetMeta(installation.MarkMoved, m.mark.Encode())
}

func (m *move) compareTables(ctx context.Context, c store.Conn) error {
	has, err := sqlite.Tables(c)
	if err != nil {
		return err
	}
	err = store.New(m.target).View(ctx, func(r *store.Reader) error {
		m.tables, err = postgres.Tables(r.Conn())
		return err
	})
	if err == nil {
		err = store.SameTables(has, m.tables)
	}
	m.report.Tables = len(m.tables)
	return err
}

// begin marks the target, or finds the mark of the move that is to continue. A source that was
// moved already may only finish the move that did it.
func (m *move) begin(ctx context.Context, moved *installation.Mark) error {
	var begun *installation.Mark
	err := store.New(m.target).View(ctx, func(r *store.Reader) (err error) {
		begun, err = installation.ReadMark(r, installation.MarkBegun)
		return err
	})
	if err == nil {
		err = m.refuseOther(begun)
	}
	switch {
	case err != nil:
		return err
	case moved != nil && (begun == nil || begun.ID != moved.ID):
		return fmt.Errorf("the installation in %s was moved to %s on %s already: `chargehand store move --from %s --undo` lets it be used again",
			m.From, moved.To, moved.At.Format(time.DateTime), m.From)
	case begun != nil:
		m.Log.Info("a move is continued", "begun", begun.At)
		m.mark = *begun
		return nil
	}
	m.mark = installation.Mark{ID: rand.Text(), Source: m.id, From: m.From, To: withoutPassword(m.To), At: time.Now().UTC()}
	err = m.loader.Begin(ctx, m.tables, installation.MarkBegun, m.mark.Encode())
	if errors.Is(err, postgres.ErrFilled) {
		return m.filled(err)
	}
	if err != nil {
		return err
	}
	return m.written()
}

// finish lets the target be served. The source is marked already: cut off here, neither can
// be, until the same move is run again.
func (m *move) finish(ctx context.Context) error {
	if err := m.written(); err != nil {
		return err
	}
	if err := m.loader.Finish(ctx); err != nil {
		return fmt.Errorf("all is moved, but the target still says that it is not: run the same move again: %w", err)
	}
	return nil
}

// Undo lets a data directory that was moved be served again.
func Undo(ctx context.Context, from string) (to string, err error) {
	source, err := openSource(from, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	err = store.New(source).Update(ctx, func(tx *store.Tx) error {
		mark, err := installation.ReadMark(&tx.Reader, installation.MarkMoved)
		if err == nil && mark == nil {
			err = fmt.Errorf("the installation in %s was not moved", from)
		}
		if err != nil {
			return err
		}
		to = mark.To
		return tx.DeleteMeta(installation.MarkMoved)
	})
	return to, err
}

// withoutPassword is a database URL for people.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a database"
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}
