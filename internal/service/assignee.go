package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// maxCheckedPeople bounds the users and groups that are looked up for one definition.
const maxCheckedPeople = 200

// unknownAssignees warns of users and groups that human tasks of a definition name, and that the account does not have
// now. A name may also be that of a person who has no account and answers by a link, so it is no error.
func (s *Service) unknownAssignees(ctx context.Context, p *Principal, compiled *plan.Plan) (found dsl.Problems, err error) {
	if len(compiled.People) == 0 {
		return nil, nil
	}
	type key struct {
		name  string
		group bool
	}
	err = s.view(ctx, func(r *store.Reader) error {
		found = nil
		known := map[key]bool{}
		for _, a := range compiled.People {
			k := key{engine.PersonKey(a.Name), a.Group}
			if a.Group {
				k.name = person.Key(a.Name)
			}
			there, checked := known[k]
			if !checked {
				if len(known) == maxCheckedPeople {
					break
				}
				if there, err = hasAssignee(r, p.AccountNo, k.name, k.group); err != nil {
					return err
				}
				known[k] = there
			}
			if !there {
				what := "an active user"
				if a.Group {
					what = "a group"
				}
				found = append(found, compiled.Document().WarningAt(a.Pointer, plan.CodeAssigneeUnknown,
					fmt.Sprintf("The account does not have %s %q.", what, a.Name), "The task opens all the same. Check the name, or invite the user."))
			}
		}
		return nil
	})
	return found, err
}

// hasAssignee reports whether an account has an active user, by e-mail address or id, or a group. Names are in the form
// that is compared.
func hasAssignee(r *store.Reader, account int64, name string, group bool) (bool, error) {
	if group {
		_, err := r.GroupByName(account, name)
		return err == nil, ignoreNotFound(err)
	}
	var m store.Member
	var err error
	if id, bad := chargehand.ParseID[taskKind](name); bad == nil {
		m, err = r.MemberByID(account, chargehand.UserID(id))
	} else {
		var row store.Person
		if row, err = r.PersonByEmail(name); err == nil {
			m, err = r.MemberByNo(account, row.No)
		}
	}
	return err == nil && m.Status != store.Disabled, ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
