package service

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Role is a named set of scopes that a grant gives (docs/reference/roles.md).
type Role struct {
	Name  string
	About string
	live  Scopes
	test  Scopes
}

// Scopes are what the role gives in an environment.
func (r Role) Scopes(env chargehand.Environment) Scopes {
	if env == chargehand.Test {
		return r.test.In(env)
	}
	return r.live
}

const roleAdmin = "admin"

const (
	participantScopes = ScopeWorkflowsStart | ScopeExecutionsCreate | ScopeExecutionsReadOwn | ScopeTasksRead | ScopeTasksRespond | ScopeFilesWrite
	viewerScopes      = ScopeWorkflowsRead | ScopeExecutionsRead | ScopeTasksRead
	operatorScopes    = viewerScopes | ScopeExecutionsCreate | ScopeExecutionsManage | ScopeEventsWrite | ScopeTasksRespond | ScopeFilesWrite
	authorScopes      = viewerScopes | ScopeWorkflowsWrite
	triesOut          = ScopeExecutionsCreate | ScopeExecutionsManage
)

// roles are all there are, the weakest first.
var roles = []Role{
	{"participant", "business people: start, answer, fetch results", participantScopes, participantScopes},
	{"viewer", "everyone who looks", viewerScopes, viewerScopes},
	{"operator", "retry, cancel, bulk", operatorScopes, operatorScopes},
	{"author", "writes definitions and tries them out in test", authorScopes, authorScopes | triesOut},
	{"publisher", "decides what live runs", authorScopes | ScopeWorkflowsPublish, authorScopes | triesOut},
	{roleAdmin, "everything but acting for others in tasks", PresetAll, PresetAll},
}

// Roles lists all roles, the weakest first.
func Roles() []Role { return slices.Clone(roles) }

// ParseRole finds a role by name.
func ParseRole(name string) (Role, bool) {
	i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return Role{}, false
	}
	return roles[i], true
}

// right is scopes over some workflows, in the environment of the request.
type right struct {
	scopes    Scopes
	limits    store.Limits
	workflows []chargehand.WorkflowID // within limits; nil: all
}

// memberRights are the rights that grants give in an environment: one for each role.
func memberRights(r *store.Reader, grants []store.Grant, account int64, env chargehand.Environment) ([]right, error) {
	list := []right{}
	for _, role := range roles {
		var limits store.Limits
		found, all := false, false
		for _, g := range grants {
			if g.Role != role.Name || !g.Environments.Has(env) {
				continue
			}
			found = true
			switch {
			case g.Namespace != "":
				limits.Namespaces = append(limits.Namespaces, g.Namespace)
			case !g.Workflow.IsZero():
				limits.Workflows = append(limits.Workflows, g.Workflow)
			default:
				all = true
			}
		}
		if !found {
			continue
		}
		if all {
			limits = store.Limits{}
		}
		workflows, err := seenBy(r, account, limits)
		if err != nil {
			return nil, err
		}
		list = append(list, right{role.Scopes(env), limits, workflows})
	}
	return list, nil
}

// partial says which workflows a principal sees as a whole; of the others it sees a part, such as the executions that
// it has started itself.
type partial struct {
	whole  []chargehand.WorkflowID
	limits store.Limits // that whole are within
}

// May tells whether the principal may do something that needs the scopes, and returns it as it is for this: it sees
// the workflows of the rights that have all of them. A right that has the scopes instead shows its workflows in part
// (SeesWhole); 0 is none. Codes: insufficient_scope.
func May(p *Principal, scopes, instead Scopes) (*Principal, error) {
	if p.rights == nil { // an API key: one right, and no copy for each request
		have := p.Scopes.In(p.Environment)
		if have.Has(scopes) {
			return p, nil
		}
		if instead == 0 || !have.Has(instead) {
			return nil, insufficient(p, scopes)
		}
		own := *p
		own.partial = &partial{limits: store.NoWorkflow()}
		return &own, nil
	}
	return p.narrowed(scopes, instead)
}

