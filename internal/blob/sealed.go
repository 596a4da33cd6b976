package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/chargehand/chargehand/internal/secret"
)

// damaged says that what is sealed under a name cannot be opened.
func damaged(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
}

// sealingWriter seals what is written to it into a new file. The file is whole after finish.
type sealingWriter struct {
	to      *os.File
	content *secret.Content
	chunk   []byte // not sealed yet: which chunk is the last one is known at the end
	number  int64  // of the chunk
}

func (w *sealingWriter) Write(p []byte) (n int, err error) {
	if w.chunk == nil {
		// The head comes at the end: it is tied to the digest.
		if _, err := w.to.Seek(secret.ContentHeaderBytes, io.SeekStart); err != nil {
			return 0, err
		}
		w.chunk = make([]byte, 0, secret.ContentChunkBytes+secret.ContentTagBytes)
	}
	for len(p) > 0 {
		if len(w.chunk) == secret.ContentChunkBytes {
			if err := w.seal(false); err != nil {
				return n, err
			}
		}
		some := min(len(p), secret.ContentChunkBytes-len(w.chunk))
		w.chunk = append(w.chunk, p[:some]...)
		p, n = p[some:], n+some
	}
	return n, nil
}

func (w *sealingWriter) seal(last bool) error {
	sealed, err := w.content.SealChunk(w.chunk[:0], w.chunk, w.number, last)
	if err == nil {
		_, err = w.to.Write(sealed)
	}
	w.chunk, w.number = w.chunk[:0], w.number+1
	return err
}

func (w *sealingWriter) finish(digest [sha256.Size]byte) error {
	if _, err := w.Write(nil); err != nil {
		return err
	}
	if err := w.seal(true); err != nil {
		return err
	}
	_, err := w.to.WriteAt(w.content.Header(digest), 0)
	return err
}

// sealedReader reads a part of a sealed content. Every chunk is opened, and so checked, before any of it is given.
type sealedReader struct {
	stored  *storedReader
	digest  Digest
	content *secret.Content
	size    int64 // of the content
	at, end int64 // in it
	chunk   []byte
	rest    []byte    // of the chunk that was opened last
	read    io.Writer // gets what was read, as it is stored; nil: nothing does
	err     error
}

