package embedded

import (
	"context"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

// brokenDB passes everything to the database until fail says that an Update fails.
type brokenDB struct {
	store.DB
	mu      sync.Mutex
	updates int
	// fail says what goes wrong with the n-th Update, from 1: it is not made, or it is made and returns an
	// error.
	fail func(n int) (before, after bool)
	made func() // if set, called before it is said of one that was made that it failed
}

var errBroken = fmt.Errorf("test: %w", store.ErrUnavailable)

func (b *brokenDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	b.mu.Lock()
	b.updates++
	before, after := false, false
	if b.fail != nil {
		before, after = b.fail(b.updates)
	}
	b.mu.Unlock()
	if before {
		return errBroken
	}
	err := b.DB.Update(ctx, fn)
	if after && err == nil {
		if b.made != nil {
			b.made()
		}
		return errBroken
	}
	return err
}

func (b *brokenDB) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.updates
}

func (b *brokenDB) setFail(fail func(int) (bool, bool)) {
	b.mu.Lock()
	b.fail = fail
	b.mu.Unlock()
}
