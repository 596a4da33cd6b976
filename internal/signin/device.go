package signin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/delay"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// A program without a browser, such as the command line, gets personal keys by the device grant (RFC 8628): it shows a
// code, a person who has signed in types the code on the page /device and confirms, and the program, which asks again
// and again, gets the keys. The code is never part of an address: a person who follows a link of another one
// confirms nothing.

const (
	// DeviceLife is how long a request of a program counts.
	DeviceLife = 10 * time.Minute
	// DevicePause is how long a program waits at first before it asks for its keys again.
	DevicePause = 5 * time.Second
	// maxDevices bounds the requests that are open at once.
	maxDevices = 1000
)

// The states of a request.
const (
	deviceOpen = iota
	deviceApproved
	deviceDenied
)

// device is what the ticket of a request holds.
type device struct {
	Name         string                   `json:"name"`
	Environments []chargehand.Environment `json:"environments"`
	Admin        bool                     `json:"admin,omitempty"`
	Address      string                   `json:"address"`
	State        int                      `json:"state"`
	// The session whose person looks at the request, and the hash of the secret of its form.
	Session chargehand.SessionID `json:"session,omitzero"`
	Form    []byte               `json:"form,omitempty"`
}

// KeyRequest asks for personal keys: one for each of the environments in which the person may do something.
type KeyRequest struct {
	Person, Account int64 // internal numbers
	Name            string
	Environments    []chargehand.Environment
	// Admin: with the rights of an admin, as far as the person has them. Without it keys never have them.
	Admin bool
}

// IssuedKey is a personal key. Key is shown this once.
type IssuedKey struct {
	ID          chargehand.KeyID
	Environment chargehand.Environment
	Key         string
	Scopes      []string
	ExpiresAt   time.Time // zero: it does not end
}

// StartDevice is the request of a program for keys.
type StartDevice struct {
	Name         string                   // what the program calls itself
	Environments []chargehand.Environment // empty: both
	Admin        bool                     // it asks for the rights of an admin
}

// DeviceCode is what a program has to show, and to ask with.
type DeviceCode struct {
	Device string // the program's own secret
	User   string // what the person types
	Life   time.Duration
	Pause  time.Duration
}

// StartDevice begins a request of a program for keys. Codes: invalid_body, rate_limited.
func (s *Service) StartDevice(ctx context.Context, q StartDevice, from Client) (DeviceCode, error) {
	name, complaint := person.Name(q.Name)
	if complaint != "" {
		return DeviceCode{}, badField("name", "name "+complaint)
	}
	if len(q.Environments) == 0 {
		q.Environments = []chargehand.Environment{chargehand.Live, chargehand.Test}
	}
	// One address cannot take up all the places.
	if _, err := s.begin(ctx, deviceSubjects(deviceStart, nil, from)); err != nil {
		return DeviceCode{}, err
	}
	data, err := json.Marshal(device{Name: name, Environments: q.Environments, Admin: q.Admin, Address: from.Address.Unmap().String()})
	if err != nil {
		return DeviceCode{}, fmt.Errorf("encode device: %w", err)
	}
	c := DeviceCode{Life: DeviceLife, Pause: DevicePause}
	err = s.update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil { // so that the bound holds with many at once
			return err
		}
		now := s.now()
		open, err := tx.CountTickets(store.TicketDevice, now.UnixMilli(), maxDevices)
		if err != nil {
			return err
		}
		if open >= maxDevices {
			return &chargehand.Error{
				Code: chargehand.CodeRateLimited, RetryAfter: 60, Detail: "Too many programs wait for a person to confirm them. Try again later.",
			}
		}
		var hash [sha256.Size]byte
		c.Device, hash = token.New()
		c.User = token.NewCode()
		code := sha256.Sum256([]byte(c.User))
		return tx.InsertTicket(&store.Ticket{
			Hash: hash[:], Kind: store.TicketDevice, Code: code[:], Data: data, CreatedMs: now.UnixMilli(), ExpiresMs: now.Add(DeviceLife).UnixMilli(),
		})
	})
	if errors.Is(err, store.ErrConflict) { // the code of another one, which is as likely as a guess
		return DeviceCode{}, &chargehand.Error{Code: chargehand.CodeUnavailable, RetryAfter: 1, Detail: "Try again."}
	}
	return c, err
}

// What tries are counted for.
const (
	deviceStart = "start"
	deviceCode  = "code"
)

