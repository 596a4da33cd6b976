package mail

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// sendTime bounds one attempt. It is much shorter than the lease.
	sendTime  = time.Minute
	leaseTime = 3 * time.Minute
	// endTime is what mails that are being sent have when the process stops.
	endTime = 2 * time.Second
	// maxAttempts bounds the attempts for one mail. Most mails expire earlier.
	maxAttempts = 50
)

// pauses lie between the attempts for a mail. The last one is repeated.
var pauses = []time.Duration{
	30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
}

func pauseAfter(attempts int64) time.Duration {
	return jitter(pauses[min(int(attempts), len(pauses))-1])
}

// Run sends mails until ctx ends.
func (o *Outbox) Run(ctx context.Context) {
	var running sync.WaitGroup
	// What is being sent when the process stops has a moment to end.
	sending, release := background.Grace(ctx, endTime)
	defer func() { running.Wait(); release() }()
	clock := time.NewTicker(o.config.Every)
	defer clock.Stop()
	troubled := false
	for ctx.Err() == nil {
		select {
		case o.permits.prompt <- struct{}{}:
		case <-ctx.Done():
			return
		}
		row, err := o.lease(ctx)
		if err != nil && !troubled && ctx.Err() == nil {
			o.config.Log.Warn("mails cannot be read", "error", err)
		}
		troubled = err != nil
		if row != nil {
			running.Go(func() { o.permits.use(func() { o.deliver(sending, row) }) })
			continue
		}
		<-o.permits.prompt
		select {
		case <-o.wake:
		case <-clock.C:
		case <-ctx.Done():
		}
	}
}

// job is a mail that this process has leased.
type job struct {
	row  store.Mail
	mail Mail
}

// lease leases the next mail that is to be sent; nil: none is due. Those that are not to be sent any more end here.
func (o *Outbox) lease(ctx context.Context) (*job, error) {
	for ctx.Err() == nil {
		now := o.config.Now()
		if o.pause.holds(now) {
			return nil, nil
		}
		due := false
		err := o.config.Store.View(ctx, func(r *store.Reader) (err error) {
			due, err = r.MailDue(now.UnixMilli())
			return err
		})
		if err != nil || !due {
			return nil, err
		}
		var leased job
		var result store.MailResult
		var reason error
		err = o.config.Store.Update(ctx, func(tx *store.Tx) (err error) {
			leased, result, reason, err = o.take(tx, now)
			return err
		})
		switch {
		case errors.Is(err, store.ErrNotFound): // another process was faster
			return nil, nil
		case err != nil:
			return nil, err
		case result == 0:
			return &leased, nil
		case result == store.MailGivenUp:
			o.gaveUp(&leased.row, reason)
		}
	}
	return nil, nil
}

var errExpired = errors.New("it has expired")

// take leases a mail, within an Update, and ends it if it is not to be sent: then there is a result, perhaps with a
// reason.
func (o *Outbox) take(tx *store.Tx, now time.Time) (j job, result store.MailResult, reason, err error) {
	if j.row, err = tx.LeaseMail(now.UnixMilli(), now.Add(leaseTime).UnixMilli()); err != nil {
		return j, 0, nil, err
	}
	switch {
	case j.row.ExpiresMs <= now.UnixMilli():
		result, reason = store.MailGivenUp, errExpired
	case j.row.Attempts > maxAttempts:
		result, reason = store.MailGivenUp, errors.New("it was tried too often")
	default:
		if j.mail, reason = o.open(&j.row); reason != nil {
			result = store.MailGivenUp
		}
	}
	if complete := o.completes[j.mail.Letter.Kind]; result == 0 && j.row.Person == 0 && complete != nil {
		found, err := complete(tx, &j.mail)
		if err != nil {
			return j, 0, nil, err
		}
		if found {
			return j, 0, nil, o.complete(tx, &j)
		}
		result = store.MailNeedless
	}
	if result != 0 {
		err = tx.EndMail(&j.row, result, now.UnixMilli())
	}
	return j, result, reason, err
}

// complete stores what was found out about a mail.
func (o *Outbox) complete(tx *store.Tx, j *job) (err error) {
	j.row.Person, j.row.Account, j.row.ExpiresMs = j.mail.Person, j.mail.Account, j.mail.Until.UnixMilli()
	if j.row.Content, err = o.seal(j.row.ID, j.mail); err != nil {
		return err
	}
	return tx.CompleteMail(&j.row)
}

