package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// Subscription is an open Subscribe command of an execution. Woken: it has to look at the
// events with numbers above Since; no other process does that for it. Otherwise nothing that it wants has a number
// up to Since or up to ListenCursor.
type Subscription struct {
	No          int64 // ascending in order of insertion, never used twice
	Account     int64
	Environment chargehand.Environment
	Execution   int64
	Command     uint64
	Since       int64
	Woken       bool
	Workflow    int64 // of the execution; read by MatchSubscriptions and WokenSubscriptions only
}

// Filter is an entry of the index that finds subscriptions for an event: those of the same Kind that have the same
// Key. What a kind says of an event, and how a key is made of one, is the caller's business; all that are there are
// listed by FilterKinds, so there should be few, however many subscriptions there are. Neither should be above 2 KiB:
// databases index both.
type Filter struct {
	Kind string
	Key  []byte
}

// keyArg is a key as it is stored: NULL would not be found by "=".
func keyArg(key []byte) []byte {
	if key == nil {
		return []byte{}
	}
	return key
}

// InsertSubscription inserts a woken subscription with its filters and sets s.No and s.Woken.
// The execution must not have ended. ErrConflict: the command has one.
func (t *Tx) InsertSubscription(s *Subscription, filters []Filter) error {
	no, err := t.insert("insert subscription", `INSERT INTO subscription (execution, command, account, environment, since, woken)
 VALUES (?1, ?2, ?3, ?4, ?5, 1)`, s.Execution, int64(s.Command), s.Account, int64(s.Environment), s.Since)
	if err != nil {
		return err
	}
	s.No, s.Woken = no, true
	for i, f := range filters {
		err := t.c.Send("insert filter", `INSERT INTO subscription_filter (subscription, position, account, environment, kind, key)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, no, int64(i), s.Account, int64(s.Environment), f.Kind, keyArg(f.Key))
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteSubscription deletes the subscription of a command, if it has one.
func (t *Tx) DeleteSubscription(execution int64, command uint64) error {
	return t.dropSubscriptions(`DELETE FROM subscription WHERE execution = ?1 AND command = ?2 RETURNING no`, execution, int64(command))
}

func (t *Tx) dropSubscriptions(query string, args ...any) error {
	nos, err := t.numbers(query, args...)
	if err != nil {
		return fmt.Errorf("delete subscriptions: %w", err)
	}
	for _, no := range nos {
		if err := t.c.Send("delete filters", `DELETE FROM subscription_filter WHERE subscription = ?1`, no); err != nil {
			return err
		}
	}
	return nil
}

const selectSubscription = `SELECT s.no, s.account, s.environment, s.execution, s.command, s.since, s.woken`

func (r *Reader) subscriptions(query string, args ...any) ([]Subscription, error) {
	return readAll(r, "read subscriptions", query, func(row Row, s *Subscription) {
		*s = Subscription{
			No: row.Int(0), Account: row.Int(1), Environment: chargehand.Environment(row.Int(2)),
			Execution: row.Int(3), Command: uint64(row.Int(4)), Since: row.Int(5), Woken: row.Int(6) != 0, Workflow: row.Int(7),
		}
	}, args...)
}

// Subscriptions reads the subscriptions of an execution, by command.
func (r *Reader) Subscriptions(execution int64) ([]Subscription, error) {
	return r.subscriptions(selectSubscription+`, 0 FROM subscription s WHERE s.execution = ?1 ORDER BY s.command`, execution)
}

// WokenSubscriptions reads up to limit woken subscriptions behind the one with number after: for recovery.
func (r *Reader) WokenSubscriptions(after int64, limit int) ([]Subscription, error) {
	return r.subscriptions(selectSubscription+`, e.workflow FROM subscription s JOIN execution e ON e.no = s.execution
 WHERE s.woken = 1 AND s.no > ?1 ORDER BY s.no LIMIT ?2`, after, int64(limit))
}

// Unread is how far an execution has read a stream of events.
type Unread struct {
	Since int64 // lowest of its woken subscriptions
	Last  int64 // number of the last event of the stream
}

// UnreadEvents reads which of some executions have woken subscriptions. The condition is not "woken = 1": PostgreSQL
// would choose the index of all woken subscriptions, of every execution.
func (r *Reader) UnreadEvents(executions []int64) (map[int64]Unread, error) {
	list := make(map[int64]Unread, len(executions))
	err := inGroups(executions, func(nos string, args []any) error {
		return r.c.Query(`SELECT s.execution, MIN(s.since), MAX(t.last) FROM subscription s
 JOIN stream t ON t.account = s.account AND t.environment = s.environment
 WHERE s.execution IN (`+nos+`) AND s.woken <> 0 GROUP BY s.execution`, func(row Row) error {
			list[row.Int(0)] = Unread{Since: row.Int(1), Last: row.Int(2)}
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read woken subscriptions: %w", err)
	}
	return list, nil
}

// FilterKinds reads up to limit kinds that the filters of a stream have, in order. It reads one index entry for each.
func (r *Reader) FilterKinds(account int64, env chargehand.Environment, limit int) ([]string, error) {
	return readAll(r, "read kinds of filters", `WITH RECURSIVE step (kind) AS (
 SELECT (SELECT kind FROM subscription_filter WHERE account = ?1 AND environment = ?2 ORDER BY kind LIMIT 1)
 UNION ALL
 SELECT (SELECT f.kind FROM subscription_filter f WHERE f.account = ?1 AND f.environment = ?2 AND f.kind > step.kind ORDER BY f.kind LIMIT 1)
 FROM step WHERE step.kind IS NOT NULL)
SELECT kind FROM step WHERE kind IS NOT NULL LIMIT ?3`, func(row Row, kind *string) {
		*kind = row.Text(0)
	}, account, int64(env), int64(limit))
}

// Found is a subscription, and the filters by which it was found: their places in the list.
type Found struct {
	Subscription
	Filters []int
}

// MatchSubscriptions reads the first limit subscriptions of a stream behind the one with number
// after that have one of the filters, each once, in the order of their numbers.
func (t *Tx) MatchSubscriptions(account int64, env chargehand.Environment, filters []Filter, after int64, limit int) ([]Found, error) {
	var list []Found
	for i, f := range filters {
		page, err := t.subscriptions(selectSubscription+`, e.workflow
 FROM subscription_filter f JOIN subscription s ON s.no = f.subscription JOIN execution e ON e.no = s.execution
 WHERE f.account = ?1 AND f.environment = ?2 AND f.kind = ?3 AND f.key = ?4 AND f.subscription > ?5 ORDER BY f.subscription LIMIT ?6`,
			account, int64(env), f.Kind, keyArg(f.Key), after, int64(limit))
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			list = append(list, Found{s, []int{i}})
		}
	}
	if len(filters) > 1 {
		slices.SortStableFunc(list, func(a, b Found) int { return cmp.Compare(a.No, b.No) })
		merged := list[:0]
		for _, m := range list {
			if last := len(merged) - 1; last >= 0 && merged[last].No == m.No {
				merged[last].Filters = append(merged[last].Filters, m.Filters...)
			} else {
				merged = append(merged, m)
			}
		}
		list = merged
	}
	return list[:min(limit, len(list))], nil
}

// SubscriptionFilters reads the filters of some subscriptions, by the numbers of these.
func (r *Reader) SubscriptionFilters(nos []int64) (map[int64][]Filter, error) {
	filters := make(map[int64][]Filter, len(nos))
	err := inGroups(nos, func(list string, args []any) error {
		return r.c.Query(`SELECT subscription, kind, key FROM subscription_filter WHERE subscription IN (`+list+`)
 ORDER BY subscription, position`, func(row Row) error {
			filters[row.Int(0)] = append(filters[row.Int(0)], Filter{Kind: row.Text(1), Key: row.Bytes(2)})
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read filters of subscriptions: %w", err)
	}
	return filters, nil
}

// WakeSubscriptions wakes those of the subscriptions that are not woken and have not seen
// the event with that number: they have to look from it on. The cursor of the stream must be locked.
func (t *Tx) WakeSubscriptions(nos []int64, number int64) error {
	return inGroups(nos, func(list string, args []any) error {
		n := len(args)
		return t.c.Send("wake subscriptions", fmt.Sprintf(`UPDATE subscription SET woken = 1, since = ?%d - 1
 WHERE no IN (%s) AND woken = 0 AND since < ?%d`, n+1, list, n+1), append(args, number)...)
	})
}

// SleepSubscription lets a subscription sleep that has looked at all events up to through.
// asleep is false if later ones may be for it, which were passed over because it was woken: then it has to look from
// there. The cursor of the stream is locked until the Update is committed.
func (t *Tx) SleepSubscription(s *Subscription, through int64) (asleep bool, err error) {
	c, err := t.LockCursor(s.Account, s.Environment, ListenCursor)
	if err != nil {
		return false, err
	}
	passed := c.Number
	if last, events := c.Partly(); last >= s.No { // of the events that are being handed out, it has had its turn
		passed += int64(events)
	}
	woken := passed > through
	err = t.c.Send("let subscription sleep", `UPDATE subscription SET woken = ?2, since = ?3 WHERE no = ?1`, s.No, flagArg(woken), through)
	return !woken, err
}

// AdvanceSubscription notes that a subscription, which stays woken, has looked at all events up to since.
func (t *Tx) AdvanceSubscription(no, since int64) error {
	return t.c.Send("advance subscription", `UPDATE subscription SET woken = 1, since = ?2 WHERE no = ?1`, no, since)
}

// CountSubscriptions counts the subscriptions of an environment, at most limit: for metrics.
func (r *Reader) CountSubscriptions(limit int) (int64, error) {
	return r.count("count subscriptions", `SELECT COUNT(*) FROM (SELECT no FROM subscription LIMIT ?1) s`, int64(limit))
}
