package machine

// progressed takes in what a streaming activity has handed over.
func (m *Machine) progressed(p *pending, _ Event) *node {
	_ = p
	return nil
}
