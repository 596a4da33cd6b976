package service

import (
	"context"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Quotas bound what is stored, and the events of a key. Zero fields stand for the defaults, negative ones for no
// limit.
type Quotas struct {
	StorageBytes    int64 // files, inputs and outputs of an environment, and its human tasks; default 100 GiB
	KeyStorageBytes int64 // those of an API key or person in it; default: no limit
	Executions      int64 // kept in an environment; default 100 million
	Queued          int64 // executions of a workflow in an environment; default 10,000; the engine enforces it
	Events          int64 // kept in an environment; default 10 million
	EventsPerSecond int64 // that a key publishes; default 1,000
	Users           int64 // of an account; default 100,000
}

// WithDefaults fills in what is not set.
func (q Quotas) WithDefaults() Quotas {
	for value, preset := range map[*int64]int64{
		&q.StorageBytes: 100 << 30, &q.KeyStorageBytes: -1, &q.Executions: 100_000_000, &q.Queued: 10_000,
		&q.Events: 10_000_000, &q.EventsPerSecond: 1_000, &q.Users: 100_000,
	} {
		if *value == 0 {
			*value = preset
		}
	}
	return q
}

// The names of quotas.
const (
	quotaStorage         = "storage_bytes"
	quotaKeyStorage      = "key_storage_bytes"
	quotaExecutions      = "kept_executions"
	quotaQueued          = "queued_executions"
	quotaEvents          = "kept_events"
	quotaEventsPerSecond = "events_per_second"
	quotaUsers           = "users"
)

// List is the quotas as GET /limits tells them.
func (q Quotas) List() []Limit {
	return []Limit{
		{Name: quotaStorage, Value: max(0, q.StorageBytes), Description: "Files, inputs, outputs and human tasks of an environment; 0 means no limit, as for all quotas.", Setting: "quota-storage"},
		{Name: quotaKeyStorage, Value: max(0, q.KeyStorageBytes), Description: "What an API key or person has uploaded, its drafts and comments on human tasks, and inputs, outputs, files and human tasks of executions that it has started.", Setting: "quota-key-storage"},
		{Name: quotaExecutions, Value: max(0, q.Executions), Description: "Executions that are kept in an environment, ended or not.", Setting: "quota-executions"},
		{Name: quotaQueued, Value: max(0, q.Queued), Description: "Queued executions of a workflow in one environment; items of batches do not count.", Setting: "quota-queued"},
		{Name: quotaEvents, Value: max(0, q.Events), Description: "Events that are kept in an environment.", Setting: "quota-events"},
		{Name: quotaEventsPerSecond, Value: max(0, q.EventsPerSecond), Description: "Events that an API key or person publishes in a second, twice as many at once.", Setting: "quota-events-per-second"},
		{Name: quotaUsers, Value: max(0, q.Users), Description: "Users of an account, invited ones included.", Setting: "quota-users"},
	}
}

// Quotas are the quotas in force, defaults filled in.
func (s *Service) Quotas() Quotas { return s.quotas.limits }

// amount is what a request adds, or what is stored.
type amount struct{ executions, bytes, events, users int64 }

func (a amount) plus(b amount) amount {
	return amount{a.executions + b.executions, a.bytes + b.bytes, a.events + b.events, a.users + b.users}
}

func (a amount) minus(b amount) amount {
	return amount{a.executions - b.executions, a.bytes - b.bytes, a.events - b.events, a.users - b.users}
}

const (
	// usageAge is how long usage counts without being read again; then one of the requests reads it while the others
	// use the old one.
	usageAge = time.Second
	// usageOld is when no request uses it any more.
	usageOld = 10 * time.Second
	// maxTallies bounds the owners whose usage is in memory.
	maxTallies = 10_000
)

// tally is the usage of an owner: as the rows say, and what this process has added since. It is never too low for one
// process; what other processes add shows when it is read again.
type tally struct {
	owner   store.UsageOwner
	reading sync.Mutex // held while it is read

	mu      sync.Mutex
	read    time.Time // zero: never
	stored  amount    // as the rows said
	added   amount    // committed after they were read
	pending amount    // admitted, and not committed yet
}

// quotaKeeper admits what is stored.
type quotaKeeper struct {
	limits Quotas
	mu     sync.RWMutex
	byKey  map[store.UsageOwner]*tally
	events *limiter // of keys
}

func (k *quotaKeeper) of(o store.UsageOwner) *tally {
	k.mu.RLock()
	t := k.byKey[o]
	k.mu.RUnlock()
	if t != nil {
		return t
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byKey[o] == nil {
		if k.byKey == nil || len(k.byKey) >= maxTallies {
			k.byKey = make(map[store.UsageOwner]*tally)
		}
		k.byKey[o] = &tally{owner: o}
	}
	return k.byKey[o]
}

// readUsage reads the usage of an owner from its rows.
func readUsage(r *store.Reader, o store.UsageOwner) (amount, error) {
	u, err := r.Usage(o)
	a := amount{executions: u.Executions, bytes: u.Bytes, users: u.Users}
	if err == nil && o.Environment != 0 && o.Actor == 0 {
		a.events, err = r.StoredEvents(o.Account, o.Environment)
	}
	return a, err
}

// readTally reads the usage again. What this process commits meanwhile counts beside what is read, because the rows may
// or may not hold it.
func (s *Service) readTally(ctx context.Context, t *tally) error {
	t.mu.Lock()
	before := t.added
	t.mu.Unlock()
	var stored amount
	err := s.view(ctx, func(r *store.Reader) (err error) {
		stored, err = readUsage(r, t.owner)
		return err
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read, t.stored, t.added = s.now(), stored, t.added.minus(before)
	return nil
}

// refresh reads the usage again if it is old.
func (s *Service) refresh(ctx context.Context, t *tally) error {
	t.mu.Lock()
	never, age := t.read.IsZero(), s.now().Sub(t.read)
	t.mu.Unlock()
	switch {
	case never || age >= usageOld:
		t.reading.Lock()
	case age < usageAge || !t.reading.TryLock():
		return nil
	}
	defer t.reading.Unlock()
	return s.readTally(ctx, t)
}

// quotaLimit is a quota of one owner: a number of an amount, and its limit.
type quotaLimit struct {
	name  string
	limit int64 // negative: none
	of    func(amount) int64
}

func (q Quotas) ofAccount() []quotaLimit {
	return []quotaLimit{{quotaUsers, q.Users, func(a amount) int64 { return a.users }}}
}

func (q Quotas) ofEnvironment() []quotaLimit {
	return []quotaLimit{
		{quotaExecutions, q.Executions, func(a amount) int64 { return a.executions }},
		{quotaStorage, q.StorageBytes, func(a amount) int64 { return a.bytes }},
		{quotaEvents, q.Events, func(a amount) int64 { return a.events }},
	}
}

func (q Quotas) ofActor() []quotaLimit {
	return []quotaLimit{{quotaKeyStorage, q.KeyStorageBytes, func(a amount) int64 { return a.bytes }}}
}

// exceeded is the first quota that n more would exceed, and what is used of it; nil: none.
func (t *tally) exceeded(limits []quotaLimit, n amount) (*quotaLimit, int64) {
	used := t.stored.plus(t.added).plus(t.pending)
	for i := range limits {
		q := &limits[i]
		if more := q.of(n); more > 0 && q.limit >= 0 && q.of(used)+more > q.limit {
			return q, q.of(used)
		}
	}
	return nil, 0
}

// take admits n more of an owner, or says which quota it would exceed. Before that it reads the rows once more,
// because something may have been deleted.
func (s *Service) take(ctx context.Context, t *tally, limits []quotaLimit, n amount) (*quotaLimit, int64, error) {
	if err := s.refresh(ctx, t); err != nil {
		return nil, 0, err
	}
	for again := false; ; again = true {
		t.mu.Lock()
		q, used := t.exceeded(limits, n)
		if q == nil {
			t.pending = t.pending.plus(n)
		}
		t.mu.Unlock()
		if q == nil || again {
			return q, used, nil
		}
		t.reading.Lock()
		err := s.readTally(ctx, t)
		t.reading.Unlock()
		if err != nil {
			return nil, 0, err
		}
	}
}

// resolve ends what was admitted.
func (t *tally) resolve(n amount, committed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = t.pending.minus(n)
	if committed {
		t.added = t.added.plus(n)
	}
}

// UsedLimit is a limit with its current use, where that is counted.
type UsedLimit struct {
	Limit
	Counted bool
	Used    int64
}

// maxQueuedExamined bounds the queued executions that are counted to find the longest queue.
const maxQueuedExamined = 50_000

// ListLimits lists the limits with the current use of quotas. What others use is shown to a principal that sees all of
// its environment.
func (s *Service) ListLimits(ctx context.Context, p *Principal) ([]UsedLimit, error) {
	uses := map[string]int64{}
	err := s.view(ctx, func(r *store.Reader) error {
		if actor := p.actor(); actor != 0 {
			own, err := readUsage(r, store.UsageOwner{Account: p.AccountNo, Environment: p.Environment, Actor: actor})
			if err != nil {
				return err
			}
			uses[quotaKeyStorage] = own.bytes
			uses[quotaEventsPerSecond] = s.quotas.events.taken(actor, s.now())
		}
		if reader := p.reader(); reader.Workflows != nil || reader.partial != nil {
			return nil
		}
		return s.sharedUses(r, p.AccountNo, p.Environment, uses)
	})
	if err != nil {
		return nil, err
	}
	list := make([]UsedLimit, 0, 100)
	for _, l := range s.limits.List() {
		used, counted := uses[l.Name]
		list = append(list, UsedLimit{l, counted, used})
	}
	return list, nil
}

// sharedUses reads the use of the quotas of an environment and its account.
func (s *Service) sharedUses(r *store.Reader, account int64, env chargehand.Environment, uses map[string]int64) error {
	a, err := readUsage(r, store.UsageOwner{Account: account, Environment: env})
	if err != nil {
		return err
	}
	uses[quotaExecutions], uses[quotaStorage], uses[quotaEvents] = a.executions, a.bytes, a.events
	if uses[quotaQueued], err = r.LongestQueue(account, env, maxQueuedExamined); err != nil {
		return err
	}
	people, err := readUsage(r, store.UsageOwner{Account: account})
	uses[quotaUsers] = people.users
	return err
}

// QuotaUse is the use of a quota, for metrics.
type QuotaUse struct {
	Quota       string
	Account     string // name
	Environment string // empty: the account as a whole
	Used        int64
}

// maxAccountsShown bounds the accounts in metrics.
const maxAccountsShown = 100

// QuotaUses reads the use of the quotas of all accounts, of at most 100.
func (s *Service) QuotaUses(ctx context.Context) (list []QuotaUse, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		list = nil
		accounts, err := r.Accounts()
		for i := 0; i < min(len(accounts), maxAccountsShown) && err == nil; i++ {
			for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
				uses := map[string]int64{}
				if err = s.sharedUses(r, accounts[i].No, env, uses); err != nil {
					return err
				}
				for name, used := range uses {
					use := QuotaUse{Quota: name, Account: accounts[i].Name, Environment: env.String(), Used: used}
					if name == quotaUsers {
						if use.Environment = ""; env == chargehand.Test {
							continue
						}
					}
					list = append(list, use)
				}
			}
		}
		return err
	})
	return list, err
}
