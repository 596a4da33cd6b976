package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

// listing is a command that lists T.
type listing[T any] struct {
	use, short string
	columns    string
	args       cobra.PositionalArgs
	limit      int // rows when --limit is not given
	row        func(*T) []string
	key        func(*T) string // what tells a row from others while it changes
	// prepare looks up what the arguments name and returns how to fetch a page of at most limit
	// (1 to 100) rows.
	prepare func(ctx context.Context, api *client.Client, args []string) (fetch[T], error)
}

type fetch[T any] func(ctx context.Context, limit int, cursor string) (*client.Page[T], error)

// listed is the one shape of lists in JSON and YAML.
type listed[T any] struct {
	Data   []T     `json:"data"`
	Cursor *string `json:"cursor"`
}

const (
	maxPage = 100     // the most that the API gives at once
	allRows = 1 << 30 // of a list
)

// watchPause lies between two looks of --watch.
const watchPause = time.Second

// newList makes the command of a listing.
func newList[T any](c *connection, l listing[T]) *cobra.Command {
	var limit int
	var cursor string
	var all, watch bool
	var cmd *cobra.Command
	cmd = c.verb(l.use, l.short, l.args, func(ctx context.Context, api *client.Client, args []string) error {
		switch {
		case limit < 1:
			return usage("--limit: %d is not 1 or more", limit)
		case all && cmd.Flags().Changed("limit"):
			return usage("give --all or --limit, not both")
		}
		if all {
			limit = allRows
		}
		next, err := l.prepare(ctx, api, args)
		if err != nil {
			return err
		}
		if watch {
			return explainInterrupt(ctx, watchList(ctx, c, &l, next, limit, cursor))
		}
		rows, more, err := gather(ctx, next, limit, cursor)
		if err != nil {
			return err
		}
		if err := writeList(c, &l, rows, more, true); err != nil {
			return err
		}
		if more != "" && (c.output == formatTable || c.output == formatWide || c.output == formatJSONL) {
			fmt.Fprintf(c.err, "there are more rows: --all, or --cursor %s\n", more)
		}
		return nil
	})
	f := cmd.Flags()
	f.IntVar(&limit, "limit", l.limit, "rows at most")
	f.StringVar(&cursor, "cursor", "", "continue where the last page ended")
	f.BoolVar(&all, "all", false, "every row: follow the cursor to its end")
	f.BoolVarP(&watch, "watch", "w", false, "show the list again whenever it changes, until Ctrl-C")
	return cmd
}

// gather follows the cursor until there are limit rows.
func gather[T any](ctx context.Context, next fetch[T], limit int, cursor string) (rows []T, more string, err error) {
	rows = []T{}
	for {
		page, err := next(ctx, min(limit-len(rows), maxPage), cursor)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, page.Data...)
		if cursor = page.Cursor; cursor == "" || len(rows) >= limit {
			return rows, cursor, nil
		}
	}
}

func writeList[T any](c *connection, l *listing[T], rows []T, more string, header bool) error {
	switch c.output {
	case formatTable, formatWide:
		cells := make([][]string, len(rows))
		for i := range rows {
			cells[i] = l.row(&rows[i])
		}
		return c.table(columns(l.columns), cells, header)
	case formatJSONL:
		for i := range rows {
			if err := c.encode(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	shape := listed[T]{Data: rows}
	if more != "" {
		shape.Cursor = &more
	}
	return c.encode(shape)
}

// watchList shows a list until ctx ends: on a terminal as a screen that is drawn again, elsewhere
// the rows that are new or have changed.
func watchList[T any](ctx context.Context, c *connection, l *listing[T], next fetch[T], limit int, cursor string) error {
	known := map[string]string{}
	screen := terminal(c.out) && (c.output == formatTable || c.output == formatWide)
	for first := true; ; first = false {
		rows, _, err := gather(ctx, next, limit, cursor)
		if err != nil {
			return err
		}
		if screen {
			fmt.Fprint(c.out, "\x1b[H\x1b[2J")
			if err := writeList(c, l, rows, "", true); err != nil {
				return err
			}
		} else if changed := l.changed(rows, known); len(changed) > 0 {
			if err := writeChanges(c, l, changed, first); err != nil {
				return err
			}
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changed returns the rows that differ from those in known, oldest first, and remembers them.
func (l *listing[T]) changed(rows []T, known map[string]string) []T {
	var changed []T
	for i := len(rows) - 1; i >= 0; i-- {
		text, err := json.Marshal(&rows[i])
		if key := l.key(&rows[i]); err != nil || known[key] != string(text) {
			known[key] = string(text)
			changed = append(changed, rows[i])
		}
	}
	return changed
}

// writeChanges writes each row on its own where a program reads: a line of JSON, or a document of YAML.
func writeChanges[T any](c *connection, l *listing[T], rows []T, first bool) error {
	switch c.output {
	case formatTable, formatWide:
		return writeList(c, l, rows, "", first)
	case formatYAML:
		for i := range rows {
			fmt.Fprintln(c.out, "---")
			if err := c.encode(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range rows {
		text, err := marshal(&rows[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s\n", text)
	}
	return nil
}
