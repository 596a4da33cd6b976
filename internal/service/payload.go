package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

// blobError makes the sentinel errors of the blob store those of the store.
func blobError(err error) error {
	switch {
	case errors.Is(err, blob.ErrUnavailable):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return err
}

// pack makes the payload of a value: inline, or as a blob if it is large.
func (s *Service) pack(ctx context.Context, data []byte) (store.Payload, error) {
	if len(data) <= s.limits.InlinePayloadBytes {
		return store.Payload{Inline: data, Size: int64(len(data))}, nil
	}
	digest, size, err := s.blobs.Put(ctx, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return store.Payload{}, storageError(blobError(err))
	}
	return store.Payload{Blob: digest.Bytes(), Size: size}, nil
}

// unpack is the inverse of pack. It must not be called within a View.
func (s *Service) unpack(ctx context.Context, p store.Payload) ([]byte, error) {
	if p.Damage != nil {
		return nil, p.Damage
	}
	if p.Blob == nil {
		return p.Inline, nil
	}
	from, err := s.openContent(ctx, p.Blob, p.Size)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	data := make([]byte, p.Size)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, storageError(fmt.Errorf("read payload: %w", blobError(err)))
	}
	return data, nil
}

// content reads a blob of known size from any place of it.
type content struct {
	ctx    context.Context
	blobs  *blob.Store
	digest blob.Digest
	size   int64
	at     int64
	open   io.ReadCloser // at the place openAt; nil: not open
	openAt int64
}

// openContent opens a blob, so that one that is missing is noticed at once.
func (s *Service) openContent(ctx context.Context, digest []byte, size int64) (*content, error) {
	c := &content{ctx: ctx, blobs: s.blobs, digest: blob.DigestOf(digest), size: size}
	var err error
	if c.open, err = c.blobs.Open(ctx, c.digest, 0, -1); err != nil {
		return nil, storageError(blobError(err))
	}
	return c, nil
}

func (c *content) Read(b []byte) (n int, err error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	if c.open == nil || c.openAt != c.at {
		c.close()
		if c.open, err = c.blobs.Open(c.ctx, c.digest, c.at, -1); err != nil {
			c.open = nil
			return 0, blobError(err)
		}
	}
	n, err = c.open.Read(b)
	c.at += int64(n)
	c.openAt = c.at
	return n, err
}

// Seek opens nothing: who asks for the size, by the end, goes back to where it was.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of the content")
	}
	c.at = offset
	return offset, nil
}

func (c *content) Close() error {
	c.close()
	return nil
}

func (c *content) close() {
	if c.open != nil {
		c.open.Close()
		c.open = nil
	}
}
