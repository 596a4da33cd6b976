package drill_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// samplePeriod lies between two looks at the rows.
const samplePeriod = 8 * time.Millisecond

// auditText has the database itself write down every end of an execution, and every change of
// one that had ended.
const auditText = `
CREATE TABLE drill_end (no BIGINT NOT NULL, status SMALLINT NOT NULL);
CREATE TABLE drill_change (no BIGINT NOT NULL, before SMALLINT NOT NULL, after SMALLINT NOT NULL);
CREATE FUNCTION drill_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO drill_end VALUES (NEW.no, NEW.status); RETURN NULL; END $$;
CREATE FUNCTION drill_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO drill_change VALUES (OLD.no, OLD.status, NEW.status); RETURN NULL; END $$;
CREATE TRIGGER drill_end AFTER UPDATE ON execution FOR EACH ROW WHEN (OLD.state <> 0 AND NEW.state = 0) EXECUTE FUNCTION drill_end();
CREATE TRIGGER drill_change AFTER UPDATE ON execution FOR EACH ROW
 WHEN (OLD.state = 0 AND (NEW.state, NEW.status, NEW.phase, NEW.finished_ms) IS DISTINCT FROM (OLD.state, OLD.status, OLD.phase, OLD.finished_ms))
 EXECUTE FUNCTION drill_change();`

// bounds is what may run at once.
type bounds struct{ batch, account int }

// watcher counts what runs from rows, as often as is cheap, as long as the drill lasts.
type watcher struct {
	t        *testing.T
	database string
	bounds   bounds

	samples            int
	mostBatch, mostAll int
	done               chan struct{}
	cancel             context.CancelFunc
}

func startWatcher(t *testing.T, database string, b bounds) *watcher {
	w := &watcher{t: t, database: database, bounds: b, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.done)
		tick := time.NewTicker(samplePeriod)
		defer tick.Stop()
		for ctx.Err() == nil {
			w.session(ctx, tick.C)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond): // the database is away
			}
		}
	}()
	return w
}

// stop ends the watch; the counts may be read then.
func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

// session looks until the connection breaks.
func (w *watcher) session(ctx context.Context, tick <-chan time.Time) {
	c, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return
	}
	defer c.Close(context.Background())
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		batch, all := 0, 0
		err := c.QueryRow(ctx, `SELECT count(*) FILTER (WHERE batch <> 0), count(*) FROM execution WHERE state = 3`).Scan(&batch, &all)
		if err != nil {
			return
		}
		w.samples++
		if batch > w.bounds.batch && batch > w.mostBatch || all > w.bounds.account && all > w.mostAll {
			w.t.Errorf("at %s, %d items of the batch run at once, at most %d may; %d executions of the account, at most %d may",
				clock(time.Now()), batch, w.bounds.batch, all, w.bounds.account)
		}
		w.mostBatch, w.mostAll = max(w.mostBatch, batch), max(w.mostAll, all)
	}
}

// queryInts reads one row of numbers.
func queryInts(t *testing.T, database, text string, into ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, text).Scan(into...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