// deviceSubjects are whom tries delay: the address, or the network that one subscriber may have all addresses of, and
// the person where there is one.
func deviceSubjects(what string, of *store.Person, from Client) []subject {
	list := []subject{subjectOf(delay.Address, "device "+what+" address", delay.Site(from.Address))}
	if of != nil {
		list = append(list, subjectOf(delay.Source, "device "+what+" person", of.ID.String()))
	}
	return list
}

const noCode = "The code is not right, was used, or has expired. Look at the program that shows it, or start it again."

// Device is a request of a program, as the person sees it who has typed its code.
type Device struct {
	Name         string // what the program calls itself
	Environments []chargehand.Environment
	Admin        bool   // it asks for the rights of an admin
	Address      string // where the program runs
	StartedAt    time.Time
	Code         string // in the form of token.NewCode
	Form         string // the secret of the form that decides
}

// Device finds the request with the code that a person has typed. From then on no other session decides on it, until
// its code is typed again. Wrong codes delay the next try. Codes: invalid_credentials, rate_limited.
func (s *Service) Device(ctx context.Context, session *Session, typed string, from Client) (*Device, error) {
	t, err := s.begin(ctx, deviceSubjects(deviceCode, &session.Person, from))
	if err != nil {
		return nil, err
	}
	code, ok := token.ReadCode(typed)
	if !ok {
		return nil, refusedError(noCode)
	}
	hash := sha256.Sum256([]byte(code))
	var found *Device
	err = s.update(ctx, func(tx *store.Tx) error {
		ticket, d, err := s.openDevice(&tx.Reader, hash[:])
		if err != nil {
			return err
		}
		form, formHash := token.New()
		d.Session, d.Form = session.ID, formHash[:]
		ticket.Person, ticket.Account = session.Person.No, session.Account.No
		if err := s.changeDevice(tx, ticket, d); err != nil {
			return err
		}
		found = &Device{
			Name: d.Name, Environments: d.Environments, Admin: d.Admin, Address: d.Address, StartedAt: atMs(ticket.CreatedMs), Code: code, Form: form,
		}
		return t.succeed(tx)
	})
	return found, deviceError(err)
}

func deviceError(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return refusedError(noCode)
	}
	return err
}

// openDevice reads a request that is not decided yet. Errors: store.ErrNotFound.
func (s *Service) openDevice(r *store.Reader, code []byte) (*store.Ticket, *device, error) {
	ticket, err := r.TicketByCode(store.TicketDevice, code, s.now().UnixMilli())
	if err != nil {
		return nil, nil, err
	}
	d, err := readDevice(&ticket)
	if err == nil && d.State != deviceOpen {
		err = store.ErrNotFound
	}
	return &ticket, d, err
}

func readDevice(ticket *store.Ticket) (*device, error) {
	var d device
	if err := json.Unmarshal(ticket.Data, &d); err != nil {
		return nil, fmt.Errorf("decode device: %w", err)
	}
	return &d, nil
}

// changeDevice writes a changed request. Errors: store.ErrConflict if another process changed it.
func (s *Service) changeDevice(tx *store.Tx, ticket *store.Ticket, d *device) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode device: %w", err)
	}
	ticket.Data = data
	return tx.ChangeTicket(ticket, s.now().UnixMilli())
}

// DecideDevice allows a request, or refuses it. Only the session does that typed its code, with the secret of the form
// that it got then. Allowing needs a fresh sign-in. Codes: invalid_credentials, fresh_sign_in_required.
func (s *Service) DecideDevice(ctx context.Context, session *Session, code, form string, allow bool) error {
	if session.old {
		return noSession()
	}
	if allow && !session.Fresh(s.now()) {
		return NotFresh()
	}
	code, ok := token.ReadCode(code)
	if !ok {
		return refusedError(noCode)
	}
	hash, formHash := sha256.Sum256([]byte(code)), token.Hash(form)
	return deviceError(s.update(ctx, func(tx *store.Tx) error {
		ticket, d, err := s.openDevice(&tx.Reader, hash[:])
		if err != nil {
			return err
		}
		own := d.Session == session.ID && ticket.Person == session.Person.No && ticket.Account == session.Account.No
		if !own || subtle.ConstantTimeCompare(d.Form, formHash[:]) != 1 {
			return store.ErrNotFound // of another session, or of an earlier form
		}
		if d.State = deviceDenied; allow {
			d.State = deviceApproved
		}
		return s.changeDevice(tx, ticket, d)
	}))
}

