package signin

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	rules "github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/store"
)

// followGroups makes the groups of a provider that a person is in those that the provider names, in each account that
// the person is an active member of. Without the claim the person is in none: most providers leave it out where the
// list would be empty. Codes: state_conflict, last_admin.
func (s *Service) followGroups(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity, found *store.Person) error {
	members, err := tx.MembershipsOf(found.No)
	if err != nil {
		return err
	}
	for i := range members {
		if !members[i].Counts() {
			continue
		}
		if err := s.followGroupsIn(ctx, tx, members[i].Account, p, who.Groups, found); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) followGroupsIn(ctx context.Context, tx *store.Tx, account int64, p *oidc.Provider, names []string, found *store.Person) error {
	current, err := tx.GroupsOf(account, found.No)
	if err != nil {
		return err
	}
	others := 0
	leaves := map[int64]store.Group{}
	for _, g := range current {
		if g.Source == byProvider(p) {
			leaves[g.No] = g
		} else {
			others++
		}
	}
	if len(names) == 0 && len(leaves) == 0 {
		return nil
	}
	if err := tx.LockAdmins(account); err != nil {
		return err
	}
	had, err := tx.HasAdmin(account)
	if err != nil {
		return err
	}
	if len(names)+others > rules.MaxGroupsOfOne {
		return chargehand.NewError(chargehand.CodeStateConflict, "The identity provider "+p.Title+" names "+strconv.Itoa(len(names))+
			" groups of you, and a person is in at most "+strconv.Itoa(rules.MaxGroupsOfOne)+" here. Ask its administrator to send only those that matter here.")
	}
	for _, name := range names {
		g, err := s.groupOf(ctx, tx, account, p, name)
		if err != nil {
			return err
		}
		if _, in := leaves[g.No]; in {
			delete(leaves, g.No)
			continue
		}
		if in, err := tx.InGroup(g.No, found.No); err != nil || in { // named twice
			if err != nil {
				return err
			}
			continue
		}
		if err := tx.JoinGroup(&g, found.No); err != nil {
			return err
		}
		if err := s.recordGroup(ctx, tx, &g, audit.GroupJoined, audit.Changes{}.Set("user_id", nil, found.ID.String())); err != nil {
			return err
		}
	}
	for _, g := range leaves {
		if err := tx.LeaveGroup(g.No, found.No); err != nil {
			return err
		}
		if err := s.recordGroup(ctx, tx, &g, audit.GroupLeft, audit.Changes{}.Set("user_id", found.ID.String(), nil)); err != nil {
			return err
		}
	}
	if has, err := tx.HasAdmin(account); err != nil || has || !had {
		return err
	}
	return chargehand.NewError(chargehand.CodeLastAdmin, "The identity provider "+p.Title+
		" has taken you out of the group that makes you the last admin of the account. Make another user an admin first.")
}

// groupOf finds or makes the group of a provider with a name. A group that was made here, or by another provider, is
// never taken for it: the group of the provider has the provider's name beside its own then. Nor is one group of the
// provider ever taken for another one, because people may make groups there: names are compared as they are, and one
// that ends as if the provider's name stood beside it gets that name once more.
func (s *Service) groupOf(ctx context.Context, tx *store.Tx, account int64, p *oidc.Provider, name string) (store.Group, error) {
	shown, complaint := person.Name(name)
	if complaint != "" {
		return store.Group{}, chargehand.NewError(chargehand.CodeStateConflict,
			"The identity provider "+p.Title+" names a group of you whose name cannot be used: it "+complaint)
	}
	if shown != name {
		return store.Group{}, chargehand.NewError(chargehand.CodeStateConflict, "The identity provider "+p.Title+
			" names a group of you whose name cannot be used: "+strconv.Quote(name)+" has spaces too many, or letters in another form of Unicode.")
	}
	free, suffix := "", " ("+p.Name+")"
	candidates := []string{shown + suffix}
	if !strings.HasSuffix(shown, suffix) {
		candidates = append(candidates, shown)
	}
	for _, candidate := range candidates {
		g, err := tx.GroupByName(account, person.Key(candidate))
		switch {
		case err == nil && g.Source == byProvider(p) && g.Name == candidate:
			return g, nil
		case errors.Is(err, store.ErrNotFound):
			free = candidate
		case err != nil:
			return g, err
		}
	}
	if free == "" {
		return store.Group{}, chargehand.NewError(chargehand.CodeStateConflict, "The group "+shown+" of the identity provider "+p.Title+
			" cannot be made, because there are other groups of that name. Ask an admin to rename them.")
	}
	g := store.Group{
		ID: newID[chargehand.GroupID](), Account: account, Name: free, NameKey: person.Key(free), Source: byProvider(p), CreatedMs: s.now().UnixMilli(),
	}
	if err := tx.InsertGroup(&g); err != nil {
		return g, err
	}
	return g, s.recordGroup(ctx, tx, &g, audit.GroupCreated, audit.Changes{}.Set("name", nil, g.Name))
}

// recordGroup writes to the audit log what the server has changed of a group because a provider says so.
func (s *Service) recordGroup(ctx context.Context, tx *store.Tx, g *store.Group, action audit.Action, changes audit.Changes) error {
	return audit.Write(ctx, tx, s.now(), audit.Entry{
		Account: g.Account, Action: action, Target: audit.Target{Kind: "group", ID: g.ID.String(), Name: g.Name}, Changes: changes,
	})
}
