package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
)

// saving says where result files go, and what happens to files that are there.
type saving struct {
	dir           string
	clobber, skip bool
}

func (s *saving) register(f *pflag.FlagSet) {
	f.StringVar(&s.dir, "download", "", "save the result files in this folder")
	s.registerRules(f)
}

func (s *saving) registerRules(f *pflag.FlagSet) {
	f.BoolVar(&s.clobber, "clobber", false, "replace files that exist")
	f.BoolVar(&s.skip, "skip-existing", false, "keep files that exist")
}

func (s *saving) check() error {
	switch {
	case s.clobber && s.skip:
		return usage("give --clobber or --skip-existing, not both")
	case s.dir == "" && (s.clobber || s.skip):
		return usage("--clobber and --skip-existing need --download DIR")
	}
	return nil
}

// below is the same in a folder of that one.
func (s saving) below(name string) saving {
	s.dir = filepath.Join(s.dir, name)
	return s
}

// download saves the result files of an execution under their names. Of two results with one name
// the second gets a number.
func (c *connection) download(ctx context.Context, api *client.Client, e *client.Execution, save saving) error {
	if save.dir == "" {
		return nil
	}
	taken := map[string]bool{}
	for _, result := range e.Results {
		path, err := c.save(ctx, api, result, save, taken)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w; the results are kept: chargehand executions get %s --download DIR", err, e.ID)
		}
		if err != nil {
			return err
		}
		if path != "" {
			fmt.Fprintln(c.err, "saved", path)
		}
	}
	return nil
}

// save writes one file, whole or not at all, and returns its path; "" if a file was kept.
func (c *connection) save(ctx context.Context, api *client.Client, result client.Result, save saving, taken map[string]bool) (string, error) {
	if err := os.MkdirAll(save.dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(save.dir, unusedName(safeName(result.Filename), taken))
	if _, err := os.Lstat(path); err == nil && !save.clobber {
		if save.skip {
			fmt.Fprintln(c.err, "kept", path)
			return "", nil
		}
		return "", fmt.Errorf("%w: %s: --clobber replaces it, --skip-existing keeps it", os.ErrExist, path)
	}
	err := writeWhole(path, save.clobber, func(to io.Writer) error {
		_, err := api.Download(ctx, result.URL, to)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("save %s: %w", result.Filename, err)
	}
	return path, nil
}

// writeWhole writes a file, whole or not at all. One that is replaced stays until the new one is whole; without
// clobber, one that exists is an error (os.ErrExist).
func writeWhole(path string, clobber bool, write func(io.Writer) error) error {
	var f *os.File
	var err error
	if clobber {
		f, err = os.CreateTemp(filepath.Dir(path), ".chargehand-*")
	} else {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return err
	}
	err = write(f)
	if err = errors.Join(err, f.Close()); err == nil && clobber {
		err = errors.Join(os.Chmod(f.Name(), 0o644), os.Rename(f.Name(), path))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// unusedName gives the second file of that name a number.
func unusedName(name string, taken map[string]bool) string {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s (%d)%s", stem, i, ext)
	}
	taken[name] = true
	return name
}

// safeName makes a name from the server a plain file name.
func safeName(name string) string {
	name = strings.TrimLeft(filepath.Base(printable(strings.ReplaceAll(name, `\`, "/"))), "-")
	if name == "." || name == ".." || name == "/" || strings.TrimSpace(name) == "" {
		return "result"
	}
	return name
}
