package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// Sentinel errors.
var (
	ErrNotFound    = errors.New("content not found")
	ErrTooLarge    = errors.New("content too large")
	ErrUnavailable = errors.New("blob store unavailable") // disk full, I/O error, S3 does not answer
	ErrRefused     = errors.New("blob store refuses")     // beside ErrUnavailable: no bucket, no permission
	ErrDamaged     = errors.New("content is damaged: it does not match its digest")
	ErrNoAddress   = errors.New("contents have no address of their own") // of a folder
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

// Protect records a digest before its content is looked for. It returns when the content
// will not be deleted for at least an hour (store.Tx.ReserveBlob), or an error that Put
// returns. It waits for a deletion of that content that is under way.
type Protect func(ctx context.Context, digest Digest, size int64) error

// backend is where contents go to: a folder, or a bucket elsewhere.
type backend interface {
	// put moves the finished file of size bytes at path to key, durably, unless content of
	// that size is there. The file may or may not be left.
	put(ctx context.Context, path, key string, size int64) error
	// sweep drops what puts that began before that time left unfinished in the place.
	sweep(ctx context.Context, before time.Time) error
	// check tries what a store needs to be allowed.
	check(ctx context.Context) error
	// address gives a content an address that is enough to read it. Errors: ErrNoAddress.
	address(ctx context.Context, key string, d Download) (string, error)
	// owner reads, and own writes, durably, whose contents these are; "": not owned yet.
	owner(ctx context.Context) (string, error)
	own(ctx context.Context, name string) error
	String() string
}

// ownerKey is the key under which a backend names the installation that its contents belong to. It is no key of a
// content.
const ownerKey = "installation"

// maxOwnerBytes bounds the bytes that are read from ownerKey.
const maxOwnerBytes = 256

// Config is what every backend needs.
type Config struct {
	// Folder holds all contents; it is made if it is missing. It gets two folders: content, and incoming
	// for contents that are still being written. If the contents are in a bucket, it has only incoming.
	Folder string
	// Protect is called by Put; nil: no protection, for tools that never delete.
	Protect Protect
	Log     *slog.Logger // nil: nothing is logged
	// MaxPause is the longest pause before a request to a bucket is repeated; default 1 s.
	MaxPause time.Duration
	// MaxSilence is the maximum of time without a byte on a connection to a bucket; default 10 s.
	MaxSilence time.Duration
}

// Store is a set of contents.
type Store struct {
	bucket   *blob.Bucket
	backend  backend
	prefixes []string // of keys, in order; together they cover every key
	incoming string
	durable  bool // a file in incoming has to survive a power cut before it is put
	protect  Protect
	log      *slog.Logger

	swept atomic.Int64 // Unix time at which the backend was last asked for unfinished uploads
}

func (c Config) store(b *blob.Bucket, p backend, incoming string) *Store {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{bucket: b, backend: p, incoming: incoming, protect: c.Protect, log: c.Log}
}

// Open opens a store. Of a Location without folder and bucket, c.Folder holds the contents.
// Nothing is asked of a bucket yet: see Check. Errors: ErrUnavailable, and ErrRefused where no
// repetition helps.
func Open(ctx context.Context, l Location, c Config) (*Store, error) {
	if l.Bucket != "" {
		return openBucket(ctx, l, c)
	}
	if l.Folder != "" {
		c.Folder = l.Folder
	}
	return OpenFolder(c)
}

// String names the place in messages.
func (s *Store) String() string { return s.backend.String() }

// Check writes, reads, lists and deletes something that is no content. Errors:
// ErrUnavailable, and ErrRefused where no repetition helps.
func (s *Store) Check(ctx context.Context) error {
	if err := s.backend.check(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.backend, err)
	}
	return nil
}

// Owner is the name that SetOwner has left in the place; "": none. Errors: ErrUnavailable,
// ErrRefused.
func (s *Store) Owner(ctx context.Context) (string, error) {
	name, err := s.backend.owner(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: read whose contents it holds: %w", s.backend, err)
	}
	return name, nil
}

