package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/testrun"
)

// watchEvery is how often files are looked at.
const watchEvery = 300 * time.Millisecond

// stamp tells versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// watchFiles runs the tests, and then again those that depend on a file that has changed, until ctx ends. It looks at
// the files whenever it receives from next. A path that is not there at first is a mistake; one that disappears later
// may come back, as may tests that are not written yet. Errors: usage.
func (c *testCommand) watchFiles(ctx context.Context, next <-chan time.Time) error {
	seen := map[string]map[string]stamp{} // by test file: what it read
	said := ""                            // the newest complaint: one that lasts is made once
	first := true
	for {
		files, err := testrun.Find(c.paths)
		complaint := ""
		if err != nil {
			if first && errors.Is(err, fs.ErrNotExist) {
				return c.nothingFound(err)
			}
			complaint = "chargehand: " + printableLines(c.nothingFound(err).Error()) + "\nchargehand: waiting for a change; Ctrl-C ends it"
		}
		first = false
		if complaint != said && complaint != "" {
			fmt.Fprintln(c.err, complaint)
		}
		said = complaint
		for file := range seen {
			if !slices.Contains(files, file) {
				delete(seen, file)
			}
		}
		var stale []string
		for _, file := range files {
			if changed(seen[file]) {
				stale = append(stale, file)
			}
		}
		if len(stale) > 0 {
			if err := c.again(ctx, stale, seen); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-next:
		}
	}
}

// again runs some test files, and notes what each of them read.
func (c *testCommand) again(ctx context.Context, files []string, seen map[string]map[string]stamp) error {
	for _, file := range files {
		read := map[string]stamp{}
		c.config.ReadFile = func(path string) ([]byte, error) {
			read[path] = stampOf(path)
			return testrun.ReadFile(path)
		}
		c.config.Jobs = 1 // one reader at a time
		report, err := c.once(ctx, []string{file})
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintln(c.err, "chargehand: "+err.Error())
		}
		if report != nil {
			for _, f := range report.Files {
				if f.Snapshots != nil { // it was written by the run itself
					read[f.Snapshots.Path] = stampOf(f.Snapshots.Path)
				}
			}
		}
		seen[file] = maps.Clone(read)
	}
	return nil
}

// changed reports whether a file is another one than it was; nil: it was never read.
func changed(read map[string]stamp) bool {
	if read == nil {
		return true
	}
	for path, was := range read {
		if stampOf(path) != was {
			return true
		}
	}
	return false
}

// stampOf is the zero value for a file that is not there.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}
