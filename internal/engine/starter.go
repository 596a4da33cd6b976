package engine

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// starterOf is the starter of what an execution causes, where a key with limits has applied its definition: what it
// hands to others is bounded by the limits of the author, and by those of its own starter.
func starterOf(r *store.Reader, row *store.Execution, author store.Author) (*store.Starter, error) {
	own, err := r.StarterByNo(row.Starter)
	if err != nil {
		return nil, err
	}
	limits, err := commonLimits(r, row.Account, own.Limits, author.Limits)
	return &store.Starter{Account: row.Account, Limits: limits}, err
}

// LimitEvents sets the starter of the executions that the events of an execution start.
func LimitEvents(tx *store.Tx, row *store.Execution, events []store.Event) error {
	if len(events) == 0 {
		return nil
	}
	author, err := authorOf(&tx.Reader, row.Revision)
	if err != nil {
		return err
	}
	starter := &store.Starter{No: row.Starter}
	if !author.Limits.All() {
		if starter, err = starterOf(&tx.Reader, row, author); err != nil {
			return err
		}
		if err := tx.PutStarter(starter); err != nil {
			return err
		}
	}
	for i := range events {
		events[i].Starter = starter.No
	}
	return nil
}

// CommonStarter is the number of the starter of an execution that two starters have to do with: both must be allowed
// to read what is read. 0 stands for no limits.
func CommonStarter(tx *store.Tx, account, a, b int64) (int64, error) {
	switch {
	case a == b || b == 0:
		return a, nil
	case a == 0:
		return b, nil
	}
	first, err := tx.StarterByNo(a)
	if err != nil {
		return 0, err
	}
	second, err := tx.StarterByNo(b)
	if err != nil {
		return 0, err
	}
	both := store.Starter{Account: account}
	if first.Key == second.Key {
		both.Key = first.Key // one key does not see what another has uploaded
	}
	if both.Limits, err = commonLimits(&tx.Reader, account, first.Limits, second.Limits); err != nil {
		return 0, err
	}
	err = tx.PutStarter(&both)
	return both.No, err
}

// commonLimits are the limits that admit what both of two limits admit.
func commonLimits(r *store.Reader, account int64, a, b store.Limits) (common store.Limits, err error) {
	switch {
	case a.All():
		return b, nil
	case b.All():
		return a, nil
	}
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
		if a.Admit(id, w.Namespace) && b.Admit(id, w.Namespace) && !listed(common, id, w.Namespace) {
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
