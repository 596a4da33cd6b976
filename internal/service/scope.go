package service

// Scopes is a set of scopes.
type Scopes uint16

// The scopes of api.md "Keys".
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

// The presets of api.md "Keys".
const (
	PresetRun     = ScopeWorkflowsRead | ScopeExecutionsCreate | ScopeExecutionsRead
	PresetObserve = ScopeWorkflowsRead | ScopeExecutionsRead | ScopeTasksRead
	PresetOperate = PresetRun | PresetObserve | ScopeExecutionsManage | ScopeTasksRespond |
		ScopeFilesWrite | ScopeEventsWrite
	PresetDeploy = ScopeWorkflowsRead | ScopeWorkflowsWrite
	PresetAll    = ScopeAdmin<<1 - 1
)

// Has reports whether all of the scopes in want are in s.
func (s Scopes) Has(want Scopes) bool { return s&want == want }

// Names lists the scopes by name, in the order of api.md.
func (s Scopes) Names() []string { panic("unfinished") }

// ParseScope finds one scope by name.
func ParseScope(name string) (Scopes, bool) { panic("unfinished") }

// ParsePreset finds a preset by name.
func ParsePreset(name string) (Scopes, bool) { panic("unfinished") }