// SetOwner notes in the place, durably, whose contents it holds. Errors: ErrUnavailable,
// ErrRefused.
func (s *Store) SetOwner(ctx context.Context, name string) error {
	if err := s.backend.own(ctx, name); err != nil {
		return fmt.Errorf("%s: note whose contents it holds: %w", s.backend, err)
	}
	return nil
}

// Download says with which headers a bucket serves a content by a signed address.
type Download struct {
	Disposition string // Content-Disposition
	ContentType string
	Life        time.Duration // from now on, at least a second
}

// Address returns a signed address, from which a client can read a content directly for a while.
// It does not check that the content exists. Errors: ErrNoAddress, ErrUnavailable.
func (s *Store) Address(ctx context.Context, digest Digest, d Download) (string, error) {
	d.Life = max(d.Life, time.Second)
	address, err := s.backend.address(ctx, digest.key(), d)
	if err != nil {
		return "", fmt.Errorf("sign the address of content: %w", err)
	}
	return address, nil
}

// Put stores what it reads, at most limit bytes (ErrTooLarge), and returns its digest and
// size. Errors: ErrTooLarge, ErrUnavailable, errors of content and of Protect as they are.
func (s *Store) Put(ctx context.Context, content io.Reader, limit int64) (Digest, int64, error) {
	path, digest, size, err := s.receive(ctx, content, limit)
	if path != "" {
		defer os.Remove(path)
	}
	if err != nil {
		return Digest{}, 0, err
	}
	if s.protect != nil {
		if err := s.protect(ctx, digest, size); err != nil {
			return Digest{}, 0, fmt.Errorf("protect content: %w", err)
		}
	}
	if err := s.backend.put(ctx, path, digest.key(), size); err != nil {
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
	if s.durable {
		if err := f.Sync(); err != nil {
			return f.Name(), d, 0, unavailable(err)
		}
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
// the end gives what there is. Reading the whole content ends with ErrDamaged, before its last
// byte, if it does not match its digest; a part cannot be checked. Errors: ErrNotFound,
// ErrUnavailable, ErrDamaged; the reader's: ErrUnavailable, ErrDamaged, that of ctx.
func (s *Store) Open(ctx context.Context, digest Digest, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("open content: offset %d and length %d make no range", offset, length)
	}
	r, err := s.bucket.NewRangeReader(ctx, digest.key(), offset, length, nil)
	if isBeyondEnd(err) {
		if size, sizeErr := s.Size(ctx, digest); sizeErr == nil && offset >= size {
			return io.NopCloser(strings.NewReader("")), nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open content: %w", mapError(ctx, err))
	}
	content, err := s.read(ctx, digest, r, offset, length)
	if err != nil {
		return nil, fmt.Errorf("open content: %w", err)
	}
	return content, nil
}

// Size is the number of bytes of a content. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Size(ctx context.Context, digest Digest) (int64, error) {
	a, err := s.bucket.Attributes(ctx, digest.key())
	if err != nil {
		return 0, fmt.Errorf("read size of content: %w", mapError(ctx, err))
	}
	return a.Size, nil
}

// Delete deletes a content; one that is not there is no error. Readers that have it open
// may read on. Errors: ErrUnavailable.
func (s *Store) Delete(ctx context.Context, digest Digest) error {
	err := mapError(ctx, s.bucket.Delete(ctx, digest.key()))
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
	for _, prefix := range s.prefixes {
		entries := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			entry, err := entries.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("list contents: %w", mapError(ctx, err))
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

// sweepEvery is the pause between two requests to a bucket for its unfinished uploads.
const sweepEvery = time.Hour

// DropUnfinished deletes what Puts that began before that time left behind in a crash. It may
// be called often: a bucket is asked at most once an hour.
func (s *Store) DropUnfinished(ctx context.Context, before time.Time) error {
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
	now, last := time.Now().Unix(), s.swept.Load()
	if now-last < int64(sweepEvery/time.Second) || !s.swept.CompareAndSwap(last, now) {
		return nil
	}
	return s.backend.sweep(ctx, before)
}

// Close closes the connection to the bucket. Readers that are open may fail from then on.
func (s *Store) Close() error { return s.bucket.Close() }
