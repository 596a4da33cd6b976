package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob/fileblob"
)

// OpenFolder opens a store in a folder. Errors: ErrUnavailable.
func OpenFolder(c Config) (*Store, error) {
	incoming, err := makeIncoming(c.Folder)
	if err != nil {
		return nil, err
	}
	content := filepath.Join(c.Folder, "content")
	if err := os.MkdirAll(content, 0o700); err != nil {
		return nil, fmt.Errorf("open blob store: %w", unavailable(err))
	}
	bucket, err := fileblob.OpenBucket(content, &fileblob.Options{
		NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", unavailable(err))
	}
	s := c.store(bucket, folder{content}, incoming)
	s.durable = true
	const digits = "0123456789abcdef"
	for i := range 256 { // a page of a folder costs a walk: keep the walks small
		s.prefixes = append(s.prefixes, string([]byte{digits[i>>4], digits[i&15], '/'}))
	}
	return s, nil
}

// makeIncoming makes the folder of what is still being written.
func makeIncoming(parent string) (string, error) {
	incoming := filepath.Join(parent, "incoming")
	if err := os.MkdirAll(incoming, 0o700); err != nil {
		return "", fmt.Errorf("open blob store: %w", unavailable(err))
	}
	return incoming, nil
}

// folder puts contents into a folder on the same disk as incoming: by a rename, which a
// bucket does not offer, and with the folders made durable, which it does not promise.
type folder struct{ root string }

func (f folder) put(_ context.Context, path, key string, size int64) error {
	to := filepath.Join(f.root, filepath.FromSlash(key))
	shelf := filepath.Dir(to)
	info, err := os.Stat(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	if err != nil || info.Size() != size { // a cut-off file, from a damaged disk, is replaced
		if err := os.Mkdir(shelf, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return unavailable(err)
		}
		if err := os.Rename(path, to); err != nil {
			return unavailable(err)
		}
	}
	// Also for content that was there: another Put may have renamed it a moment ago and not
	// have come to this line yet.
	return errors.Join(syncFolder(shelf), syncFolder(f.root))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return unavailable(err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return unavailable(err)
	}
	return nil
}

// String names the folder in messages.
func (f folder) String() string { return "folder " + filepath.Dir(f.root) }

// sweep has nothing to do: what is unfinished never leaves incoming.
func (folder) sweep(context.Context, time.Time) error { return nil }

func (f folder) check(context.Context) error {
	probe, err := os.CreateTemp(f.root, "check-*")
	if err != nil {
		return unavailable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return unavailable(err)
	}
	return nil
}

func (folder) address(context.Context, string, Download) (string, error) { return "", ErrNoAddress }

func (f folder) owner(context.Context) (string, error) {
	data, err := os.ReadFile(filepath.Join(f.root, ownerKey))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", unavailable(err)
	}
	return string(data[:min(len(data), maxOwnerBytes)]), nil
}

func (f folder) own(_ context.Context, name string) error {
	file, err := os.OpenFile(filepath.Join(f.root, ownerKey), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return unavailable(err)
	}
	_, err = file.WriteString(name)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return unavailable(err)
	}
	return syncFolder(f.root)
}
