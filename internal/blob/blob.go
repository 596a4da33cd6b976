package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"

	"github.com/chargehand/chargehand/internal/secret"
)

// Sentinel errors.
var (
	ErrNotFound    = errors.New("content not found")
	ErrTooLarge    = errors.New("content too large")
	ErrUnavailable = errors.New("blob store unavailable") // disk full, I/O error, S3 does not answer
	ErrRefused     = errors.New("blob store refuses")     // beside ErrUnavailable: no bucket, no permission
	ErrOneFile     = errors.New("the file of a content")  // beside ErrUnavailable: others of the folder may be well
	ErrDamaged     = errors.New("content is damaged: it does not match its digest")
	ErrNoAddress   = errors.New("contents have no address of their own") // of a folder
	ErrBadName     = errors.New("not the name of a content")
	ErrNoKeys      = errors.New("the content is sealed, and there are no keys here")
)

// Protect records a digest before its content is looked for. It returns when the content
// will not be deleted for at least an hour (store.Tx.ReserveBlob), or an error that Put
// returns. It waits for a deletion of that content that is under way.
type Protect func(ctx context.Context, digest Digest, size int64) error

// Backend is where contents go to: a folder, or a bucket elsewhere. It is what a gocloud.dev bucket, which reads,
// lists and deletes, does not offer. Its methods are safe for concurrent use.
type Backend interface {
	// Put moves the finished file of size bytes at path to a key (Name.Key), durably, unless content of
	// that size is there. The file may or may not be left.
	Put(ctx context.Context, path, key string, size int64) error
	// Sweep drops what Puts that began before that time left unfinished in the place.
	Sweep(ctx context.Context, before time.Time) error
	// Check tries what a store needs to be allowed.
	Check(ctx context.Context) error
	// Address gives a content an address that is enough to read it. Errors: ErrNoAddress.
	Address(ctx context.Context, key string, d Download) (string, error)
	// Owner reads, and Own writes, durably, under OwnerKey, whose contents these are; "": not owned yet.
	Owner(ctx context.Context) (string, error)
	Own(ctx context.Context, name string) error
	// Fault makes an error of the place, other than nil, one of the sentinel errors.
	Fault(err error) error
	// BeyondEnd tells whether an error says that a range starts at or behind the end of a content.
	BeyondEnd(err error) bool
	String() string
}

// OwnerKey is the key under which a backend names the installation that its contents belong to. It is no key of a
// content.
const OwnerKey = "installation"

// MaxOwnerBytes bounds the bytes that are read from OwnerKey.
const MaxOwnerBytes = 256

// Config is what every backend needs.
type Config struct {
	// Folder holds all contents; it is made if it is missing. It gets two folders: content, and incoming
	// for contents that are still being written. If the contents are in a bucket, it has only incoming.
	Folder string
	// Protect is called by Put; nil: no protection, for tools that never delete.
	Protect Protect
	Log     *slog.Logger // nil: nothing is logged
	// Sealer opens what is sealed; nil: sealed contents can only be listed, and copied unchecked.
	Sealer *secret.Sealer
	// Seal has Put seal contents. It needs Sealer.
	Seal bool
	// MaxPause is the longest pause before a request to a bucket is repeated; default 1 s.
	MaxPause time.Duration
	// MaxSilence is the maximum of time without a byte on a connection to a bucket; default 10 s.
	MaxSilence time.Duration
}

// Store is a set of contents.
type Store struct {
	bucket   *blob.Bucket
	backend  Backend
	prefixes []string // of keys, in order; together they cover every key
	incoming string
	durable  bool // a file in incoming has to survive a power cut before it is put
	protect  Protect
	sealer   *secret.Sealer
	seal     bool
	log      *slog.Logger

	swept atomic.Int64 // Unix time at which the backend was last asked for unfinished uploads
}

