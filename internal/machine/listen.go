package machine

// eventReceived takes in a stored event that may be one of those that a listen waits for.
func (m *Machine) eventReceived(p *pending, _ Event) *node {
	_ = p
	return nil
}

// Subscription is an open Subscribe command. Position is the number of the last event that
// it was given, 0 if there was none.
type Subscription struct {
	Command  CommandID
	Filters  []Filter
	SinceMs  int64
	Position int64
}

// Subscriptions lists the open Subscribe commands in the order of their IDs.
func (m *Machine) Subscriptions() []Subscription {
	var list []Subscription
	for _, p := range m.pending.list {
		if p.node != nil && p.use == useListen {
			list = append(list, Subscription{Command: p.id, Filters: p.filters, SinceMs: m.startedMs, Position: p.position})
		}
	}
	return list
}
