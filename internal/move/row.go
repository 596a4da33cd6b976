package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// A page is what one transaction writes into the target. Of large rows there are fewer in it.
const (
	movePageRows  = 10_000
	movePageBytes = 8 << 20
)

// Marks of how far a move is, in the target.
const (
	markTable = store.MovePrefix + "table/" // and the name: how far it is filled
	markFiles = store.MovePrefix + "files"
)

// tableMark is how far a table is filled: the key of its last row.
type tableMark struct {
	Rows int64         `json:"rows"`
	Key  []store.Value `json:"key"`
	Done bool          `json:"done"`
}

// readProgress reads a value of the target's meta, as JSON, into v, which stays as it is if
// there is none.
func (m *move) readProgress(ctx context.Context, name string, v any) error {
	var data []byte
	err := store.New(m.target).View(ctx, func(r *store.Reader) (err error) {
		data, err = r.Meta(name)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("read how far the move is: %w", err)
	}
	return nil
}

func (m *move) copyRows(ctx context.Context, c store.Conn) error {
	began := time.Now()
	for _, t := range m.tables {
		if err := m.copyTable(ctx, c, t); err != nil {
			return err
		}
	}
	m.report.CopyTime = time.Since(began)
	return nil
}

// copyTable fills a table from the row behind the last one that it has.
func (m *move) copyTable(ctx context.Context, c store.Conn, t store.Table) error {
	var mark tableMark
	if err := m.readProgress(ctx, markTable+t.Name, &mark); err != nil || mark.Done {
		return err
	}
	total, err := t.Count(c)
	if err != nil {
		return err
	}
	page := postgres.NewPage(t)
	for !mark.Done {
		m.Progress(Step{Part: t.Name, Done: mark.Rows, Total: total})
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.fillPage(c, page, &mark); err != nil {
			return err
		}
		if mark.Done && t.Number != "" {
			highest, err := sqlite.Highest(c, t)
			if err == nil {
				err = m.loader.SetNumber(ctx, t, highest)
			}
			if err != nil {
				return err
			}
		}
		value, err := json.Marshal(mark)
		if err != nil {
			return err
		}
		if err := m.loader.Append(ctx, page, markTable+t.Name, value); err != nil {
			return err
		}
		m.report.Rows += int64(page.Rows)
		if err := m.written(); err != nil {
			return err
		}
	}
	m.Progress(Step{Part: t.Name, Done: mark.Rows, Total: total})
	return m.loader.Analyze(ctx, t)
}

// fillPage reads the rows behind the mark, and moves the mark.
func (m *move) fillPage(c store.Conn, page *postgres.Page, mark *tableMark) error {
	page.Reset()
	key := mark.Key
	mark.Done = true
	err := page.Table.Read(c, key, func(row []store.Value) (bool, error) {
		if page.Rows >= m.pageRows || page.Bytes() >= movePageBytes {
			mark.Done = false
			return false, nil
		}
		mark.Key = page.Table.KeyOf(row)
		return true, page.Add(row)
	})
	mark.Rows += int64(page.Rows)
	return err
}

// compareRows reads every row of both sides again.
func (m *move) compareRows(ctx context.Context, c store.Conn) error {
	began := time.Now()
	for _, t := range m.tables {
		if err := m.compareTable(ctx, c, t); err != nil {
			return err
		}
	}
	m.report.CompareTime = time.Since(began)
	return nil
}

func (m *move) compareTable(ctx context.Context, c store.Conn, t store.Table) error {
	total, err := t.Count(c)
	if err != nil {
		return err
	}
	m.Progress(Step{Part: t.Name, Compare: true, Total: total})
	there, theirs := store.NewSum(), make(chan error, 1)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		theirs <- m.loader.Read(reading, t, func(row []store.Value) error {
			there.Add(t, row)
			return nil
		})
	}()
	here := store.NewSum()
	ours := t.Read(c, nil, func(row []store.Value) (bool, error) {
		here.Add(t, row)
		if here.Rows%int64(m.pageRows) == 0 {
			m.Progress(Step{Part: t.Name, Compare: true, Done: here.Rows, Total: total})
		}
		return true, ctx.Err()
	})
	if ours != nil {
		stop()
	}
	if err := errors.Join(ours, <-theirs); err != nil {
		return err
	}
	m.Progress(Step{Part: t.Name, Compare: true, Done: here.Rows, Total: total})
	m.report.Compared += here.Rows
	if here.Rows != there.Rows || here.Digest() != there.Digest() {
		a, b := here.Digest(), there.Digest()
		return fmt.Errorf("table %s is not the same on both sides: %d rows with the checksum %x in %s, %d rows with %x in the target. "+
			"One of them was changed after the move began; the source can still be served. To move it, begin again with an empty database",
			t.Name, here.Rows, a[:6], m.From, there.Rows, b[:6])
	}
	return nil
}
