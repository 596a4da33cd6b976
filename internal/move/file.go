package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// moveFilesPage is how many contents lie between two notes of how far the move is: so many
	// are looked at again after it was cut off.
	moveFilesPage = 256
	// moveFilesAtOnce is how many contents are under way.
	moveFilesAtOnce = 8
)

// filesMark is how far the files are copied: the digest of the last content.
type filesMark struct {
	To     string `json:"to"` // another place begins anew
	Digest []byte `json:"digest"`
	Done   int64  `json:"done"`
}

// content is what the database knows about a content.
type content struct {
	name blob.Name
	size int64
	refs int64
}

// contents reads a page of what is known about contents, in the order of digests, behind one.
func (m *move) contents(c store.Conn, after []byte, limit int) ([]content, error) {
	t := m.tableNamed("blob")
	digest, size, refs := t.Column("digest"), t.Column("size"), t.Column("refs")
	if digest < 0 || size < 0 || refs < 0 {
		return nil, errors.New("table blob has no digest, size or refs: this version of `store move` does not know where files are")
	}
	var key []store.Value
	if after != nil {
		key = []store.Value{{Bytes: after}}
	}
	var page []content
	err := t.Read(c, key, func(row []store.Value) (bool, error) {
		page = append(page, content{name: slices.Clone(row[digest].Bytes), size: row[size].Int, refs: row[refs].Int})
		return len(page) < limit, nil
	})
	return page, err
}

// copyFiles copies every content that the database knows. What was copied before is put again
// without harm.
func (m *move) copyFiles(ctx context.Context, c store.Conn) error {
	if m.left {
		return nil
	}
	began := time.Now()
	var mark filesMark
	if err := m.readProgress(ctx, markFiles, &mark); err != nil {
		return err
	}
	if to := m.to.String(); mark.To != to {
		mark = filesMark{To: to}
	}
	total, err := m.tableNamed("blob").Count(c)
	if err != nil {
		return err
	}
	for {
		m.Progress(Step{Part: installation.FilesName, Done: mark.Done, Total: total})
		page, err := m.contents(c, mark.Digest, min(m.pageRows, moveFilesPage))
		if err != nil || len(page) == 0 {
			m.report.FilesTime = time.Since(began)
			return err
		}
		if err := m.copyContents(ctx, page); err != nil {
			return err
		}
		mark.Digest = page[len(page)-1].name
		mark.Done += int64(len(page))
		value, err := json.Marshal(mark)
		if err != nil {
			return err
		}
		if err := m.loader.Append(ctx, nil, markFiles, value); err != nil {
			return err
		}
		if err := m.written(); err != nil {
			return err
		}
	}
}

func (m *move) tableNamed(name string) store.Table {
	for _, t := range m.tables {
		if t.Name == name {
			return t
		}
	}
	return store.Table{Name: name}
}

// copyContents copies a page of contents, several at once. The first error ends it.
func (m *move) copyContents(ctx context.Context, page []content) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan content, len(page))
	for _, one := range page {
		next <- one
	}
	close(next)
	var copying sync.WaitGroup
	for range min(moveFilesAtOnce, len(page)) {
		copying.Go(func() {
			for one := range next {
				if ctx.Err() != nil {
					return
				}
				if err := m.copyContent(ctx, one); err != nil {
					cancel(err)
				}
			}
		})
	}
	copying.Wait()
	return context.Cause(ctx)
}

func (m *move) copyContent(ctx context.Context, one content) error {
	_, err := blob.Copy(ctx, m.from, m.to, one.name)
	if errors.Is(err, blob.ErrNotFound) && one.refs == 0 {
		return nil // it was about to be swept
	}
	if err != nil {
		return fmt.Errorf("copy the content %s of %s: %w", one.name, m.from, err)
	}
	return nil
}

// compareFiles looks whether every content that rows refer to is where it will be read from,
// in its full size. A content that was copied matches its digest; one that stays is read by
// the check of the new installation, in a folder.
func (m *move) compareFiles(ctx context.Context, c store.Conn) error {
	files := m.to
	if m.left {
		files = m.from
	}
	known := &knownContents{move: m, c: c}
	one, err := known.next()
	if err != nil {
		return err
	}
	// Both are in the order of names.
	err = files.List(ctx, func(there blob.Content) error {
		if one != nil && slices.Compare(one.name, there.Name) < 0 {
			return m.missing(files, one)
		}
		if one == nil || !one.name.Equal(there.Name) {
			return nil // rows know nothing of it, or refer to it no more
		}
		if one.size != there.Size {
			return fmt.Errorf("the content %s has %d bytes in %s instead of %d", one.name, there.Size, files, one.size)
		}
		m.report.Files++
		m.report.FileBytes += one.size
		if m.report.Files%moveFilesPage == 0 {
			m.Progress(Step{Part: installation.FilesName, Compare: true, Done: m.report.Files})
		}
		var err error
		one, err = known.next()
		return err
	})
	if err == nil && one != nil {
		err = m.missing(files, one)
	}
	if err != nil {
		return err
	}
	m.Progress(Step{Part: installation.FilesName, Compare: true, Done: m.report.Files, Total: m.report.Files})
	return nil
}

func (m *move) missing(files *blob.Store, one *content) error {
	return fmt.Errorf("the content %s, to which %d rows refer, is missing in %s", one.name, one.refs, files)
}

// knownContents hands out the contents that rows refer to, in the order of digests.
type knownContents struct {
	move *move
	c    store.Conn
	page []content
	last []byte
}

// next is the next content; nil: there are no more.
func (k *knownContents) next() (*content, error) {
	for {
		for len(k.page) > 0 {
			one := k.page[0]
			k.page, k.last = k.page[1:], one.name
			if one.refs > 0 {
				return &one, nil
			}
		}
		page, err := k.move.contents(k.c, k.last, moveFilesPage)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		k.page = page
	}
}
