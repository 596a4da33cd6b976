package service

import (
	"context"
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// storageOwner is whose quota of storage something counts for.
type storageOwner struct {
	actor    int64 // as Execution.StartedBy; 0: that of none
	kind, id string
}

// storageOwner is the principal, but for the holder of a link.
func (p *Principal) storageOwner() storageOwner {
	switch {
	case p.Kind == KindLink:
		return p.charged
	case p.PersonNo != 0:
		return storageOwner{p.actor(), actorUser, p.User.String()}
	}
	return storageOwner{p.actor(), actorKey, p.Key.String()}
}

// admission is what a request was admitted to store. It must end.
type admission struct {
	service *Service
	p       *Principal
	n       amount
}

func (s *Service) admission(p *Principal) admission { return admission{service: s, p: p} }

// tallies are those of the environment, of the actor if it has a quota, and of the account.
func (a *admission) tallies(n amount) (env, actor, account *tally) {
	k := &a.service.quotas
	if n.users != 0 {
		account = k.of(store.UsageOwner{Account: a.p.AccountNo})
	}
	if n == (amount{users: n.users}) {
		return nil, nil, account
	}
	o := store.UsageOwner{Account: a.p.AccountNo, Environment: a.p.Environment}
	env = k.of(o)
	if o.Actor = a.p.storageOwner().actor; o.Actor != 0 && k.limits.KeyStorageBytes >= 0 {
		actor = k.of(o)
	}
	return env, actor, account
}

// take admits n more. Codes: quota_exceeded.
func (a *admission) take(ctx context.Context, n amount) error {
	s, limits := a.service, a.service.quotas.limits
	env, actor, account := a.tallies(n)
	var admitted []*tally
	for _, one := range []struct {
		tally  *tally
		limits func() []quotaLimit
	}{{env, limits.ofEnvironment}, {actor, limits.ofActor}, {account, limits.ofAccount}} {
		if one.tally == nil {
			continue
		}
		q, used, err := s.take(ctx, one.tally, one.limits(), n)
		if err == nil && q != nil {
			err = s.quotaExceeded(a.p, one.tally.owner, q, used)
		}
		if err != nil {
			for _, t := range admitted {
				t.resolve(n, false)
			}
			return err
		}
		admitted = append(admitted, one.tally)
	}
	a.n = a.n.plus(n)
	return nil
}

// end ends what was admitted. What is committed counts on until the rows are read again.
func (a *admission) end(committed bool) {
	env, actor, account := a.tallies(a.n)
	for _, t := range []*tally{env, actor, account} {
		if t != nil {
			t.resolve(a.n, committed)
		}
	}
	a.n = amount{}
}

// quotaExceeded is the error for a quota of space or number. It names the quota and its owner.
func (s *Service) quotaExceeded(p *Principal, o store.UsageOwner, q *quotaLimit, used int64) error {
	quota := &chargehand.Quota{Name: q.name, OwnerKind: "environment", OwnerID: p.Environment.String(), Limit: q.limit, Used: used}
	if o.Environment == 0 {
		quota.OwnerKind, quota.OwnerID = "account", p.Account.String()
	} else if o.Actor != 0 {
		owner := p.storageOwner()
		quota.OwnerKind, quota.OwnerID = owner.kind, owner.id
	}
	return &chargehand.Error{
		Code: chargehand.CodeQuotaExceeded, Quota: quota,
		Detail: fmt.Sprintf("The quota %s of the %s %s is used up: %d of %d. Delete what is not needed, or let the operator raise the quota.",
			quota.Name, quota.OwnerKind, quota.OwnerID, used, q.limit),
	}
}

// RoomForUser refuses one more user of an account than its quota admits, by the rows of the transaction that adds the
// user. What other transactions add at the same time is not seen. Codes: quota_exceeded.
func (s *Service) RoomForUser(r *store.Reader, account store.Account) error {
	owner := store.UsageOwner{Account: account.No}
	used, err := readUsage(r, owner)
	if err != nil {
		return err
	}
	t := tally{owner: owner, stored: used}
	if q, n := t.exceeded(s.quotas.limits.ofAccount(), amount{users: 1}); q != nil {
		return s.quotaExceeded(&Principal{Account: account.ID}, owner, q, n)
	}
	return nil
}

// admitEvents counts events against the rate of the key. Codes: quota_exceeded (with RetryAfter).
func (s *Service) admitEvents(p *Principal, n int) error {
	perS := float64(s.quotas.limits.EventsPerSecond)
	if perS < 0 || p.actor() == 0 {
		return nil
	}
	_, wait, ok := s.quotas.events.takeMany(p.actor(), perS, float64(n), s.now())
	if ok {
		return nil
	}
	quota := &chargehand.Quota{Name: quotaEventsPerSecond, OwnerKind: "key", OwnerID: p.Key.String(), Limit: int64(perS), Used: int64(perS)}
	if p.PersonNo != 0 {
		quota.OwnerKind, quota.OwnerID = "user", p.User.String()
	}
	retry := max(1, int(math.Ceil(wait.Seconds())))
	return &chargehand.Error{
		Code: chargehand.CodeQuotaExceeded, Quota: quota, RetryAfter: retry,
		Detail: fmt.Sprintf("The quota %s of the %s %s is used up: %d events per second. Try again in %d s.",
			quota.Name, quota.OwnerKind, quota.OwnerID, int64(perS), retry),
	}
}