// Redeemed is what a program gets.
type Redeemed struct {
	Person  store.Person
	Account store.Account
	Keys    []IssuedKey
}

// RedeemDevice answers a program that asks for its keys. The keys are made in the transaction that uses the request up.
// Codes: authorization_pending, slow_down, access_denied, expired_token.
func (s *Service) RedeemDevice(ctx context.Context, text string) (*Redeemed, error) {
	if !token.WellFormed(text) {
		return nil, deviceGone()
	}
	hash := token.Hash(text)
	var got *Redeemed
	var answer error // of a transaction that is committed
	err := s.update(ctx, func(tx *store.Tx) error {
		got, answer = nil, nil // it may be tried again
		ticket, err := tx.FindTicket(store.TicketDevice, hash[:], s.now().UnixMilli())
		if err != nil {
			return err
		}
		d, err := readDevice(&ticket)
		if err != nil {
			return err
		}
		if d.State == deviceOpen {
			answer, err = s.countQuestion(tx, hash)
			return err
		}
		if _, err := tx.UseTicket(store.TicketDevice, hash[:], s.now().UnixMilli()); err != nil {
			return err
		}
		if d.State == deviceApproved {
			got, err = s.redeem(ctx, tx, &ticket, d)
		}
		if err == nil && got != nil {
			err = startedWell(tx, d)
		}
		if err == nil && got == nil {
			answer = chargehand.NewError(chargehand.CodeAccessDenied, "The person has refused, or may not do anything any more.")
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict): // another question has used it up
		return nil, deviceGone()
	case err != nil:
		return nil, err
	}
	return got, answer
}

// startedWell takes back what the start of a request has counted as a try of its address.
func startedWell(tx *store.Tx, d *device) error {
	address, err := netip.ParseAddr(d.Address)
	if err != nil {
		return nil // it was not known, and such requests count together
	}
	for _, who := range deviceSubjects(deviceStart, nil, Client{Address: address}) {
		c := counted{subject: who}
		if err := c.undo(tx, 1); err != nil {
			return err
		}
	}
	return nil
}

func deviceGone() error {
	return chargehand.NewError(chargehand.CodeExpiredToken, "The device code is not right, was used, or has expired. Start again.")
}

// redeem makes the keys of a request that was allowed; nil if the person may not act in the account any more.
func (s *Service) redeem(ctx context.Context, tx *store.Tx, ticket *store.Ticket, d *device) (*Redeemed, error) {
	m, err := tx.MemberByNo(ticket.Account, ticket.Person)
	if errors.Is(err, store.ErrNotFound) || err == nil && !m.Counts() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	got := &Redeemed{Person: m.Person}
	if got.Account, err = tx.AccountByNo(ticket.Account); err != nil {
		return nil, err
	}
	got.Keys, err = s.keys(ctx, tx, KeyRequest{Person: ticket.Person, Account: ticket.Account, Name: d.Name, Environments: slices.Clone(d.Environments), Admin: d.Admin})
	if err != nil || len(got.Keys) == 0 {
		return nil, err
	}
	return got, nil
}

// countQuestion answers a program whose request is open still: pending, or slow_down if it has asked too soon, which
// makes the pause longer for all nodes.
func (s *Service) countQuestion(tx *store.Tx, hash [sha256.Size]byte) (answer, err error) {
	name := sha256.Sum256(append([]byte("device question "), hash[:]...))
	d, err := tx.SignInDelayOf(name)
	if err != nil {
		return nil, err
	}
	now, was := s.now(), d.Failures
	answer = chargehand.NewError(chargehand.CodeAuthorizationPending, "No person has confirmed the code yet. Ask again after the interval.")
	// A tenth of the pause is for the way.
	if was > 0 && now.Add(DevicePause/10).Before(atMs(d.UntilMs)) {
		d.Failures++
		answer = chargehand.NewError(chargehand.CodeSlowDown, "The program asks too often. The interval is 5 seconds longer from now on.")
	}
	d.Failures = max(d.Failures, 1)
	pause := DevicePause * time.Duration(min(d.Failures, int64(DeviceLife/DevicePause)))
	d.UpdatedMs, d.UntilMs = now.UnixMilli(), now.Add(pause).UnixMilli()
	if err := tx.SetSignInDelay(name, was, d); err != nil && !errors.Is(err, store.ErrConflict) {
		return nil, err
	}
	return answer, nil // with a conflict, another node has counted a question at the same time
}
