package service

import (
	"context"
	"reflect"
	"sync"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// starterCache holds the numbers of the starters of keys with limits, so that a start costs no query.
type starterCache struct {
	mu    sync.Mutex
	byKey map[int64]store.Starter
}

func (c *starterCache) find(p *Principal, limits store.Limits) (no int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byKey[p.actor()]; reflect.DeepEqual(known.Limits, limits) {
		no = known.No
	}
	return no
}

func (c *starterCache) put(s store.Starter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil || len(c.byKey) >= maxCachedKeys {
		c.byKey = make(map[int64]store.Starter)
	}
	c.byKey[s.Key] = s
}

// starter is the number of what the executions that a principal starts are limited to: 0 for a key without limits.
// It is kept with each execution, because limits of the key bound the files that its input can make a workflow read.
func (s *Service) starter(ctx context.Context, p *Principal) (int64, error) {
	limits := p.readable()
	if limits.All() {
		return 0, nil
	}
	if no := s.starters.find(p, limits); no != 0 {
		return no, nil
	}
	row := store.Starter{Account: p.AccountNo, Key: p.actor(), Limits: limits}
	if err := s.update(ctx, func(tx *store.Tx) error { return tx.PutStarter(&row) }); err != nil {
		return 0, err
	}
	s.starters.put(row)
	return row.No, nil
}

// retryStarter is the starter of an execution that repeats another one: both the key that has started the original
// and the one that repeats it must be allowed to read what is read.
func (s *Service) retryStarter(ctx context.Context, p *Principal, original int64) (int64, error) {
	own, err := s.starter(ctx, p)
	if err != nil || original == 0 || original == own {
		return own, err
	}
	no := original
	if own != 0 {
		err = s.update(ctx, func(tx *store.Tx) (err error) {
			no, err = engine.CommonStarter(tx, p.AccountNo, original, own)
			return err
		})
	}
	return no, err
}
