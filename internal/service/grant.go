package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Grant is a role that a user or a group has.
type Grant struct {
	ID           chargehand.GrantID
	User         chargehand.UserID  // zero: a group has it
	Group        chargehand.GroupID // zero: a user has it
	Holder       string             // name of the user or the group
	Email        string             // of the user; empty: a group has it
	Role         string
	Namespace    string                // empty: see Workflow
	Workflow     chargehand.WorkflowID // this and Namespace unset: everything
	WorkflowName string                // namespace/name; empty: Workflow is unset
	Environments store.Environments
	CreatedAt    time.Time
	CreatedBy    string // id of a user or key, or a name
}

// givenGrant is a grant as a body says it.
type givenGrant struct {
	row      store.Grant
	workflow string // id or namespace/name; empty: none
}

// grantFields are the fields of a grant but who gets it.
var grantFields = []string{"role", "namespace", "workflow_id", "environments"}

// maxGrantsInBody bounds the grants of an invitation.
const maxGrantsInBody = 20

// grants reads a list of grants.
func (f *fields) grants(name string) (list []givenGrant) {
	values, isList := f.values[name].([]any)
	switch {
	case !f.has(name):
		return nil
	case !isList:
		f.wrongType(name, "an array of grants")
		return nil
	case len(values) > maxGrantsInBody:
		f.fail(name, "too_long", "The field "+excerpt.Quote(name)+" must not have more than "+strconv.Itoa(maxGrantsInBody)+" entries.")
		return nil
	}
	for i, v := range values {
		at := []string{name, strconv.Itoa(i)}
		object, isObject := v.(map[string]any)
		if !isObject {
			f.failAt(at, "wrong_type", "The entries of "+excerpt.Quote(name)+" must be objects, not "+value.KindOf(v)+".")
			continue
		}
		one := &fields{values: object}
		for field := range object {
			if !contains(grantFields, field) {
				one.wrong = append(one.wrong, unknownField(field, grantFields))
			}
		}
		list = append(list, one.grant())
		for _, wrong := range one.wrong {
			wrong.Pointer = pointer(at...) + wrong.Pointer
			f.wrong = append(f.wrong, wrong)
		}
	}
	return list
}

// grant reads the fields of a grant.
func (f *fields) grant() (g givenGrant) {
	g.row.Role = f.text("role", 50)
	if _, known := ParseRole(g.row.Role); !known && len(f.wrong) == 0 {
		f.fail("role", "unknown_value", "The field \"role\" must be one of participant, viewer, operator, author, publisher and admin.")
	}
	if f.values["namespace"] != nil {
		if g.row.Namespace = f.text("namespace", maxBodyText); !isNamespace(g.row.Namespace) && len(f.wrong) == 0 {
			f.fail("namespace", "wrong_value", "The field \"namespace\" must be a namespace: letters, digits and dashes, at most "+
				strconv.Itoa(maxNamespaceBytes)+".")
		}
	}
	if f.values["workflow_id"] != nil {
		g.workflow = f.text("workflow_id", 200)
		var id chargehand.WorkflowID
		if id.UnmarshalText([]byte(g.workflow)) != nil && len(f.wrong) == 0 {
			f.fail("workflow_id", "wrong_value", "The field \"workflow_id\" must be the id of a workflow.")
		}
	}
	if g.row.Namespace != "" && g.workflow != "" {
		f.fail("workflow_id", "conflict", "Give either \"namespace\" or \"workflow_id\", not both.")
	}
	g.row.Environments = f.environments("environments")
	if g.row.Role == roleAdmin && (g.row.Namespace != "" || g.workflow != "" || g.row.Environments != store.BothEnvironments) && len(f.wrong) == 0 {
		f.fail("role", "conflict", "The role admin is given over everything and in both environments only.")
	}
	return g
}

