package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// maxCheckedPeople bounds the users and groups that are looked up for one definition, or one page of a timeline.
const maxCheckedPeople = 200

// assigneeCheck finds out which users and groups an account does not have, each once.
type assigneeCheck struct {
	r       *store.Reader
	account int64
	known   map[assigneeName]bool
}

type assigneeName struct {
	key   string // in the form that is compared
	group bool
}

func checkAssignees(r *store.Reader, account int64) *assigneeCheck {
	return &assigneeCheck{r, account, map[assigneeName]bool{}}
}

// unknown reports whether the account does not have a user or group now. full: too many were looked up already.
func (c *assigneeCheck) unknown(text string, group bool) (unknown, full bool, err error) {
	name := assigneeName{engine.PersonKey(text), group}
	if group {
		name.key = person.Key(text)
	}
	there, checked := c.known[name]
	if !checked {
		if len(c.known) == maxCheckedPeople {
			return false, true, nil
		}
		if there, err = hasAssignee(c.r, c.account, name.key, group); err != nil {
			return false, false, err
		}
		c.known[name] = there
	}
	return !there, false, nil
}

// ofTask are the users and groups that a human task names, and that the account does not have now.
func (c *assigneeCheck) ofTask(a store.TaskAssignees) (list []string, err error) {
	for i, text := range slices.Concat(a.Users, a.Groups) {
		unknown, full, err := c.unknown(text, i >= len(a.Users))
		if err != nil || full {
			return list, err
		}
		if unknown {
			list = append(list, text)
		}
	}
	return list, nil
}

// unknownAssignees warns of users and groups that human tasks of a definition name, and that the account does not have
// now. A name may also be that of a person who has no account and answers by a link, so it is no error.
func (s *Service) unknownAssignees(ctx context.Context, p *Principal, compiled *plan.Plan) (found dsl.Problems, err error) {
	if len(compiled.People) == 0 {
		return nil, nil
	}
	err = s.view(ctx, func(r *store.Reader) error {
		found = nil
		check := checkAssignees(r, p.AccountNo)
		for _, a := range compiled.People {
			unknown, full, err := check.unknown(a.Name, a.Group)
			if err != nil || full {
				return err
			}
			if unknown {
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