func (s *Store) openSealed(ctx context.Context, digest Digest, offset, length int64) (io.ReadCloser, error) {
	name, err := s.Name(digest)
	if err != nil {
		return nil, err
	}
	headLength := int64(-1) // the whole content follows
	if offset > 0 {
		headLength = secret.ContentHeaderBytes
	} else if length >= 0 && length < secret.MaxContentBytes {
		headLength = secret.SealedContentBytes(chunkEnd(length))
	}
	stored, err := s.stored(ctx, name.Key(), 0, headLength)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	r := &sealedReader{stored: stored, digest: digest}
	if err := r.open(ctx, name, offset, length); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// chunkEnd is the end of the chunk that holds the byte before a position.
func chunkEnd(position int64) int64 {
	chunks := (position + secret.ContentChunkBytes - 1) / secret.ContentChunkBytes
	return chunks * secret.ContentChunkBytes
}

// open reads the head, and goes to the chunk at offset.
func (r *sealedReader) open(ctx context.Context, name Name, offset, length int64) (err error) {
	if r.size, err = name.size(r.stored.total); err != nil {
		return r.damage(err)
	}
	head := make([]byte, secret.ContentHeaderBytes)
	if err := r.readStored(head); err != nil {
		return err
	}
	if r.content, err = r.stored.store.sealer.OpenContent(head, r.digest.Sum); err != nil {
		return r.damage(err)
	}
	first := offset / secret.ContentChunkBytes
	r.at, r.end = first*secret.ContentChunkBytes, r.size
	if length >= 0 && length < r.size-offset {
		r.end = offset + length
	}
	if r.end <= offset && (r.size > 0 || offset > 0) { // nothing to read; of an empty content its only chunk is checked
		r.at = r.end
		return nil
	}
	if offset > 0 {
		store, total := r.stored.store, r.stored.total
		r.stored.Close()
		from := secret.ContentHeaderBytes + first*(secret.ContentChunkBytes+secret.ContentTagBytes)
		upTo := min(total, secret.SealedContentBytes(chunkEnd(r.end)))
		again, err := store.stored(ctx, name.Key(), from, upTo-from)
		if err != nil {
			return store.fault(ctx, err)
		}
		if r.stored = again; again.total != total {
			return r.damage(fmt.Errorf("it has %d bytes, and had %d", again.total, total))
		}
	}
	if err := r.next(); err != nil {
		return err
	}
	skip := min(offset-r.at, int64(len(r.rest)))
	r.at, r.rest = r.at+skip, r.rest[skip:]
	return nil
}

// next opens the chunk at the position.
func (r *sealedReader) next() error {
	number := r.at / secret.ContentChunkBytes
	start := number * secret.ContentChunkBytes
	last := r.size-start <= secret.ContentChunkBytes
	length := min(secret.ContentChunkBytes, r.size-start) + secret.ContentTagBytes
	if r.chunk == nil {
		r.chunk = make([]byte, length)
	}
	sealed := r.chunk[:length]
	if err := r.readStored(sealed); err != nil {
		return err
	}
	chunk, err := r.content.OpenChunk(sealed[:0], sealed, number, last)
	if err != nil {
		return r.damage(err)
	}
	r.rest = chunk
	return nil
}

// readStored fills p with what is stored next. An end where there must be more is an outage.
func (r *sealedReader) readStored(p []byte) error {
	_, err := io.ReadFull(r.stored, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read content: %w", Unavailable(io.ErrUnexpectedEOF))
	}
	if err == nil && r.read != nil {
		_, err = r.read.Write(p)
	}
	return err
}

func (r *sealedReader) damage(err error) error {
	r.stored.store.log.Error("a stored content cannot be opened", "digest", r.digest.String(), "error", err)
	if errors.Is(err, ErrDamaged) {
		return err
	}
	return damaged(r.digest.String(), err)
}

func (r *sealedReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.at >= r.end {
		return 0, io.EOF
	}
	if len(r.rest) == 0 {
		if r.err = r.next(); r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.rest[:min(int64(len(r.rest)), r.end-r.at)])
	r.at, r.rest = r.at+int64(n), r.rest[n:]
	return n, nil
}

func (r *sealedReader) Close() error { return r.stored.Close() }

// openedReader reads a sealed content as it is stored. It gives each part only after that could be opened.
type openedReader struct {
	sealedReader
	opened bytes.Buffer // and not given yet
}

func (s *Store) newOpenedReader(ctx context.Context, stored *storedReader, name Name) (*openedReader, error) {
	digest, err := s.Digest(name)
	if err != nil {
		return nil, err
	}
	r := &openedReader{sealedReader: sealedReader{stored: stored, digest: digest}}
	r.read = &r.opened
	return r, r.open(ctx, name, 0, -1)
}

func (r *openedReader) Read(p []byte) (int, error) {
	for r.opened.Len() == 0 {
		if r.at += int64(len(r.rest)); r.at >= r.end {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	return r.opened.Read(p)
}

// Copy copies a content as it is stored, and returns its size. What is sealed stays sealed: it is checked on the way if
// from has the keys, and else only when it is read. Other contents are always checked on the way. Errors: ErrNotFound,
// ErrUnavailable, ErrOneFile of from alone, ErrDamaged.
func Copy(ctx context.Context, from, to *Store, name Name) (int64, error) {
	if !name.Sealed() {
		return copyPlain(ctx, from, to, name)
	}
	in, err := from.stored(ctx, name.Key(), 0, -1)
	if err != nil {
		return 0, fmt.Errorf("open content: %w", from.fault(ctx, err))
	}
	defer in.Close()
	size, err := name.size(in.total)
	if err != nil {
		return 0, err
	}
	var content io.Reader = in
	if from.sealer != nil {
		if content, err = from.newOpenedReader(ctx, in, name); err != nil {
			return 0, fmt.Errorf("open content: %w", err)
		}
	}
	got, err := to.receive(ctx, content, in.total, false)
	if got.path != "" {
		defer os.Remove(got.path)
	}
	if err != nil {
		return 0, err
	}
	if err := to.backend.Put(ctx, got.path, name.Key(), got.stored); err != nil {
		return 0, fmt.Errorf("put content: %w", err)
	}
	return size, nil
}

func copyPlain(ctx context.Context, from, to *Store, name Name) (int64, error) {
	digest, err := from.Digest(name)
	if err != nil {
		return 0, err
	}
	content, err := from.Open(ctx, digest, 0, -1)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	put, size, err := to.Put(ctx, content, 1<<63-1)
	if err == nil && put != digest {
		err = fmt.Errorf("%w: the digest of %s is %s", ErrDamaged, digest, put)
	}
	return size, err
}
