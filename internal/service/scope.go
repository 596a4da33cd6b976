package service

import (
	"strings"

	"github.com/chargehand/chargehand"
)

// Scopes is a set of scopes.
type Scopes uint16

// The scopes of docs/api.md "Keys". Their numbers are stored.
const (
	ScopeWorkflowsRead Scopes = 1 << iota
	ScopeWorkflowsWrite
	ScopeExecutionsCreate
	ScopeExecutionsRead
	ScopeExecutionsManage
	ScopeTasksRead
	ScopeTasksRespond
	ScopeFilesWrite
	ScopeEventsWrite
	ScopeAdmin
)

// The presets of docs/api.md "Keys". PresetRun is the four endpoints of the contract.
const (
	PresetRun     = ScopeWorkflowsRead | ScopeExecutionsCreate | ScopeExecutionsRead
	PresetObserve = ScopeWorkflowsRead | ScopeExecutionsRead | ScopeTasksRead
	PresetOperate = PresetRun | PresetObserve | ScopeExecutionsManage | ScopeTasksRespond |
		ScopeFilesWrite | ScopeEventsWrite
	PresetDeploy = ScopeWorkflowsRead | ScopeWorkflowsWrite
	PresetAll    = ScopeAdmin<<1 - 1
)

// scopeNames stands in the order of the bits.
var scopeNames = [...]string{
	"workflows:read", "workflows:write", "executions:create", "executions:read", "executions:manage",
	"tasks:read", "tasks:respond", "files:write", "events:write", "admin",
}

// Has reports whether all of the scopes in want are in s.
func (s Scopes) Has(want Scopes) bool { return s&want == want }

// Names lists the scopes by name, in the order of docs/api.md.
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
	if p.Scopes.Has(scopes) {
		return nil
	}
	return chargehand.NewError(chargehand.CodeInsufficientScope,
		"The API key needs the scope "+strings.Join((scopes&^p.Scopes).Names(), ", ")+".")
}
