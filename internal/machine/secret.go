package machine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Secrets are never part of the state: the caller that restores a machine gives them to it again. What
// expressions make of them is data like any other; engines seal it (plan.UsesSecrets).

// secrets is $secrets: the values of the names that the definition declares. A function from
// outside has none (T37).
func (e *env) secrets() value.Value {
	declared := e.machine.plan.Secrets()
	if e.node.isRemote() || len(declared) == 0 {
		e.denied = true
		return nil
	}
	values := make(map[string]any, len(declared))
	for _, name := range declared {
		value, ok := e.machine.id.Secrets[name]
		if !ok {
			e.denied = true
			return nil
		}
		values[name] = value
	}
	return values
}

// missingSecrets is the fault of an execution whose definition declares a secret that its
// environment does not have (T75).
func (m *Machine) missingSecrets() *Fault {
	for i, name := range m.plan.Secrets() {
		if _, ok := m.id.Secrets[name]; !ok {
			return secretFault(fmt.Sprintf("The secret %q does not exist in this environment, or not for this workflow.", name), fmt.Sprintf("/use/secrets/%d", i))
		}
	}
	return nil
}

// secretPolicy is authentication by `{use: secret}` (T68).
func (m *Machine) secretPolicy(n *node, a *plan.Authentication) (map[string]any, *Fault) {
	value, ok := m.id.Secrets[a.Secret]
	if !ok {
		return nil, secretFault(fmt.Sprintf("%s: the secret %q is not available to this execution", a.Path, a.Secret), n.reference())
	}
	resolved, err := a.FromSecret(value)
	if err != nil {
		return nil, newFault(ErrConfiguration, 400, fmt.Sprintf("%s: the secret %q %s", a.Path, a.Secret, err), n.reference())
	}
	m.grow(resolved)
	return resolved, nil
}