func (p *Principal) narrowed(scopes, instead Scopes) (*Principal, error) {
	var whole, part union
	for _, r := range p.rights {
		switch have := r.scopes.In(p.Environment); {
		case have.Has(scopes):
			whole.add(r)
		case instead != 0 && have.Has(instead):
			part.add(r)
		}
	}
	if !whole.any && !part.any {
		return nil, insufficient(p, scopes)
	}
	view := *p
	if part.any && !whole.all {
		view.partial = &partial{whole: whole.workflows, limits: store.NoWorkflow()}
		if whole.any {
			view.partial.limits = whole.limits
		}
		whole.merge(part)
	}
	view.Workflows, view.Limits = whole.workflows, whole.limits
	if whole.all {
		view.Workflows, view.Limits = nil, store.Limits{}
	}
	return &view, nil
}

// union collects what several rights are over.
type union struct {
	any, all  bool
	limits    store.Limits
	workflows []chargehand.WorkflowID
}

func (u *union) add(r right) {
	u.any = true
	if r.limits.All() {
		u.all = true
		return
	}
	if u.workflows == nil {
		u.workflows = []chargehand.WorkflowID{}
	}
	for _, id := range r.workflows {
		if !slices.Contains(u.workflows, id) {
			u.workflows = append(u.workflows, id)
		}
	}
	for _, id := range r.limits.Workflows {
		if !slices.Contains(u.limits.Workflows, id) {
			u.limits.Workflows = append(u.limits.Workflows, id)
		}
	}
	for _, namespace := range r.limits.Namespaces {
		if !slices.Contains(u.limits.Namespaces, namespace) {
			u.limits.Namespaces = append(u.limits.Namespaces, namespace)
		}
	}
}

func (u *union) merge(o union) {
	u.all = u.all || o.all
	u.add(right{limits: o.limits, workflows: o.workflows})
	u.any = true
}

// SeesWhole reports whether everything of a workflow is shown to the principal, and not a part of it.
func (p *Principal) SeesWhole(id chargehand.WorkflowID) bool {
	return p.partial == nil || slices.Contains(p.partial.whole, id)
}

// seesEverything reports whether the principal sees all of its account and environment.
func (p *Principal) seesEverything() bool { return p.Workflows == nil && p.partial == nil }

// seesStarted reports whether the principal sees an execution or batch of a workflow that was started by an actor.
func (p *Principal) seesStarted(id chargehand.WorkflowID, by int64) bool {
	return p.Sees(id) && (p.SeesWhole(id) || by != 0 && by == p.actor())
}

// mayOn tells whether the principal has a scope over a workflow. Codes: insufficient_scope.
func (p *Principal) mayOn(scope Scopes, id chargehand.WorkflowID, namespace string) error {
	if p.rights == nil {
		return Require(p, scope)
	}
	for _, r := range p.rights {
		if r.scopes.In(p.Environment).Has(scope) && r.limits.Admit(id, namespace) {
			return nil
		}
	}
	return insufficient(p, scope)
}

// mayEverywhere tells whether the principal has a scope over all workflows by one right. Codes: insufficient_scope.
func (p *Principal) mayEverywhere(scope Scopes) error {
	if p.rights == nil {
		return Require(p, scope)
	}
	for _, r := range p.rights {
		if r.scopes.In(p.Environment).Has(scope) && r.limits.All() {
			return nil
		}
	}
	return insufficient(p, scope)
}

// reader is the principal as it reads executions and their files, whatever it does with them. For a person this is a
// right of its own; a key reads what it sees.
func (p *Principal) reader() *Principal {
	if p.rights == nil {
		return p
	}
	if view, err := p.narrowed(ScopeExecutionsRead, ScopeExecutionsReadOwn); err == nil {
		return view
	}
	blind := *p
	blind.Workflows, blind.Limits, blind.partial = []chargehand.WorkflowID{}, store.NoWorkflow(), nil
	return &blind
}

// readable are the workflows whose files an execution may read that the principal starts.
func (p *Principal) readable() store.Limits {
	view := p.reader()
	if view.partial != nil {
		return view.partial.limits
	}
	return view.Limits
}

// ActorID is the id of the person, API key or link.
func (p *Principal) ActorID() string {
	switch {
	case p.PersonNo != 0:
		return p.User.String()
	case p.Kind == KindLink:
		return p.link.String()
	}
	return p.Key.String()
}

// actor names who acts in rows: the number of an API key, or for a person that of the person below 0.
func (p *Principal) actor() int64 {
	if p.PersonNo != 0 {
		return -p.PersonNo
	}
	return p.KeyNo
}
