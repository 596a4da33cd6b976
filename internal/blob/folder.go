package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"
)

// OpenFolder opens a store in a folder. Errors: ErrUnavailable.
func OpenFolder(c Config) (*Store, error) { return openFolder(c, SyncFolder) }

func openFolder(c Config, syncFolder func(path string) error) (*Store, error) {
	content := filepath.Join(c.Folder, "content")
	if err := makeFolder(content, syncFolder); err != nil {
		return nil, fmt.Errorf("open blob store: %w", Unavailable(err))
	}
	bucket, err := fileblob.OpenBucket(content, &fileblob.Options{
		NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", Unavailable(err))
	}
	const digits = "0123456789abcdef"
	var prefixes []string
	for i := range 256 { // a page of a folder costs a walk: keep the walks small
		prefixes = append(prefixes, string([]byte{digits[i>>4], digits[i&15], '/'}))
	}
	s, err := New(bucket, &folder{root: content, sync: syncFolder}, prefixes, c)
	if err != nil {
		return nil, err
	}
	s.durable = true
	return s, nil
}

// folder puts contents into a folder on the same disk as incoming: by a rename, which a
// bucket does not offer, and with the folders made durable, which it does not promise.
type folder struct {
	root    string
	sync    func(folder string) error // SyncFolder
	shelves sync.Map                  // the folders in root that are known to survive a power cut
}

func (f *folder) Put(_ context.Context, path, key string, size int64) error {
	to := filepath.Join(f.root, filepath.FromSlash(key))
	shelf := filepath.Dir(to)
	info, err := os.Stat(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Unavailable(err)
	}
	if err != nil || info.Size() != size { // a cut-off file, from a damaged disk, is replaced
		switch err := os.Mkdir(shelf, 0o700); {
		case err == nil:
			f.shelves.Delete(shelf)
		case !errors.Is(err, fs.ErrExist):
			return Unavailable(err)
		}
		if err := os.Rename(path, to); err != nil {
			return Unavailable(err)
		}
	}
	// Also for content that was there: another Put may have renamed it a moment ago and not
	// have come to this line yet.
	if err := f.sync(shelf); err != nil {
		return err
	}
	if _, known := f.shelves.Load(shelf); known {
		return nil
	}
	if err := f.sync(f.root); err != nil {
		return err
	}
	f.shelves.Store(shelf, true)
	return nil
}

// SyncFolder has the names in a folder survive a power cut. Errors: ErrUnavailable.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return Unavailable(err)
	}
	return nil
}

// MakeFolder is os.MkdirAll of a folder that no other user may read, and whose name survives a power cut, unless this
// process may not read the folder above it.
func MakeFolder(path string) error { return makeFolder(path, SyncFolder) }

func makeFolder(path string, syncFolder func(path string) error) error {
	var parents []string // of the folders that are missing
	for missing := filepath.Clean(path); ; missing = filepath.Dir(missing) {
		if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(missing))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncFolder(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// String names the folder in messages.
func (f *folder) String() string { return "folder " + filepath.Dir(f.root) }

// Sweep has nothing to do: what is unfinished never leaves incoming.
func (*folder) Sweep(context.Context, time.Time) error { return nil }

func (f *folder) Check(context.Context) error {
	probe, err := os.CreateTemp(f.root, "check-*")
	if err != nil {
		return Unavailable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return Unavailable(err)
	}
	return nil
}

func (*folder) Address(context.Context, string, Download) (string, error) { return "", ErrNoAddress }

func (f *folder) Owner(context.Context) (string, error) {
	data, err := os.ReadFile(filepath.Join(f.root, OwnerKey))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", Unavailable(err)
	}
	return string(data[:min(len(data), MaxOwnerBytes)]), nil
}

func (f *folder) Own(_ context.Context, name string) error {
	file, err := os.OpenFile(filepath.Join(f.root, OwnerKey), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Unavailable(err)
	}
	_, err = file.WriteString(name)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Unavailable(err)
	}
	return f.sync(f.root)
}

// Fault: a file that is not there is a missing content, everything else an outage, perhaps of this file alone.
func (*folder) Fault(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	return fmt.Errorf("%w: %w: %v", ErrUnavailable, ErrOneFile, err)
}

// BeyondEnd: a file may be read from anywhere.
func (*folder) BeyondEnd(error) bool { return false }
