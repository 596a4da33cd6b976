package machine

// childEnded is the outcome of an awaited execution of another workflow (T51).
func (m *Machine) childEnded(p *pending, _ Event) *node {
	_ = p
	return nil
}
