package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

// contentPage is the number of rows that the doctor reads at a time: a long read would keep the write-ahead log.
const contentPage = 1000

// contents looks for every content that rows refer to, and counts those that nothing refers to.
func (d *doctor) contents(ctx context.Context, rows *store.Store) {
	location, err := d.cfg.Location()
	if err != nil {
		d.add("files", "", err)
		return
	}
	blobs, err := d.cfg.OpenContents(ctx, d.sealer, nil)
	if err != nil {
		d.add("files", "", err)
		return
	}
	defer blobs.Close()
	if err := blobs.Check(ctx); err != nil {
		d.add("files", "", d.cfg.FilesError(err))
		return
	}
	inspect := contentCheck{ctx: ctx, rows: rows, blobs: blobs, deep: d.Deep}
	err = inspect.run()
	for i := range inspect.damages {
		inspect.damages[i] += ": restore it from a backup"
	}
	whole := "have the right size"
	if d.Deep {
		whole = "match their digests"
	}
	d.addDamages("files", fmt.Sprintf("%d contents in %s are there and %s; %d that nothing refers to", inspect.good, location, whole, inspect.orphans), inspect.damages, err)
}

// contentCheck compares two lists in the order of digests: what rows refer to, and what is there.
type contentCheck struct {
	ctx   context.Context
	rows  *store.Store
	live  *store.Store // rows are a copy of it; nil: they are no copy
	blobs *blob.Store
	deep  bool
	most  int // damages that are described; 0: all

	page    []store.BlobSize // of what rows refer to and has not been looked for yet
	after   []byte
	ended   bool
	good    int
	orphans int
	damages []string
	more    int // damages beside them
}

func (l *contentCheck) run() error {
	err := l.blobs.List(l.ctx, func(c blob.Content) error {
		for {
			want, err := l.next()
			if err != nil {
				return err
			}
			if want == nil || bytes.Compare(want.Name, c.Name) > 0 {
				l.orphans++ // or put and deleted while we look
				return nil
			}
			l.page = l.page[1:]
			if c.Name.Equal(want.Name) {
				return l.compare(want, c)
			}
			if err := l.missing(want); err != nil {
				return err
			}
		}
	})
	for err == nil {
		var want *store.BlobSize
		if want, err = l.next(); err != nil || want == nil {
			break
		}
		l.page = l.page[1:]
		err = l.missing(want)
	}
	return err
}

// next is the first content that rows refer to and that has not been looked for; nil: there is none.
func (l *contentCheck) next() (*store.BlobSize, error) {
	if len(l.page) == 0 && !l.ended {
		err := l.rows.View(l.ctx, func(r *store.Reader) (err error) {
			l.page, err = r.ReferredBlobs(l.after, contentPage)
			return err
		})
		if err != nil {
			return nil, err
		}
		if l.ended = len(l.page) < contentPage; len(l.page) > 0 {
			l.after = l.page[len(l.page)-1].Name
		}
	}
	if len(l.page) == 0 {
		return nil, nil
	}
	return &l.page[0], nil
}

// missing notes a content that is not there, unless it came or went while the lists were read.
func (l *contentCheck) missing(want *store.BlobSize) error {
	size, err := l.blobs.SizeOf(l.ctx, want.Name)
	if errors.Is(err, blob.ErrDamaged) {
		size, err = -1, nil
	}
	if err == nil {
		return l.compare(want, blob.Content{Name: want.Name, Size: size})
	}
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return l.damaged(want, "is missing")
}

// compare checks a content that exists.
func (l *contentCheck) compare(want *store.BlobSize, c blob.Content) error {
	switch {
	case c.Size < 0:
		return l.damaged(want, "was cut off")
	case c.Size != want.Size:
		return l.damaged(want, fmt.Sprintf("has %d bytes instead of %d", c.Size, want.Size))
	}
	if l.deep {
		var content io.ReadCloser
		digest, err := l.blobs.Digest(c.Name)
		if err == nil {
			content, err = l.blobs.Open(l.ctx, digest, 0, -1)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, content) // the reader compares the digest
			content.Close()
		}
		switch {
		case errors.Is(err, blob.ErrNotFound):
			return l.missing(want)
		case l.ctx.Err() != nil:
			return l.ctx.Err()
		case err != nil:
			return l.damaged(want, "cannot be read: "+err.Error())
		}
	}
	l.good++
	return nil
}

// damaged notes a damage, with a file that it concerns, if rows still refer to the content.
func (l *contentCheck) damaged(want *store.BlobSize, what string) error {
	for _, rows := range []*store.Store{l.rows, l.live} {
		if rows == nil {
			continue
		}
		var still bool
		err := rows.View(l.ctx, func(r *store.Reader) (err error) {
			still, err = r.BlobReferred(want.Name)
			return err
		})
		if err != nil || !still {
			return err
		}
	}
	if l.most > 0 && len(l.damages) == l.most {
		l.more++
		return nil
	}
	var file string
	err := l.rows.View(l.ctx, func(r *store.Reader) (err error) {
		file, err = r.FileNameOf(want.Name)
		return err
	})
	if err != nil {
		return err
	}
	whose := ""
	if file != "" {
		whose = fmt.Sprintf(", the file %q,", file)
	}
	l.damages = append(l.damages, fmt.Sprintf("the content %x%s %s", want.Name, whose, what))
	return nil
}