// environments reads a set of environments; absent: both.
func (f *fields) environments(name string) (set store.Environments) {
	if !f.has(name) {
		return store.BothEnvironments
	}
	before := len(f.wrong)
	for i, text := range f.texts(name, 2) {
		switch text {
		case "live":
			set |= store.OnlyLive
		case "test":
			set |= store.OnlyTest
		default:
			if len(f.wrong) == before {
				f.failAt([]string{name, strconv.Itoa(i)}, "unknown_value", "An environment is \"live\" or \"test\".")
			}
		}
	}
	if set == 0 && len(f.wrong) == before {
		f.fail(name, "empty", "The list \""+name+"\" must not be empty.")
	}
	return set
}

// insertGrant checks and inserts a grant, whose account and holder are set. Codes: workflow_not_found,
// insufficient_scope, state_conflict.
func (s *Service) insertGrant(ctx context.Context, tx *store.Tx, p *Principal, g *givenGrant) error {
	if err := covers(p, g.row.Role); err != nil {
		return err
	}
	if g.workflow != "" {
		id, err := findWorkflow(&tx.Reader, p.AccountNo, g.workflow)
		if err != nil {
			return err
		}
		g.row.Workflow = id
	}
	held, err := tx.ListGrants(store.GrantFilter{Account: p.AccountNo, Person: g.row.Person, Group: g.row.Group, Limit: session.MaxGrantsOfOne})
	if err != nil {
		return err
	}
	if len(held) == session.MaxGrantsOfOne {
		return tooManyGrants()
	}
	g.row.ID, g.row.CreatedMs, g.row.Creator = newID[chargehand.GrantID](s.nowMs()), s.nowMs(), p.creator()
	if err := tx.InsertGrant(&g.row); err != nil {
		return err
	}
	return s.auditGrant(ctx, tx, p, audit.GrantGiven, &g.row)
}

func tooManyGrants() error {
	return stateConflict("A user or group has at most " + strconv.Itoa(session.MaxGrantsOfOne) + " grants. Use a group, or a namespace instead of workflows.")
}

// GiveGrant gives a role. Body: user_id or group_id, role, namespace or workflow_id, environments.
// Codes: invalid_body, unknown_field, user_not_found, group_not_found, workflow_not_found, insufficient_scope,
// state_conflict, grant_not_found (a replay, and it was taken since), idempotency_key_reused, idempotency_in_progress.
func (s *Service) GiveGrant(ctx context.Context, p *Principal, body value.Value, i *Idempotency) (shown Grant, replayed bool, err error) {
	return guarded(ctx, s, p, i,
		func(c *idempotencyGuard) (Grant, error) { return s.giveGrant(ctx, p, body, c) },
		func(c *idempotencyGuard) (shown Grant, err error) {
			err = s.view(ctx, func(r *store.Reader) error {
				row, err := r.GrantByID(p.AccountNo, chargehand.GrantID(c.found.Resource))
				if err == nil {
					shown, err = shownGrant(r, &row)
				}
				return notFoundIs(err, grantNotFound)
			})
			return shown, err
		})
}

func grantNotFound() error {
	return chargehand.NewError(chargehand.CodeGrantNotFound, "There is no such grant in this account.")
}

func (s *Service) giveGrant(ctx context.Context, p *Principal, body value.Value, c *idempotencyGuard) (shown Grant, err error) {
	f, err := openBody(body, append([]string{"user_id", "group_id"}, grantFields...)...)
	if err != nil {
		return shown, err
	}
	if f.has("user_id") == f.has("group_id") {
		f.fail("user_id", "required", "Give either \"user_id\" or \"group_id\".")
	}
	user, group := f.text("user_id", 100), f.text("group_id", 100)
	g := f.grant()
	if err := f.err(); err != nil {
		return shown, err
	}
	err = s.changePeople(ctx, p, func(tx *store.Tx) error {
		given := g
		given.row.Account = p.AccountNo
		if user != "" {
			var id chargehand.UserID
			_ = id.UnmarshalText([]byte(user)) // what is no id is not found
			m, err := tx.MemberByID(p.AccountNo, id)
			if err != nil {
				return notFoundIs(err, userNotFound)
			}
			given.row.Person = m.Person.No
		} else {
			var id chargehand.GroupID
			_ = id.UnmarshalText([]byte(group))
			row, err := tx.GroupByID(p.AccountNo, id)
			if err != nil {
				return notFoundIs(err, groupNotFound)
			}
			given.row.Group = row.No
		}
		if err := s.insertGrant(ctx, tx, p, &given); err != nil {
			return err
		}
		if shown, err = shownGrant(&tx.Reader, &given.row); err != nil {
			return err
		}
		return c.record(tx, statusCreated, "grant", given.row.ID)
	})
	return shown, err
}

