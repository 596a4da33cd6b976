package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gocloud.dev/blob/fileblob"
)

// Config says where contents are.
type Config struct {
	// Folder holds all contents; it is made if it is missing. Two folders stand in it:
	// content, and incoming for what is still being written.
	Folder string
	// Claim is called by Put; nil: by nobody, for tools that never delete.
	Claim Claim
}

// OpenFolder opens a store in a folder. Errors: ErrUnavailable.
func OpenFolder(c Config) (*Store, error) {
	content, incoming := filepath.Join(c.Folder, "content"), filepath.Join(c.Folder, "incoming")
	for _, dir := range []string{content, incoming} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open blob store: %w", unavailable(err))
		}
	}
	bucket, err := fileblob.OpenBucket(content, &fileblob.Options{
		NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", unavailable(err))
	}
	return &Store{bucket: bucket, place: folder{content}, incoming: incoming, claim: c.Claim}, nil
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
