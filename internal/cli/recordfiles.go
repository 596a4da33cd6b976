package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrun"
)

// fixtures is the folder for the contents of recorded files.
const fixtures = "fixtures"

// saveRecorded saves the contents of recorded files, each once, whatever number of tests they are recorded for. It
// returns their paths by their ids. A file that is larger than what a test reads is left out, and standard error says
// so.
func (c *connection) saveRecorded(ctx context.Context, api *client.Client, g *client.Recording, anonymise bool) (map[string]string, error) {
	paths, left := map[string]string{}, map[string]bool{}
	for i := range g.Outcomes {
		for j := range g.Outcomes[i].Files {
			f := &g.Outcomes[i].Files[j]
			switch {
			case paths[f.ID] != "" || left[f.ID]:
				continue
			case f.Size > testrun.MaxFileBytes:
				left[f.ID] = true
				fmt.Fprintf(c.err, "%s has more than %d MiB, the most that a test reads: the test gives an empty file instead\n",
					printable(f.Filename), testrun.MaxFileBytes>>20)
				continue
			}
			name := path.Join(fixtures, fixtureName(f, anonymise))
			if err := saveFixture(ctx, api, f, filepath.FromSlash(name)); err != nil {
				return nil, fmt.Errorf("%s: %w", printable(f.Filename), err)
			}
			paths[f.ID] = name
		}
	}
	return paths, nil
}

// The bounds of a fixture's name, in bytes.
const (
	maxFixtureStem   = 60
	maxFixtureEnding = 12
	digestInName     = 12 // hexadecimal digits
)

// fixtureName is a name that every file system takes, and that is the same whenever this content is recorded under this
// name: photo-3f2a91c0d4e5.png. An anonymous one has nothing of the name but its ending.
func fixtureName(f *client.RecordedFile, anonymise bool) string {
	name := strings.Map(portable, f.Filename)
	ending := path.Ext(name)
	if len(ending) > maxFixtureEnding || ending == "." {
		ending = ""
	}
	stem := strings.Trim(strings.TrimSuffix(name, ending), "._-")
	if stem = stem[:min(len(stem), maxFixtureStem)]; stem == "" || anonymise {
		stem = "file"
	}
	digest := strings.Map(portable, strings.TrimPrefix(f.Digest, "sha256:"))
	return stem + "-" + digest[:min(len(digest), digestInName)] + ending
}

// portable keeps what every file system takes.
func portable(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// saveFixture saves a content under its path, unless the path has this content already. It writes a new file of another
// name first: a download that fails leaves nothing behind, and a file that exists is never written to.
func saveFixture(ctx context.Context, api *client.Client, f *client.RecordedFile, path string) error {
	switch there, err := digestOf(path); {
	case err == nil && there == f.Digest:
		return nil
	case err == nil:
		return usage("%s is there already, and is another file; record the test in another folder, or remove it", path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".recorded-*")
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = api.Download(ctx, f.ID, &bounded{io.MultiWriter(beside, sum), f.Size})
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); err == nil && got != f.Digest {
		err = errors.New("what was downloaded is not what the recording names; try again")
	}
	err = errors.Join(err, beside.Chmod(0o644), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return nil
}

// digestOf is the digest of a regular file.
func digestOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", usage("%s is there already, and is no regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// bounded takes only so many bytes.
type bounded struct {
	io.Writer
	left int64
}

// Write implements io.Writer.
func (b *bounded) Write(data []byte) (int, error) {
	if b.left -= int64(len(data)); b.left < 0 {
		return 0, errors.New("the server sends more than the recording names")
	}
	return b.Writer.Write(data)
}
