package service

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// starterCache holds the numbers of the starters of keys with limits, so that a start costs no query.
type starterCache struct {
	mu    sync.Mutex
	byKey map[int64]store.Starter
}

func (c *starterCache) find(p *Principal) (no int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.byKey[p.KeyNo]; reflect.DeepEqual(known.Limits, p.Limits) {
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
	if p.Limits.All() {
		return 0, nil
	}
	if no := s.starters.find(p); no != 0 {
		return no, nil
	}
	row := store.Starter{Account: p.AccountNo, Key: p.KeyNo, Limits: p.Limits}
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
	if own == 0 {
		return original, nil
	}
	both := store.Starter{Account: p.AccountNo, Key: p.KeyNo}
	err = s.update(ctx, func(tx *store.Tx) error {
		first, err := tx.StarterByNo(original)
		if err != nil {
			return err
		}
		if both.Key = p.KeyNo; first.Key != both.Key {
			both.Key = 0 // neither sees what the other has uploaded
		}
		if both.Limits, err = commonLimits(&tx.Reader, p.AccountNo, first.Limits, p.Limits); err != nil {
			return err
		}
		return tx.PutStarter(&both)
	})
	return both.No, err
}

// commonLimits are the limits that admit what both of two limits admit.
func commonLimits(r *store.Reader, account int64, a, b store.Limits) (common store.Limits, err error) {
	for _, namespace := range a.Namespaces {
		if slices.Contains(b.Namespaces, namespace) {
			common.Namespaces = append(common.Namespaces, namespace)
		}
	}
	for _, id := range slices.Concat(a.Workflows, b.Workflows) {
		w, err := r.WorkflowByID(account, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return store.Limits{}, err
		}
		if a.Admit(id, w.Namespace) && b.Admit(id, w.Namespace) && !listed(common, w.ID, w.Namespace) {
			common.Workflows = append(common.Workflows, id)
		}
	}
	if common.All() {
		common = store.NoWorkflow()
	}
	return common, nil
}

// listed reports whether limits name a workflow or its namespace.
func listed(l store.Limits, id chargehand.WorkflowID, namespace string) bool {
	return slices.Contains(l.Workflows, id) || slices.Contains(l.Namespaces, namespace)
}
