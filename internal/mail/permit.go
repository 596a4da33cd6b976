package mail

import "time"

const (
	// atOnce bounds the mails that a process has under way and that go well; each has a connection.
	atOnce = 4
	// slowAtOnce bounds those that have taken longer than slowAfter, beside the others.
	slowAtOnce = 12
	// slowAfter is how long a mail has one of the first permits, and how long the mail server takes over the answer to a
	// content before another mail is handed over. A mail is not cut off then: the server has perhaps taken it.
	slowAfter = 5 * time.Second
)

// permits bound the mails that a process has under way. A mail with which the mail server takes long, as it does where
// it asks the server of a recipient, leaves its permit to others. So it takes many such mails to delay the others, and
// those by sendTime.
type permits struct {
	prompt, slow chan struct{}
	after        time.Duration // slowAfter, less in tests
}

func newPermits() permits {
	return permits{prompt: make(chan struct{}, atOnce), slow: make(chan struct{}, slowAtOnce), after: slowAfter}
}

// use works with the permit of prompt that the caller has taken, and returns it.
func (p *permits) use(work func()) {
	ended, has := make(chan struct{}), make(chan chan struct{}, 1)
	go func() { has <- p.move(ended) }()
	work()
	close(ended)
	<-<-has
}

// move takes a permit of slow instead of that of prompt if the work takes long. It returns which of them the work has
// at the end.
func (p *permits) move(ended <-chan struct{}) chan struct{} {
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
