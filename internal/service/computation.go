package service

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
)

// The permits to compute, of each kind of computation. An account has one in each of its two environments: half of all,
// and half of those that package fair gives to the environment test. So an account alone never lets another one wait.
const (
	computationPermits    = 4
	computationsOfAccount = 1 // in one environment
)

// computationBounds bounds requests that compute for long.
type computationBounds struct {
	waiting int    // of a person or key that wait or compute
	tooMany string // the detail of the refusal of one more, with a verb for that number
}

// computations shares the permits to compute: first among environments and accounts, then among the persons and keys of
// an account, of which each has one request at a time in the line of the account.
type computations struct {
	bounds           computationBounds
	actors, accounts *fair.Gate
	mu               sync.Mutex
	open             map[int64]int // requests by actor
}

func newComputations(b computationBounds) *computations {
	return &computations{
		bounds:   b,
		actors:   fair.NewGate(fair.Limits{Permits: math.MaxInt, PerWorkflow: 1}),
		accounts: fair.NewGate(fair.Limits{Permits: computationPermits, PerWorkflow: computationsOfAccount}),
		open:     map[int64]int{},
	}
}

// enter waits for a permit, which leave gives back. Codes: rate_limited.
func (e *computations) enter(ctx context.Context, p *Principal) (leave func(), err error) {
	actor := p.actor()
	if err := e.count(actor); err != nil {
		return nil, err
	}
	own, share := fair.Owner{Environment: p.Environment, Workflow: actor}, fair.Owner{Environment: p.Environment, Workflow: p.AccountNo}
	if err := e.actors.Enter(ctx, own); err != nil {
		e.discount(actor)
		return nil, err
	}
	back := func() {
		e.actors.Leave(own)
		e.discount(actor)
	}
	if err := e.accounts.Enter(ctx, share); err != nil {
		back()
		return nil, err
	}
	return func() { e.accounts.Leave(share); back() }, nil
}

func (e *computations) count(actor int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[actor] >= e.bounds.waiting {
		return &chargehand.Error{Code: chargehand.CodeRateLimited, RetryAfter: 1, Detail: fmt.Sprintf(e.bounds.tooMany, e.bounds.waiting)}
	}
	e.open[actor]++
	return nil
}

func (e *computations) discount(actor int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[actor]--; e.open[actor] == 0 {
		delete(e.open, actor)
	}
}