// New makes a store of a bucket and the backend beside it. Keys begin with one of prefixes, and a list goes through
// them one after the other. Config.Folder gets the folder incoming. Errors: ErrUnavailable.
func New(b *blob.Bucket, backend Backend, prefixes []string, c Config) (*Store, error) {
	incoming := filepath.Join(c.Folder, "incoming")
	if err := os.MkdirAll(incoming, 0o700); err != nil {
		return nil, fmt.Errorf("open blob store: %w", Unavailable(err))
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{
		bucket: b, backend: backend, prefixes: prefixes, incoming: incoming, protect: c.Protect,
		sealer: c.Sealer, seal: c.Seal && c.Sealer != nil, log: c.Log,
	}, nil
}

// String names the place in messages.
func (s *Store) String() string { return s.backend.String() }

// Check writes, reads, lists and deletes something that is no content. Errors:
// ErrUnavailable, and ErrRefused where no repetition helps.
func (s *Store) Check(ctx context.Context) error {
	if err := s.backend.Check(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.backend, err)
	}
	return nil
}

// Owner is the name that SetOwner has left in the place; "": none. Errors: ErrUnavailable,
// ErrRefused.
func (s *Store) Owner(ctx context.Context) (string, error) {
	name, err := s.backend.Owner(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: read whose contents it holds: %w", s.backend, err)
	}
	return name, nil
}

// SetOwner notes in the place, durably, whose contents it holds. Errors: ErrUnavailable,
// ErrRefused.
func (s *Store) SetOwner(ctx context.Context, name string) error {
	if err := s.backend.Own(ctx, name); err != nil {
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
// It does not check that the content exists. Errors: ErrNoAddress, also of what is sealed; ErrUnavailable.
func (s *Store) Address(ctx context.Context, digest Digest, d Download) (string, error) {
	if digest.Sealed {
		return "", ErrNoAddress // a client would get what is sealed
	}
	d.Life = max(d.Life, time.Second)
	address, err := s.backend.Address(ctx, plainName(digest.Sum).Key(), d)
	if err != nil {
		return "", fmt.Errorf("sign the address of content: %w", err)
	}
	return address, nil
}

// Put stores what it reads, at most limit bytes (ErrTooLarge), and returns its digest and
// size. Errors: ErrTooLarge, ErrUnavailable, errors of content and of Protect as they are.
func (s *Store) Put(ctx context.Context, content io.Reader, limit int64) (Digest, int64, error) {
	if s.seal {
		limit = min(limit, secret.MaxContentBytes)
	}
	in, err := s.receive(ctx, content, limit, s.seal)
	if in.path != "" {
		defer os.Remove(in.path)
	}
	if err != nil {
		return Digest{}, 0, err
	}
	if s.protect != nil {
		if err := s.protect(ctx, in.digest, in.size); err != nil {
			return Digest{}, 0, fmt.Errorf("protect content: %w", err)
		}
	}
	name, err := s.Name(in.digest)
	if err != nil {
		return Digest{}, 0, err
	}
	if err := s.backend.Put(ctx, in.path, name.Key(), in.stored); err != nil {
		return Digest{}, 0, fmt.Errorf("put content: %w", err)
	}
	return in.digest, in.size, nil
}

// received is a content in a file of its own.
type received struct {
	path   string
	digest Digest
	size   int64 // of the content
	stored int64 // of the file
}

// receive writes content into a file of its own, sealed if it is to be, and makes it durable.
func (s *Store) receive(ctx context.Context, content io.Reader, limit int64, seal bool) (got received, err error) {
	f, err := os.CreateTemp(s.incoming, "*")
	if err != nil {
		return got, Unavailable(err)
	}
	got.path = f.Name()
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = Unavailable(closed)
		}
	}()
	hash := sha256.New()
	var to io.Writer = f
	var sealed *sealingWriter
	if seal {
		sealed = &sealingWriter{to: f, content: s.sealer.NewContent()}
		to = sealed
	}
	in := &reader{ctx: ctx, r: content, left: limit}
	got.size, err = io.Copy(io.MultiWriter(hash, to), in)
	got.digest.Sum, got.stored = [sha256.Size]byte(hash.Sum(nil)), got.size
	switch {
	case in.err != nil:
		return got, in.err
	case err != nil:
		return got, Unavailable(err)
	}
	if sealed != nil {
		got.digest.Sealed, got.stored = true, secret.SealedContentBytes(got.size)
		if err := sealed.finish(got.digest.Sum); err != nil {
			return got, Unavailable(err)
		}
	}
	if s.durable {
		if err := f.Sync(); err != nil {
			return got, Unavailable(err)
		}
	}
	return got, nil
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

// WriteTo writes a content that is in memory in one piece. io.Copy calls it.
func (r *reader) WriteTo(to io.Writer) (int64, error) {
	content, ok := r.r.(*bytes.Reader)
	if r.err = r.ctx.Err(); r.err != nil || !ok || int64(content.Len()) > r.left {
		return io.Copy(to, struct{ io.Reader }{r})
	}
	return content.WriteTo(to)
}

// Open reads length bytes of a content from offset; length -1: to the end. A range beyond
// the end gives what there is. Reading the whole content ends with ErrDamaged, before its last
// byte, if it does not match its digest; a part cannot be checked. Of what is sealed, every part is checked.
// Errors: ErrNotFound, ErrUnavailable, ErrDamaged, ErrNoKeys; the reader's: ErrUnavailable, ErrDamaged, that of ctx.
func (s *Store) Open(ctx context.Context, digest Digest, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("open content: offset %d and length %d make no range", offset, length)
	}
	open := s.openPlain
	if digest.Sealed {
		open = s.openSealed
	} else if s.sealer.RefusesClear() {
		return nil, fmt.Errorf("open content %s: %w: %w", digest, ErrDamaged, secret.ErrClear)
	}
	content, err := open(ctx, digest, offset, length)
	if err != nil {
		return nil, fmt.Errorf("open content: %w", err)
	}
	return content, nil
}

