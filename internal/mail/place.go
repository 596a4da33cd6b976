package mail

import "time"

const (
	// atOnce bounds the mails that a process has under way and that go well; each has a connection.
	atOnce = 4
	// slowAtOnce bounds those that have taken longer than slowAfter. They have had places of the others.
	slowAtOnce = 12
	// slowAfter is how long a mail has a place of atOnce, and how long the mail server may take over the answer to a
	// content before another mail is handed over. A mail is not cut off then: the server may have taken it.
	slowAfter = 5 * time.Second
)

// places bound the mails that a process has under way. A mail with which the mail server takes long, as it may where it
// asks the server of a recipient, leaves its place to others. So it takes many such mails to delay the others, and
// those by sendTime.
type places struct {
	prompt, slow chan struct{}
	after        time.Duration // slowAfter, less in tests
}

func newPlaces() places {
	return places{prompt: make(chan struct{}, atOnce), slow: make(chan struct{}, slowAtOnce), after: slowAfter}
}

// use works in the place of prompt that the caller has taken, and leaves it.
func (p *places) use(work func()) {
	ended, has := make(chan struct{}), make(chan chan struct{}, 1)
	go func() { has <- p.move(ended) }()
	work()
	close(ended)
	<-<-has
}

// move takes a place of slow instead of that of prompt if what has it takes long. It returns of which it has one at the
// end.
func (p *places) move(ended <-chan struct{}) chan struct{} {
	long := time.NewTimer(p.after)
	defer long.Stop()
	select {
	case <-ended:
		return p.prompt
	case <-long.C:
	}
	select {
	case <-ended:
		return p.prompt
	case p.slow <- struct{}{}:
		<-p.prompt
		return p.slow
	}
}
