package signin

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// record writes to the audit log what a person has done to the own sign-in, in the transaction of the change.
func (s *Service) record(ctx context.Context, tx *store.Tx, account int64, p *store.Person, action audit.Action, changes audit.Changes) error {
	return s.recordBy(ctx, tx, account, p, audit.Actor{Kind: audit.User, ID: p.ID.String(), Name: p.Name}, action, changes)
}

// recordLink is record for what the holder of a link has done that was sent to the person.
func (s *Service) recordLink(ctx context.Context, tx *store.Tx, account int64, p *store.Person, action audit.Action, changes audit.Changes) error {
	return s.recordBy(ctx, tx, account, p, audit.Actor{Kind: audit.Link, ID: p.ID.String(), Name: p.Email}, action, changes)
}

func (s *Service) recordBy(ctx context.Context, tx *store.Tx, account int64, p *store.Person, by audit.Actor, action audit.Action, changes audit.Changes) error {
	return audit.Write(ctx, tx, s.now(), audit.Entry{
		Account: account, Actor: by, Action: action, Target: audit.Target{Kind: "user", ID: p.ID.String(), Name: p.Email}, Changes: changes,
	})
}

// maxAccounts is in how many of the accounts of a person a failed sign-in is on record.
const maxAccounts = 20

// recordFailure counts a failed sign-in in the audit logs of the accounts of a person, and of an unknown one (p.No 0)
// in that of the oldest account.
func (s *Service) recordFailure(ctx context.Context, p *store.Person) error {
	return s.update(ctx, func(tx *store.Tx) error {
		f := audit.FailedSignIn{Person: p.ID, Email: p.Email}
		accounts, err := accountsOf(&tx.Reader, p.No)
		for _, f.Account = range accounts[:min(len(accounts), maxAccounts)] {
			err = errors.Join(err, audit.CountFailedSignIn(ctx, tx, s.now(), f))
		}
		return err
	})
}

// accountsOf are those that a person is an active member of; the oldest one if there is none.
func accountsOf(r *store.Reader, no int64) (list []int64, err error) {
	members, err := r.MembershipsOf(no)
	for i := range members {
		if members[i].Counts() {
			list = append(list, members[i].Account)
		}
	}
	if err != nil || len(list) > 0 {
		return list, err
	}
	accounts, err := r.Accounts()
	for _, oldest := range accounts[:min(len(accounts), 1)] {
		list = append(list, oldest.No)
	}
	return list, err
}
