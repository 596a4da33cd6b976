package store

import (
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// TaskScope is where human tasks are: an environment of an account.
type TaskScope struct {
	Account     int64
	Environment chargehand.Environment
}

// OnTasks makes Update call f with the scopes whose human tasks have changed in it, or whose people have other groups,
// after that is committed. f must not block: the caller of Update waits for it.
func (s *Store) OnTasks(f func([]TaskScope)) { s.tasks.Store(&f) }

// tasksChanged notes that human tasks of a scope change. What only their readers see counts as well as what decides in
// whose lists they are.
func (t *Tx) tasksChanged(account int64, env chargehand.Environment) {
	t.countUsage(account, env, 0, Usage{TaskChanges: 1})
	if scope := (TaskScope{account, env}); !slices.Contains(t.tasks, scope) {
		t.tasks = append(t.tasks, scope)
	}
}

// tasksOfAccountChanged is tasksChanged for both environments.
func (t *Tx) tasksOfAccountChanged(account int64) {
	t.tasksChanged(account, chargehand.Live)
	t.tasksChanged(account, chargehand.Test)
}

// TaskChanges reads how often human tasks of some scopes have changed. A number that is the same as before says that
// nothing has changed that was not committed when it was read first. Scopes without a change are left out.
func (r *Reader) TaskChanges(scopes []TaskScope) (map[TaskScope]int64, error) {
	accounts := make([]int64, 0, len(scopes))
	for _, scope := range scopes {
		if !slices.Contains(accounts, scope.Account) {
			accounts = append(accounts, scope.Account)
		}
	}
	changes := make(map[TaskScope]int64, len(scopes))
	err := inGroups(accounts, func(list string, args []any) error {
		return r.c.Query(`SELECT account, environment, CAST(SUM(task_changes) AS BIGINT) FROM usage_sum
 WHERE account IN (`+list+`) AND environment IN (1, 2) AND actor = 0 GROUP BY account, environment`, func(row Row) error {
			changes[TaskScope{row.Int(0), chargehand.Environment(row.Int(1))}] = row.Int(2)
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read changes of human tasks: %w", err)
	}
	return changes, nil
}
