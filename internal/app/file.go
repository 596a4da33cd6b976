package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// condemnedPause is the pause between two reads of the row of a content that is just
// being deleted.
const condemnedPause = 20 * time.Millisecond

// openBlobs opens the store of files and waits until it can be used. What is put is reserved in
// db first, so that the sweep leaves it alone until something refers to it.
func openBlobs(ctx context.Context, cfg Config, db *store.Store, sealer *secret.Sealer) (*blob.Store, error) {
	blobs, err := cfg.OpenContents(ctx, sealer, func(ctx context.Context, digest blob.Digest, size int64) error {
		for {
			err := db.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(digest.Bytes(), size) })
			if !errors.Is(err, store.ErrConflict) {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(condemnedPause):
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := cfg.AwaitContents(ctx, blobs); err != nil {
		blobs.Close()
		return nil, err
	}
	return blobs, nil
}

// payloads keeps large payloads of the engine in the blob store (engine.Blobs).
type payloads struct{ blobs *blob.Store }

func (p payloads) Put(ctx context.Context, data []byte) ([]byte, error) {
	digest, _, err := p.blobs.Put(ctx, bytes.NewReader(data), math.MaxInt64)
	if errors.Is(err, blob.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	return digest.Bytes(), nil
}

func (p payloads) Get(ctx context.Context, digest []byte) ([]byte, error) {
	content, err := p.blobs.Open(ctx, blob.DigestOf(digest), 0, -1)
	var data []byte
	if err == nil {
		defer content.Close()
		data, err = io.ReadAll(content)
	}
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case errors.Is(err, blob.ErrDamaged): // it is no better later
		return nil, fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return data, nil
}

// files gives activities access to stored files (activity.Files).
type files struct {
	db    *store.Store
	blobs *blob.Store
	limit int64 // bytes of one file

	mu       sync.Mutex
	accounts map[chargehand.AccountID]int64 // internal numbers; they never change
}

func newFiles(db *store.Store, blobs *blob.Store, limit int64) *files {
	return &files{db: db, blobs: blobs, limit: limit, accounts: map[chargehand.AccountID]int64{}}
}

func (f *files) account(ctx context.Context, id chargehand.AccountID) (int64, error) {
	f.mu.Lock()
	no, known := f.accounts[id]
	f.mu.Unlock()
	if known {
		return no, nil
	}
	err := patiently(ctx, func() error {
		return f.db.View(ctx, func(r *store.Reader) error {
			account, err := r.AccountByID(id)
			no = account.No
			return err
		})
	})
	if err == nil {
		f.mu.Lock()
		f.accounts[id] = no
		f.mu.Unlock()
	}
	return no, err
}

// Open implements activity.Files.
func (f *files) Open(ctx context.Context, account chargehand.AccountID, env chargehand.Environment, execution chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error) {
	id, ok := chargehand.ParseFileURI(uri)
	if !ok {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	no, err := f.account(ctx, account)
	if err != nil {
		return machine.File{}, nil, err
	}
	var row store.File
	err = patiently(ctx, func() error {
		return f.db.View(ctx, func(r *store.Reader) (err error) {
			if row, err = r.FileByID(no, env, id); err != nil {
				return err
			}
			reader, err := r.ExecutionByID(no, env, execution)
			if err != nil {
				return err
			}
			may, err := engine.MayRead(r, &reader, &row)
			if err == nil && !may {
				err = store.ErrNotFound
			}
			return err
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	if err != nil {
		return machine.File{}, nil, err
	}
	digest := blob.DigestOf(row.Digest)
	var content io.ReadCloser
	err = patiently(ctx, func() (err error) {
		content, err = f.blobs.Open(ctx, digest, 0, -1)
		return err
	})
	return machine.File{
		ID: id.String(), Name: row.Name, MediaType: row.MediaType, Size: row.Size,
		Digest: "sha256:" + digest.String(),
	}, content, err
}

// Put implements activity.Files. The row is invisible until an outcome that names it is
// journaled; the sweep removes it otherwise.
func (f *files) Put(ctx context.Context, account chargehand.AccountID, env chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error) {
	no, err := f.account(ctx, account)
	if err != nil {
		return machine.File{}, err
	}
	digest, size, err := f.keep(ctx, content)
	if err != nil {
		return machine.File{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return machine.File{}, err
	}
	row := store.File{
		ID: chargehand.FileID(id), Account: no, Environment: env, Name: name, MediaType: mediaType,
		Size: size, Digest: digest.Bytes(),
	}
	asked := 0
	err = patiently(ctx, func() error {
		asked++
		err := f.db.Update(ctx, func(tx *store.Tx) error { return tx.InsertFile(&row) })
		if asked > 1 && errors.Is(err, store.ErrConflict) {
			return nil // the attempt before was written: no other file has this id
		}
		return err
	})
	if err != nil {
		return machine.File{}, err
	}
	return machine.File{ID: id.String(), Name: name, MediaType: mediaType, Size: size, Digest: "sha256:" + digest.String()}, nil
}

// keep stores a content. One that can be read again from its start is tried for as long as
// patiently does.
func (f *files) keep(ctx context.Context, content io.Reader) (digest blob.Digest, size int64, err error) {
	again, ok := content.(io.Seeker)
	if !ok {
		return f.blobs.Put(ctx, content, f.limit)
	}
	err = patiently(ctx, func() (err error) {
		if _, err := again.Seek(0, io.SeekStart); err != nil {
			return err
		}
		digest, size, err = f.blobs.Put(ctx, content, f.limit)
		return err
	})
	return digest, size, err
}

// outageTimeout is how long an activity waits for a store that is away: the restart of a
// database must not fail a step whose effect has happened.
const outageTimeout = 30 * time.Second

// patiently repeats what fails for want of a store that may come back by itself.
func patiently(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, outageTimeout)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := try()
		if err == nil || !passes(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// passes tells a store that is away from one that refuses or is full.
func passes(err error) bool {
	return (errors.Is(err, store.ErrUnavailable) || errors.Is(err, blob.ErrUnavailable)) &&
		!errors.Is(err, blob.ErrRefused) && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT)
}