func shownGrant(r *store.Reader, row *store.Grant) (g Grant, err error) {
	g = Grant{
		ID: row.ID, Role: row.Role, Namespace: row.Namespace, Workflow: row.Workflow, Environments: row.Environments,
		CreatedAt: atMs(row.CreatedMs), CreatedBy: row.Creator,
	}
	if !row.Workflow.IsZero() { // a deleted one is read, too
		w, err := r.WorkflowByID(row.Account, row.Workflow)
		if err == nil {
			g.WorkflowName = w.Namespace + "/" + w.Name
		} else if !errors.Is(err, store.ErrNotFound) {
			return g, err
		}
	}
	if row.Group != 0 {
		group, err := r.GroupByNo(row.Group)
		g.Group, g.Holder = group.ID, group.Name
		return g, err
	}
	p, err := r.PersonByNo(row.Person)
	g.User, g.Holder, g.Email = p.ID, p.Name, p.Email
	return g, err
}

// ListGrants is the query of a list of grants: of a user, of a group, over a workflow, or all.
type ListGrants struct {
	User     chargehand.UserID     // zero: any
	Group    chargehand.GroupID    // zero: any
	Workflow chargehand.WorkflowID // grants over its namespace and over everything are meant too; zero: any
	Limit    int
	After    Cursor
}

// ListGrants lists grants of the account. Codes: user_not_found, group_not_found, workflow_not_found.
func (s *Service) ListGrants(ctx context.Context, p *Principal, q ListGrants) (*Page[Grant], error) {
	if err := managesPeople(p); err != nil {
		return nil, err
	}
	return readPage(ctx, s, q.Limit, func(r *store.Reader, most int) ([]store.Grant, error) {
		filter := store.GrantFilter{Account: p.AccountNo, Before: q.After.Milli, Limit: most}
		if !q.User.IsZero() {
			m, err := r.MemberByID(p.AccountNo, q.User)
			if err != nil {
				return nil, notFoundIs(err, userNotFound)
			}
			filter.Person = m.Person.No
		}
		if !q.Group.IsZero() {
			g, err := r.GroupByID(p.AccountNo, q.Group)
			if err != nil {
				return nil, notFoundIs(err, groupNotFound)
			}
			filter.Group = g.No
		}
		if !q.Workflow.IsZero() {
			w, err := r.WorkflowByID(p.AccountNo, q.Workflow)
			if err != nil {
				return nil, notFoundIs(err, workflowNotFound)
			}
			filter.Over = &w
		}
		return r.ListGrants(filter)
	}, func(last *store.Grant) Cursor { return numberCursor(last.No) }, each(shownGrant))
}

// TakeGrant takes a grant away. Codes: grant_not_found, last_admin.
func (s *Service) TakeGrant(ctx context.Context, p *Principal, id chargehand.GrantID) error {
	return s.changePeople(ctx, p, func(tx *store.Tx) error {
		row, err := tx.GrantByID(p.AccountNo, id)
		if err == nil {
			err = s.auditGrant(ctx, tx, p, audit.GrantTaken, &row)
		}
		if err == nil {
			err = tx.DeleteGrant(row.No)
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			return grantNotFound()
		}
		return err
	})
}
