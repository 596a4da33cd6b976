package service

import (
	"errors"
	"testing"
)

func heldSessions(n int) (keys []holdKey) {
	for i := range n {
		keys = append(keys, holdKey{session: int64(i + 1)})
	}
	return keys
}

// TestManyHolds: the rights of many keys and sessions are read some at a time, so that no reading takes longer than the
// storage may.
func TestManyHolds(t *testing.T) {
	const n = 10*heldAtOnce + 1
	unread := unreadHolds{}
	known := unread.read(heldSessions(n), func(part []holdKey) (map[holdKey]heldRights, error) {
		if len(part) > heldAtOnce {
			return nil, errors.New("it took too long")
		}
		known := map[holdKey]heldRights{}
		for _, key := range part {
			known[key] = heldRights{rights: "some"}
		}
		return known, nil
	})
	if len(known) != n || len(unread) != 0 {
		t.Errorf("of %d, %d are known and %d are not", n, len(known), len(unread))
	}
}

// TestHoldsOfABusyStorage: as long as a storage answers for some, those come first that were not read for the longest,
// and no request ends.
func TestHoldsOfABusyStorage(t *testing.T) {
	const n = (holdFailures - 1) * heldAtOnce
	unread, times := unreadHolds{}, map[holdKey]int{}
	for range 10 * holdFailures {
		calls := 0
		known := unread.read(heldSessions(n), func(part []holdKey) (map[holdKey]heldRights, error) {
			if calls++; calls > 1 {
				return nil, errors.New("it took too long")
			}
			known := map[holdKey]heldRights{}
			for _, key := range part {
				known[key] = heldRights{rights: "some"}
				times[key]++
			}
			return known, nil
		})
		for key, now := range known {
			if now.end != nil {
				t.Fatalf("requests of %d end: %v", key.session, now.end)
			}
		}
	}
	if len(times) != n {
		t.Errorf("%d of %d were read", len(times), n)
	}
}

// TestHoldsWithoutStorage: when a key was not read for too long, its requests end.
func TestHoldsWithoutStorage(t *testing.T) {
	unread := unreadHolds{}
	for i := 1; i <= holdFailures; i++ {
		known := unread.read(heldSessions(2), func([]holdKey) (map[holdKey]heldRights, error) { return nil, errors.New("away") })
		if ends := len(known) == 2 && known[holdKey{session: 1}].end.Reason == EndUnavailable; ends != (i == holdFailures) || !ends && len(known) != 0 {
			t.Fatalf("after %d readings %v", i, known)
		}
	}
	unread.read(nil, nil)
	if len(unread) != 0 {
		t.Errorf("%d that are not held any more are counted", len(unread))
	}
}
