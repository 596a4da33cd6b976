package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"gocloud.dev/blob"
)

// maxReopenings bounds how often one reader reconnects after a connection that was cut.
const maxReopenings = 5

// contentReader reads a part of a content. It continues where a connection was cut, and gives
// the last byte of a whole content only after the digest has proved right: a client that counts the
// bytes, as every HTTP client does, notices that something is missing.
type contentReader struct {
	ctx     context.Context
	store   *Store
	digest  Digest
	at, end int64
	from    io.ReadCloser
	hash    hash.Hash // nil: of a part there is no digest
	reopens int
	err     error
}

func (s *Store) read(ctx context.Context, digest Digest, from *blob.Reader, offset, length int64) (io.ReadCloser, error) {
	r := &contentReader{ctx: ctx, store: s, digest: digest, at: offset, end: from.Size(), from: from}
	if length >= 0 && length < r.end-offset {
		r.end = offset + length
	}
	if offset == 0 && r.end == from.Size() {
		r.hash = sha256.New()
		if err := r.verify(); err != nil {
			from.Close()
			return nil, err
		}
	}
	return r, nil
}

func (r *contentReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.at >= r.end {
		return 0, io.EOF
	}
	if int64(len(p)) > r.end-r.at {
		p = p[:r.end-r.at]
	}
	for len(p) > 0 {
		n, err := r.from.Read(p)
		if n > 0 {
			if r.hash != nil {
				r.hash.Write(p[:n])
			}
			r.at += int64(n)
			if r.err = r.verify(); r.err != nil {
				return 0, r.err
			}
			return n, nil
		}
		if err == nil {
			continue
		}
		if r.err = r.reopen(err); r.err != nil {
			return 0, r.err
		}
	}
	return 0, nil
}

// verify compares the digest at the end of a whole content.
func (r *contentReader) verify() error {
	if r.hash == nil || r.at < r.end || r.digest == Digest(r.hash.Sum(nil)) {
		return nil
	}
	r.store.log.Error("a stored content does not match its digest", "digest", r.digest.String(), "bytes", r.end)
	return fmt.Errorf("%w: %s", ErrDamaged, r.digest)
}

// reopen continues at the same position after an error.
func (r *contentReader) reopen(cause error) error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	cause = fmt.Errorf("read content: %w", mapError(r.ctx, cause))
	if r.reopens++; r.reopens > maxReopenings || r.ctx.Err() != nil {
		return cause
	}
	r.from.Close()
	again, err := r.store.bucket.NewRangeReader(r.ctx, r.digest.key(), r.at, r.end-r.at, nil)
	if err != nil {
		r.from = io.NopCloser(nil)
		return fmt.Errorf("read content: %w", mapError(r.ctx, err))
	}
	r.from = again
	return nil
}

func (r *contentReader) Close() error { return r.from.Close() }