// Size is the number of bytes of a content. Errors: ErrNotFound, ErrUnavailable, ErrDamaged, ErrNoKeys.
func (s *Store) Size(ctx context.Context, digest Digest) (int64, error) {
	name, err := s.Name(digest)
	if err != nil {
		return 0, err
	}
	return s.SizeOf(ctx, name)
}

// SizeOf is Size of the content with a name. It needs no keys.
func (s *Store) SizeOf(ctx context.Context, name Name) (int64, error) {
	a, err := s.bucket.Attributes(ctx, name.Key())
	if err != nil {
		return 0, fmt.Errorf("read size of content: %w", s.fault(ctx, err))
	}
	size, err := name.size(a.Size)
	if err != nil {
		return 0, fmt.Errorf("read size of content: %w", err)
	}
	return size, nil
}

// Delete deletes a content; one that is not there is no error. Readers that have it open
// may read on. Errors: ErrUnavailable, ErrNoKeys.
func (s *Store) Delete(ctx context.Context, digest Digest) error {
	name, err := s.Name(digest)
	if err != nil {
		return err
	}
	err = s.fault(ctx, s.bucket.Delete(ctx, name.Key()))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("delete content: %w", err)
	}
	return nil
}

// Content is one entry of List.
type Content struct {
	Name     Name
	Size     int64 // -1: it is sealed, and was cut off
	Modified time.Time
}

// List calls each for every content, in the order of names. It needs no keys. Contents that come or go
// meanwhile may be missed. Other names are passed over.
func (s *Store) List(ctx context.Context, each func(Content) error) error {
	for _, prefix := range s.prefixes {
		entries := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			entry, err := entries.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("list contents: %w", s.fault(ctx, err))
			}
			name, err := ParseKey(entry.Key)
			if err != nil {
				continue
			}
			size, err := name.size(entry.Size)
			if err != nil {
				size = -1
			}
			if err := each(Content{Name: name, Size: size, Modified: entry.ModTime}); err != nil {
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
		return Unavailable(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone meanwhile, or still being written
		}
		if err := os.Remove(filepath.Join(s.incoming, entry.Name())); err != nil && !os.IsNotExist(err) {
			return Unavailable(err)
		}
	}
	now, last := time.Now().Unix(), s.swept.Load()
	if now-last < int64(sweepEvery/time.Second) || !s.swept.CompareAndSwap(last, now) {
		return nil
	}
	return s.backend.Sweep(ctx, before)
}

// Close closes the connection to the bucket. Readers that are open may fail from then on.
func (s *Store) Close() error { return s.bucket.Close() }