// deliver sends a mail and notes how that went.
func (o *Outbox) deliver(ctx context.Context, j *job) {
	noted, err := o.send(ctx, j)
	defer noted()
	now := o.config.Now()
	next := now.Add(pauseAfter(j.row.Attempts))
	var failed *smtp.Error
	server := errors.As(err, &failed) && failed.Server
	if ctx.Err() == nil || err == nil { // what is cut off by the end of the process says nothing about the server
		o.reached(now, err, server)
	}
	switch {
	case err == nil:
		o.sent.Add(1)
		o.note(ctx, j, func(tx *store.Tx) error { return tx.EndMail(&j.row, store.MailSent, now.UnixMilli()) })
		return
	case failed == nil || failed.Refused || next.UnixMilli() >= j.row.ExpiresMs || j.row.Attempts >= maxAttempts:
		o.failures.Add(1)
		o.gaveUp(&j.row, err)
		o.note(ctx, j, func(tx *store.Tx) error { return tx.EndMail(&j.row, store.MailGivenUp, now.UnixMilli()) })
		return
	}
	o.failures.Add(1)
	o.config.Log.Info("a mail was not sent; it is tried again", "id", uuid.UUID(j.row.ID), "kind", j.row.Kind, "attempt", j.row.Attempts,
		"next", next.UTC().Format(time.RFC3339), "error", err)
	o.note(ctx, j, func(tx *store.Tx) error { return tx.PostponeMail(&j.row, next.UnixMilli()) })
}

// send hands a mail to the mail server. noted is called when it is noted how that went: until then no other mail of the
// process is handed over, so that of those under way at most one is sent twice when the process dies. Only while the
// server takes long over its answer, another one is handed over before: cut off instead, a mail that the server has
// taken would be sent twice as well.
func (o *Outbox) send(ctx context.Context, j *job) (noted func(), err error) {
	noted = func() {}
	answered := func() bool { return true }
	content, err := j.mail.Letter.Write()
	if err != nil {
		return noted, err
	}
	ctx, done := context.WithTimeout(ctx, sendTime)
	defer done()
	err = o.config.Sender.Send(ctx, &smtp.Message{
		ID: uuid.UUID(j.row.ID).String(), At: time.UnixMilli(j.row.CreatedMs), To: j.mail.To, Name: content.Name,
		Subject: content.Subject, Text: content.Text, HTML: content.HTML,
		Ready: func(ctx context.Context) error {
			select {
			case o.taking <- struct{}{}:
				noted = sync.OnceFunc(func() { <-o.taking })
				answered = time.AfterFunc(o.permits.after, noted).Stop
				return nil
			case <-ctx.Done():
				return fmt.Errorf("%w while another mail was handed over", context.Cause(ctx))
			}
		},
	})
	answered()
	return noted, err
}

// note writes how an attempt went. While the database cannot be used it tries again, for as long as the lease lasts:
// without the note, a mail that was sent is sent again.
func (o *Outbox) note(ctx context.Context, j *job, write func(*store.Tx) error) {
	until, done := background.Grace(ctx, endTime)
	defer done()
	for {
		err := o.config.Store.Update(until, write)
		if err == nil || lost(err) {
			return
		}
		left := time.UnixMilli(j.row.DueMs).Sub(o.config.Now())
		wait := time.NewTimer(time.Second)
		select {
		case <-wait.C:
		case <-until.Done():
			left = 0
		}
		wait.Stop()
		if left <= 0 {
			o.config.Log.Warn("it could not be noted how the sending of a mail went: it may be sent again", "id", uuid.UUID(j.row.ID), "error", err)
			return
		}
	}
}

func (o *Outbox) gaveUp(row *store.Mail, reason error) {
	o.givenUp.Add(1)
	o.config.Log.Warn("a mail is given up", "id", uuid.UUID(row.ID), "kind", row.Kind, "attempts", row.Attempts, "error", reason)
}

// reached keeps whether the mail server can be used, and logs when that changes.
func (o *Outbox) reached(now time.Time, err error, server bool) {
	if !server {
		o.pause.end()
		if o.failing.Swap(false) {
			o.config.Log.Info("the mail server can be used again")
		}
		return
	}
	o.pause.prolong(now)
	if !o.failing.Swap(true) {
		o.config.Log.Warn("the mail server cannot be used; mails wait, and are tried again", "error", err)
	}
}

// pause keeps all mails back while the mail server cannot be used: longer with each failure, at most longestPause.
type pause struct {
	mu    sync.Mutex
	until time.Time
	last  time.Duration
}

const longestPause = 30 * time.Second

func (p *pause) holds(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.until)
}

func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until, p.last = time.Time{}, 0
}

func (p *pause) prolong(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.until) {
		return // it began at the same time as the attempt that failed before
	}
	p.last = min(max(2*p.last, time.Second), longestPause)
	p.until = now.Add(p.last)
}
