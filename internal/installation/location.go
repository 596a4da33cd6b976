package installation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/blob/bucket"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/secret"
)

// A store of files that does not answer at the start is asked again for filesWait, every
// filesPause: it may be starting too.
const (
	filesWait  = 30 * time.Second
	filesPause = time.Second
)

// Location is where the files of the installation are. Errors: *SettingError.
func (s Settings) Location() (blob.Location, error) {
	if s.FilesURL == "" {
		return blob.Location{Folder: filepath.Join(s.DataDir, FilesName)}, nil
	}
	l, err := blob.ParseLocation(s.FilesURL)
	if err != nil {
		return l, BadSetting("--files-url: %w", err)
	}
	return l, nil
}

// OpenContents opens the store of files without looking whether it can be used. Without a sealer, sealed contents can
// only be listed and copied. What is put is sealed if the sealer seals everything.
func (s Settings) OpenContents(ctx context.Context, sealer *secret.Sealer, protect blob.Protect) (*blob.Store, error) {
	l, err := s.Location()
	if err != nil {
		return nil, err
	}
	// What is on its way to a bucket is kept in the data directory.
	blobs, err := OpenLocation(ctx, l, blob.Config{Folder: filepath.Join(s.DataDir, FilesName), Protect: protect, Log: s.Log, Sealer: sealer, Seal: sealer.SealsAll()})
	if err != nil {
		return nil, s.FilesError(err)
	}
	return blobs, nil
}

// OpenLocation opens the store of files at a location, a folder or a bucket. Of a location without both, c.Folder holds
// the contents. Nothing is asked of a bucket yet. Errors: blob.ErrUnavailable, and blob.ErrRefused where no repetition
// helps.
func OpenLocation(ctx context.Context, l blob.Location, c blob.Config) (*blob.Store, error) {
	if l.Bucket != "" {
		return bucket.Open(ctx, l, c)
	}
	if l.Folder != "" {
		c.Folder = l.Folder
	}
	return blob.OpenFolder(c)
}

// AwaitContents waits until the store of files can be used.
func (s Settings) AwaitContents(ctx context.Context, blobs *blob.Store) error {
	deadline := time.Now().Add(filesWait)
	for {
		err := blobs.Check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, blob.ErrRefused) || time.Now().After(deadline) {
			return s.FilesError(err)
		}
		s.Log.Warn("the store of files cannot be used yet", "error", err)
		if err := pause.For(ctx, filesPause); err != nil {
			return err
		}
	}
}

// FilesError names the setting that says where files are, if one does.
func (s Settings) FilesError(err error) error {
	if s.FilesURL == "" {
		return err
	}
	return fmt.Errorf("--files-url: %w", err)
}
