package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// startName is a file that exists while a new installation is made: from before its master key until it has a
// database. Without it, a key beside an empty database says that the database was lost.
const startName = "unfinished-start"

// ScratchName is the folder of processes in the data directory.
const ScratchName = "scratch"

// CheckLoss refuses a data directory whose database is missing or empty although it has a master key or files: served
// as a new installation, it would hide that everything is gone, and the sweep would delete the files. A master key that
// is kept elsewhere may have been made for a new installation, so it counts only beside what an earlier start has left.
func (s Settings) CheckLoss() error {
	path := filepath.Join(s.DataDir, DatabaseName)
	state, err := sqlite.Inspect(path)
	if err != nil || state.Schema != 0 {
		return err
	}
	var left []string
	inside := filepath.Join(s.DataDir, MasterKeyName)
	if _, err := os.Stat(inside); err == nil {
		left = append(left, "a master key ("+inside+")")
	} else if _, err := os.Stat(s.MasterKeyFile); err == nil {
		folder := filepath.Join(s.DataDir, FilesName)
		_, err := os.Stat(filepath.Join(folder, "incoming")) // only a server makes it; operators may mount other folders
		if earlier := err == nil; state.Exists || earlier {
			left = append(left, "a master key ("+s.MasterKeyFile+")")
			if earlier {
				left = append(left, "a folder of an earlier start ("+folder+")")
			}
		}
	}
	if l, err := s.Location(); err == nil && l.Bucket == "" && hasContent(l.Folder) {
		left = append(left, "stored files ("+l.Folder+")")
	}
	if len(left) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, startName)); err == nil {
		return nil // the first start was cut off
	}
	if state, err = sqlite.Inspect(path); err != nil || state.Schema != 0 {
		return err // another process has made it meanwhile
	}
	what := "there is no database " + path
	if state.Exists {
		what = "the database " + path + " is empty"
	}
	return fmt.Errorf("%s, although there is %s: this is no new installation, its database was lost. Restore a backup into another directory "+
		"with `chargehand restore`, or put the database back here; to begin anew, name another --data-dir or move what is there away", what, strings.Join(left, " and "))
}

// hasContent reports whether a store of files in a folder holds anything.
func hasContent(folder string) bool {
	found := errors.New("found")
	err := filepath.WalkDir(filepath.Join(folder, "content"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			return found
		}
		return err
	})
	return errors.Is(err, found)
}

// beginStart notes that a new installation is being made.
func (s Settings) beginStart() error {
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.DataDir, startName), nil, 0o600)
}

// EndStart notes that the installation has a database.
func (s Settings) EndStart() {
	_ = os.Remove(filepath.Join(s.DataDir, startName)) // most often there is none
}

// OpenToOthers lists what of the data directory every user of the machine could read or write.
func (s Settings) OpenToOthers() (found []string, err error) {
	info, err := os.Stat(s.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		found = append(found, fmt.Sprintf("the data directory %s is open to every user (mode %#o): chmod 700 %s", s.DataDir, mode, s.DataDir))
	}
	files, err := filepath.Glob(filepath.Join(s.DataDir, DatabaseName+"*")) // its log and copies of it, too
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the log of a database that was closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if mode := info.Mode().Perm(); mode&0o007 != 0 {
			found = append(found, fmt.Sprintf("%s is open to every user (mode %#o): chmod 600 %s", path, mode, path))
		}
	}
	return found, nil
}

// WarnOpen says in the log what is open to others.
func (s Settings) WarnOpen() {
	found, err := s.OpenToOthers()
	if err != nil {
		s.Log.Warn("the permissions of the data directory cannot be looked at", "error", err)
	}
	for _, what := range found {
		s.Log.Warn(what)
	}
}
