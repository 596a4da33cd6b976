package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// maxReopenings bounds how often one reader reconnects after a connection that was cut.
const maxReopenings = 5

// storedReader reads what is stored under a key, from at to end. It continues where a connection was cut.
type storedReader struct {
	ctx     context.Context
	store   *Store
	key     string
	at, end int64
	total   int64 // bytes that are stored
	from    io.ReadCloser
	reopens int
}

// stored opens length bytes of what is stored under a key, from offset; -1: to the end.
func (s *Store) stored(ctx context.Context, key string, offset, length int64) (*storedReader, error) {
	from, err := s.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	r := &storedReader{ctx: ctx, store: s, key: key, at: offset, total: from.Size(), end: from.Size(), from: from}
	if length >= 0 && length < r.end-offset {
		r.end = offset + length
	}
	return r, nil
}

func (r *storedReader) Read(p []byte) (int, error) {
	if r.at >= r.end {
		return 0, io.EOF
	}
	if int64(len(p)) > r.end-r.at {
		p = p[:r.end-r.at]
	}
	for len(p) > 0 {
		n, err := r.from.Read(p)
		if n > 0 {
			r.at += int64(n)
			return n, nil
		}
		if err == nil {
			continue
		}
		if err := r.reopen(err); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// reopen continues at the same position after an error.
func (r *storedReader) reopen(cause error) error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	cause = fmt.Errorf("read content: %w", r.store.fault(r.ctx, cause))
	if r.reopens++; r.reopens > maxReopenings || r.ctx.Err() != nil {
		return cause
	}
	r.from.Close()
	again, err := r.store.bucket.NewRangeReader(r.ctx, r.key, r.at, r.end-r.at, nil)
	if err != nil {
		r.from = io.NopCloser(nil)
		return fmt.Errorf("read content: %w", r.store.fault(r.ctx, err))
	}
	r.from = again
	return nil
}

func (r *storedReader) Close() error { return r.from.Close() }

// contentReader reads a part of a content that is not sealed. It gives
// the last byte of a whole content only after the digest has proved right: a client that counts the
// bytes, as every HTTP client does, notices that something is missing.
type contentReader struct {
	*storedReader
	digest Digest
	hash   hash.Hash // nil: of a part there is no digest
	err    error
}

func (s *Store) openPlain(ctx context.Context, digest Digest, offset, length int64) (io.ReadCloser, error) {
	stored, err := s.stored(ctx, plainName(digest.Sum).Key(), offset, length)
	if s.backend.BeyondEnd(err) {
		if size, sizeErr := s.Size(ctx, digest); sizeErr == nil && offset >= size {
			return io.NopCloser(strings.NewReader("")), nil
		}
	}
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	r := &contentReader{storedReader: stored, digest: digest}
	if offset == 0 && stored.end == stored.total {
		r.hash = sha256.New()
		if err := r.verify(); err != nil {
			stored.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *contentReader) Read(p []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err = r.storedReader.Read(p)
	if n > 0 && r.hash != nil {
		r.hash.Write(p[:n])
		if err := r.verify(); err != nil {
			r.err = err
			return 0, err
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// verify compares the digest at the end of a whole content.
func (r *contentReader) verify() error {
	if r.hash == nil || r.at < r.end || r.digest.Sum == [sha256.Size]byte(r.hash.Sum(nil)) {
		return nil
	}
	r.store.log.Error("a stored content does not match its digest", "digest", r.digest.String(), "bytes", r.end)
	return fmt.Errorf("%w: %s", ErrDamaged, r.digest)
}
