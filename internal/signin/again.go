package signin

import (
	"errors"

	"github.com/chargehand/chargehand/internal/store"
)

// A person who comes by a set-up token or an invitation, and chooses no password, makes a passkey in the next step. If
// that fails, the person must be able to come again. So the ticket stays, as one of a kind of its own, until the person
// has something to sign in with.
var again = map[store.TicketKind]store.TicketKind{
	store.TicketSetup: store.TicketSetupAgain, store.TicketInvitation: store.TicketInvitationAgain,
}

// findAgain reads a ticket of a kind, or of one who comes again. Errors: store.ErrNotFound.
func findAgain(r *store.Reader, kind store.TicketKind, hash []byte, nowMs int64) (ticket store.Ticket, comesAgain bool, err error) {
	if ticket, err = r.FindTicket(kind, hash, nowMs); errors.Is(err, store.ErrNotFound) {
		comesAgain = true
		ticket, err = r.FindTicket(again[kind], hash, nowMs)
	}
	return ticket, comesAgain, err
}

// useAgain uses up a ticket of a kind, or of one who comes again. Errors: store.ErrConflict.
func useAgain(tx *store.Tx, kind store.TicketKind, hash []byte, nowMs int64) (store.Ticket, error) {
	ticket, err := tx.UseTicket(kind, hash, nowMs)
	if errors.Is(err, store.ErrConflict) {
		ticket, err = tx.UseTicket(again[kind], hash, nowMs)
	}
	return ticket, err
}

// keepAgain keeps a ticket that was used by a person who has nothing to sign in with yet.
func keepAgain(tx *store.Tx, ticket store.Ticket, p *store.Person, account int64) error {
	if p.Password != "" {
		return nil
	}
	if kind, first := again[ticket.Kind]; first {
		ticket.Kind = kind
	}
	ticket.Person, ticket.Account = p.No, account
	return tx.InsertTicket(&ticket)
}

// giveWay ends what was opened in the name of a person before: sessions, personal keys, and the requests of programs
// that were allowed.
func giveWay(tx *store.Tx, person, nowMs int64) error {
	members, err := tx.MembershipsOf(person)
	if err != nil {
		return err
	}
	for i := range members {
		if err := tx.RevokeKeysOf(members[i].Account, person, nowMs); err != nil {
			return err
		}
	}
	return errors.Join(tx.RevokeSessions(person, 0, 0, nowMs), tx.DeleteTicketsOf(person, store.TicketDevice))
}

// endAgain ends the tickets of keepAgain: the person can sign in from now on.
func endAgain(tx *store.Tx, person int64) error {
	return errors.Join(tx.DeleteTicketsOf(person, store.TicketSetupAgain), tx.DeleteTicketsOf(person, store.TicketInvitationAgain))
}
