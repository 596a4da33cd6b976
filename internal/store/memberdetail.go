package store

import (
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// MemberDetail is what a member has beside the membership.
type MemberDetail struct {
	Groups    []chargehand.GroupID // of the account, ascending
	Passkey   bool                 // the person has one
	Providers []string             // by whose identities the person signs in, each once
}

// MemberDetails reads the details of some members of an account, by the number of the person. A person without any has
// none. The number of queries does not grow with that of the members.
func (r *Reader) MemberDetails(account int64, persons []int64) (map[int64]*MemberDetail, error) {
	found := make(map[int64]*MemberDetail, len(persons))
	of := func(person int64) *MemberDetail {
		if found[person] == nil {
			found[person] = &MemberDetail{}
		}
		return found[person]
	}
	err := inGroups(persons, func(list string, args []any) error {
		n := len(args)
		err := r.c.Query(fmt.Sprintf(`SELECT m.person, g.id FROM group_member m JOIN user_group g ON g.no = m.user_group
 WHERE m.person IN (%s) AND m.account = ?%d`, list, n+1), func(row Row) error {
			var id chargehand.GroupID
			scanID(row, 1, &id)
			d := of(row.Int(0))
			d.Groups = append(d.Groups, id)
			return nil
		}, append(slices.Clone(args), account)...)
		if err != nil {
			return err
		}
		err = r.c.Query(`SELECT person FROM passkey WHERE person IN (`+list+`)`, func(row Row) error {
			of(row.Int(0)).Passkey = true
			return nil
		}, args...)
		if err != nil {
			return err
		}
		return r.c.Query(`SELECT person, provider FROM identity WHERE person IN (`+list+`)`, func(row Row) error {
			if d, name := of(row.Int(0)), row.Text(1); !slices.Contains(d.Providers, name) {
				d.Providers = append(d.Providers, name)
			}
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read details of members: %w", err)
	}
	for _, d := range found {
		slices.SortFunc(d.Groups, func(a, b chargehand.GroupID) int { return slices.Compare(a[:], b[:]) })
		slices.Sort(d.Providers)
	}
	return found, nil
}
