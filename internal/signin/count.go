package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/delay"
	"github.com/chargehand/chargehand/internal/store"
)

// subject is whom failed tries delay.
type subject struct {
	kind delay.Kind
	name [sha256.Size]byte
}

func subjectOf(kind delay.Kind, parts ...string) subject {
	return subject{kind, sha256.Sum256([]byte(strings.Join(parts, "\x00")))}
}

// subjects are those of a sign-in with an e-mail. An e-mail that belongs to no person is delayed like others.
//
// A browser from which the person has signed in before counts for itself: no other client delays it. Elsewhere a try
// counts under the person and the network that it comes from, so that failures from other networks do not delay it, and
// under the network for all persons. Networks that have failed so often with the person that they wait, wait together
// when there are many of them (delay.Person): guesses from many networks stay slow, and a network that has not failed
// with the person waits for none of them.
func subjects(emailKey string, known bool, from Client) []subject {
	if known {
		return []subject{subjectOf(delay.Source, "browser", from.Browser)}
	}
	return []subject{
		subjectOf(delay.Source, "network", delay.Site(from.Address), emailKey),
		subjectOf(delay.Address, "address", delay.Subject(from.Address)),
		subjectOf(delay.Person, "person", emailKey),
	}
}

// subjectsOf are those of a try with the password of a session's person: others do not delay it.
func subjectsOf(session *Session) []subject {
	return []subject{subjectOf(delay.Source, "session", session.ID.String())}
}

// try is one try of a password that was counted as failed before it is made.
type try []counted

// counted is what a try has changed.
type counted struct {
	subject
	before, after store.SignInDelay
}

// conflicts is how often a try is counted anew because others were counted meanwhile.
const conflicts = 5

// begin counts a try as failed before it is made, so that many at once do not all pass. Codes: rate_limited.
func (s *Service) begin(ctx context.Context, of []subject) (t try, err error) {
	for range conflicts {
		err = s.update(ctx, func(tx *store.Tx) (err error) {
			t, err = count(tx, of, s.now())
			return err
		})
		if !errors.Is(err, store.ErrConflict) {
			return t, err
		}
	}
	return nil, delayed(time.Second) // other nodes count tries all the time
}

// count counts a try under its subjects, unless one of them has to wait.
func count(tx *store.Tx, of []subject, now time.Time) (t try, err error) {
	waits, first := false, false // the source has used up what is free; with this try
	for _, who := range of {
		if who.kind == delay.Person && !waits {
			continue
		}
		was, err := tx.SignInDelayOf(who.name)
		if err != nil {
			return nil, err
		}
		if wait := atMs(was.UntilMs).Sub(now); wait > 0 {
			return nil, delayed(wait)
		}
		c := counted{subject: who, before: was}
		if now.Sub(atMs(was.UpdatedMs)) > who.kind.Memory() {
			c.before.Failures = 0
		}
		c.after = c.before
		if who.kind != delay.Person || first || c.after.Failures == 0 {
			c.after.Failures++
		}
		c.after.UpdatedMs, c.after.UntilMs = now.UnixMilli(), now.Add(who.kind.After(int(c.after.Failures))).UnixMilli()
		if err := tx.SetSignInDelay(who.name, was.Failures, c.after); err != nil {
			return nil, err
		}
		if free := int64(who.kind.Free()); who.kind == delay.Source {
			waits, first = c.before.Failures >= free, c.before.Failures == free
		}
		t = append(t, c)
	}
	return t, nil
}

func delayed(wait time.Duration) error {
	return &chargehand.Error{
		Code: chargehand.CodeRateLimited, RetryAfter: int((wait + time.Second - 1) / time.Second),
		Detail: "Too many tries have failed. Wait a moment before the next one.",
	}
}

// succeed takes back what the try has counted, within the Update of what was asked for. The source begins anew.
func (t try) succeed(tx *store.Tx) error {
	for _, c := range slices.Backward(t) {
		if c.kind == delay.Source {
			if err := tx.DeleteSignInDelay(c.name); err != nil {
				return err
			}
		} else if err := c.undo(tx, 1); err != nil {
			return err
		}
	}
	return nil
}

// takeBack takes back a try that has tested no password, such as one that the hasher was too busy for.
func (s *Service) takeBack(ctx context.Context, t try) {
	err := s.update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		for _, c := range t {
			if err := c.undo(tx, c.after.Failures-c.before.Failures); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.log.Warn("a try to sign in that tested no password counts as failed", "error", err)
	}
}

// undo takes failures back. What other tries have counted meanwhile stays.
func (c *counted) undo(tx *store.Tx, failures int64) error {
	now, err := tx.SignInDelayOf(c.name)
	if err != nil {
		return err
	}
	left := now
	if now == c.after {
		left = c.before
	}
	left.Failures = max(0, now.Failures-failures)
	if now.Failures == 0 || left == now {
		return nil
	}
	if err := tx.SetSignInDelay(c.name, now.Failures, left); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // another try was counted meanwhile, and stays
}
