package service

import (
	"context"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Scopes is a set of scopes.
type Scopes uint16

// The scopes of docs/reference/api.md "Keys". Their names are stored.
const (
	ScopeWorkflowsRead Scopes = 1 << iota
	ScopeWorkflowsWrite
	ScopeWorkflowsPublish
	ScopeWorkflowsStart
	ScopeExecutionsCreate
	ScopeExecutionsRead
	ScopeExecutionsReadOwn
	ScopeExecutionsManage
	ScopeTasksRead
	ScopeTasksRespond
	ScopeFilesWrite
	ScopeEventsWrite
	ScopeAdmin
	ScopeTasksImpersonate // in no role and no preset: it is named explicitly
)

// The presets of docs/reference/api.md "Keys", for keys of live; see In for those of test. PresetRun allows the four
// core endpoints.
const (
	PresetRun     = ScopeWorkflowsRead | ScopeExecutionsCreate | ScopeExecutionsRead
	PresetObserve = ScopeWorkflowsRead | ScopeExecutionsRead | ScopeTasksRead
	PresetOperate = PresetRun | PresetObserve | ScopeExecutionsManage | ScopeTasksRespond |
		ScopeFilesWrite | ScopeEventsWrite
	PresetDeploy = ScopeWorkflowsRead | ScopeWorkflowsWrite | ScopeWorkflowsPublish
	PresetAll    = ScopeAdmin<<1 - 1
)

// scopeNames has the names in the order of the bits.
var scopeNames = [...]string{
	"workflows:read", "workflows:write", "workflows:publish", "workflows:start", "executions:create", "executions:read",
	"executions:read-own", "executions:manage", "tasks:read", "tasks:respond", "files:write", "events:write", "admin", "tasks:impersonate",
}

// In is what is left of s for a key of an environment: a key of test publishes nothing.
func (s Scopes) In(e chargehand.Environment) Scopes {
	if e == chargehand.Test {
		return s &^ ScopeWorkflowsPublish
	}
	return s
}

// Has reports whether all of the scopes in want are in s.
func (s Scopes) Has(want Scopes) bool { return s&want == want }

// Names lists the scopes by name, in the order of docs/reference/api.md.
func (s Scopes) Names() []string {
	names := make([]string, 0, len(scopeNames))
	for bit, name := range scopeNames {
		if s&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseScope finds one scope by name.
func ParseScope(name string) (Scopes, bool) {
	for bit, known := range scopeNames {
		if known == name {
			return 1 << bit, true
		}
	}
	return 0, false
}

// ParsePreset finds a preset by name.
func ParsePreset(name string) (Scopes, bool) {
	switch name {
	case "run":
		return PresetRun, true
	case "observe":
		return PresetObserve, true
	case "operate":
		return PresetOperate, true
	case "deploy":
		return PresetDeploy, true
	case "all":
		return PresetAll, true
	}
	return 0, false
}

// Require tells whether the principal has all of the scopes. Codes: insufficient_scope.
func Require(p *Principal, scopes Scopes) error {
	if p.Scopes.In(p.Environment).Has(scopes) {
		return nil
	}
	return insufficient(p, scopes)
}

// insufficient is the error of a principal that does not have scopes, or not together.
func insufficient(p *Principal, scopes Scopes) error {
	missing := scopes &^ p.Scopes.In(p.Environment)
	if missing == 0 {
		missing = scopes
	}
	names := strings.Join(missing.Names(), ", ")
	if p.Kind == KindUser && p.SessionNo == 0 {
		detail := "This needs the scope " + names + " in " + p.Environment.String() + ", of the personal key and of a role that its user has here."
		if missing.Has(ScopeAdmin) {
			detail += " The command \"chargehand login --admin\" makes a key with the scope admin."
		}
		return chargehand.NewError(chargehand.CodeInsufficientScope, detail)
	}
	if p.Kind == KindUser {
		return chargehand.NewError(chargehand.CodeInsufficientScope, "You need the scope "+names+" here, in "+p.Environment.String()+
			". An admin gives it to you with a role.")
	}
	detail := "The API key needs the scope " + names + "."
	if missing.Has(ScopeWorkflowsPublish) {
		detail += " " + howToPublish(p)
	}
	return chargehand.NewError(chargehand.CodeInsufficientScope, detail)
}

// RequireWhole tells whether the principal may see what concerns the whole installation, such as its metrics: a key of
// live without limits. Codes: insufficient_scope.
func RequireWhole(p *Principal) error {
	if p.Environment != chargehand.Test && p.Workflows == nil {
		return nil
	}
	return chargehand.NewError(chargehand.CodeInsufficientScope,
		"This shows the whole installation. Use a key of live that is not limited to workflows or namespaces.")
}

// RequireOperator refuses principals of other accounts than the oldest one, which is the operator's: accounts share
// nothing, and what concerns the whole installation names them all. Codes: insufficient_scope.
func (s *Service) RequireOperator(ctx context.Context, p *Principal) error {
	return s.view(ctx, func(r *store.Reader) error {
		operator, err := isOperator(r, p)
		if err == nil && !operator {
			err = chargehand.NewError(chargehand.CodeInsufficientScope, "This shows the whole installation. Use a key of its oldest account.")
		}
		return err
	})
}

// isOperator tells whether the account of the principal is the operator's.
func isOperator(r *store.Reader, p *Principal) (bool, error) {
	accounts, err := r.Accounts()
	return err == nil && len(accounts) > 0 && accounts[0].No == p.AccountNo, err
}

// howToPublish tells the holder of a key that does not publish what to do.
func howToPublish(p *Principal) string {
	if p.Environment == chargehand.Test {
		return "A key of test never has it. Use a key of live, made with the preset deploy or all."
	}
	return "Use a key of live that was made with the preset deploy or all, or have it added to this one."
}
