package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Sentinel errors.
var (
	ErrNotFound    = errors.New("content not found")
	ErrTooLarge    = errors.New("content too large")
	ErrUnavailable = errors.New("blob store unavailable") // disk full, read-only, I/O error
	ErrBadDigest   = errors.New("not a digest")
)

// Digest is the SHA-256 of a content.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads 64 lower-case hexadecimal digits. Errors: ErrBadDigest.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 2*len(d) {
		return d, ErrBadDigest
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil || d.String() != s {
		return Digest{}, ErrBadDigest
	}
	return d, nil
}

// key is the name of a content in its bucket: two digits as a folder, then the rest.
func (d Digest) key() string {
	s := d.String()
	return s[:2] + "/" + s[2:]
}

func parseKey(key string) (Digest, error) {
	if len(key) < 3 || key[2] != '/' {
		return Digest{}, ErrBadDigest
	}
	return ParseDigest(key[:2] + key[3:])
}

// Claim records a digest before its content is looked for. It returns when the content
// will not be deleted for at least an hour (store.Tx.ClaimBlob), or an error that Put
// returns. It waits for a deletion of that content that is under way.
type Claim func(ctx context.Context, digest Digest, size int64) error

// place is where contents go to: a folder, later a bucket elsewhere.
type place interface {
	// put moves the finished file of size bytes at path to key, durably, unless content of
	// that size is there. The file may or may not be left.
	put(ctx context.Context, path, key string, size int64) error
}

// Store is a set of contents.
type Store struct {
	bucket   *blob.Bucket
	place    place
	incoming string
	claim    Claim
}

// Put stores what it reads, at most limit bytes (ErrTooLarge), and returns its digest and
// size. Errors: ErrTooLarge, ErrUnavailable, errors of content and of Claim as they are.
func (s *Store) Put(ctx context.Context, content io.Reader, limit int64) (Digest, int64, error) {
	path, digest, size, err := s.receive(ctx, content, limit)
	if path != "" {
		defer os.Remove(path)
	}
	if err != nil {
		return Digest{}, 0, err
	}
	if s.claim != nil {
		if err := s.claim(ctx, digest, size); err != nil {
			return Digest{}, 0, fmt.Errorf("claim content: %w", err)
		}
	}
	if err := s.place.put(ctx, path, digest.key(), size); err != nil {
		return Digest{}, 0, fmt.Errorf("put content: %w", err)
	}
	return digest, size, nil
}

// receive writes content into a file of its own and makes it durable.
func (s *Store) receive(ctx context.Context, content io.Reader, limit int64) (path string, d Digest, size int64, err error) {
	f, err := os.CreateTemp(s.incoming, "*")
	if err != nil {
		return "", d, 0, unavailable(err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = unavailable(closed)
		}
	}()
	hash := sha256.New()
	in := &reader{ctx: ctx, r: content, left: limit}
	size, err = io.Copy(io.MultiWriter(hash, f), in)
	switch {
	case in.err != nil:
		return f.Name(), d, 0, in.err
	case err != nil:
		return f.Name(), d, 0, unavailable(err)
	}
	if err := f.Sync(); err != nil {
		return f.Name(), d, 0, unavailable(err)
	}
	hash.Sum(d[:0])
	return f.Name(), d, size, nil
}

// reader stops at the limit and when ctx ends, and remembers an error of the source, so
// that it is not taken for one of the disk.
type reader struct {
	ctx  context.Context
	r    io.Reader
	left int64
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	if int64(len(p)) > r.left {
		p = p[:r.left+1] // one more than allowed, to see that there is more
	}
	n, err := r.r.Read(p)
	if r.left -= int64(n); r.left < 0 {
		r.err = ErrTooLarge
		return 0, r.err
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// Open reads length bytes of a content from offset; length -1: to the end. A range beyond
// the end gives what there is. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Open(ctx context.Context, digest Digest, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("open content: offset %d and length %d make no range", offset, length)
	}
	r, err := s.bucket.NewRangeReader(ctx, digest.key(), offset, length, nil)
	if err != nil {
		return nil, fmt.Errorf("open content: %w", mapError(err))
	}
	return r, nil
}

// Size is the number of bytes of a content. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Size(ctx context.Context, digest Digest) (int64, error) {
	a, err := s.bucket.Attributes(ctx, digest.key())
	if err != nil {
		return 0, fmt.Errorf("read size of content: %w", mapError(err))
	}
	return a.Size, nil
}

// Delete deletes a content; one that is not there is no error. Readers that have it open
// may read on. Errors: ErrUnavailable.
func (s *Store) Delete(ctx context.Context, digest Digest) error {
	err := mapError(s.bucket.Delete(ctx, digest.key()))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete content: %w", err)
	}
	return nil
}

// Content is one entry of List.
type Content struct {
	Digest   Digest
	Size     int64
	Modified time.Time
}

// List calls each for every content, in order of digests. Contents that come or go
// meanwhile may be missed. Names that are no digests are passed over.
func (s *Store) List(ctx context.Context, each func(Content) error) error {
	const digits = "0123456789abcdef"
	for i := range 256 { // a page of a folder costs a walk: keep the walks small
		prefix := string([]byte{digits[i>>4], digits[i&15], '/'})
		entries := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			entry, err := entries.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("list contents: %w", mapError(err))
			}
			d, err := parseKey(entry.Key)
			if err != nil {
				continue
			}
			if err := each(Content{Digest: d, Size: entry.Size, Modified: entry.ModTime}); err != nil {
				return err
			}
		}
	}
	return nil
}

// DropUnfinished deletes what Puts that ended before that time left behind in a crash.
func (s *Store) DropUnfinished(before time.Time) error {
	entries, err := os.ReadDir(s.incoming)
	if err != nil {
		return unavailable(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone meanwhile, or still being written
		}
		if err := os.Remove(filepath.Join(s.incoming, entry.Name())); err != nil && !os.IsNotExist(err) {
			return unavailable(err)
		}
	}
	return nil
}

// Close gives up the bucket. Readers that are open may fail from then on.
func (s *Store) Close() error { return s.bucket.Close() }

func mapError(err error) error {
	if err == nil {
		return nil
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return fmt.Errorf("%w: %v", ErrNotFound, err)
	case gcerrors.Canceled, gcerrors.DeadlineExceeded:
		return err
	}
	return unavailable(err)
}

func unavailable(err error) error { return fmt.Errorf("%w: %v", ErrUnavailable, err) }
