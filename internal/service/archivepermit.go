package service

import (
	"sync"

	"github.com/chargehand/chargehand"
)

// How many archives this process sends at once. Each holds a timeline and takes processor time to be packed, for as
// long as its client reads.
const (
	MaxArchives       = 16
	MaxArchivesPerKey = 4
	// archivesOfAccount is how many of them an account has in one environment: others always find some.
	archivesOfAccount = MaxArchives / 2
)

// archivePermits counts the archives that are being sent.
type archivePermits struct {
	mu     sync.Mutex
	total  int
	actors map[streamOwner]int
	shares map[streamAccount]int
}

// enter takes a permit, which leave gives back; leave may be called more than once. It does not wait, because it is
// not known how long the others take. Codes: rate_limited.
func (a *archivePermits) enter(p *Principal) (leave func(), err error) {
	actor, share := streamOwner{p.AccountNo, p.actor()}, streamAccount{p.AccountNo, p.Environment}
	a.mu.Lock()
	defer a.mu.Unlock()
	detail := ""
	switch {
	case a.actors[actor] >= MaxArchivesPerKey:
		detail = "The API key or person reads as many archives of executions at once as it may (archives_per_key)."
	case a.shares[share] >= archivesOfAccount:
		detail = "The account reads as many archives of executions at once in this environment as leave room for others: half of archives."
	case a.total >= MaxArchives:
		detail = "The server sends as many archives of executions at once as it may (archives)."
	}
	if detail != "" {
		return nil, &chargehand.Error{Code: chargehand.CodeRateLimited, RetryAfter: 5, Detail: detail + " Try again when one has ended."}
	}
	if a.actors == nil {
		a.actors, a.shares = map[streamOwner]int{}, map[streamAccount]int{}
	}
	a.total++
	a.actors[actor]++
	a.shares[share]++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.total--
		if a.actors[actor]--; a.actors[actor] == 0 {
			delete(a.actors, actor)
		}
		if a.shares[share]--; a.shares[share] == 0 {
			delete(a.shares, share)
		}
	}), nil
}
