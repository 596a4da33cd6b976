package service

import (
	"context"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// grantsShown is how many grants persons see of themselves. By groups, a member may have far more.
	grantsShown      = 100
	maxSettingsBytes = 64 << 10
	maxLocaleBytes   = 35 // the longest language tag that RFC 5646 asks for
)

// Me is the person of a principal, in its account.
type Me struct {
	User       User
	Grants     []Grant // the first 100, those of groups among them
	MoreGrants bool    // there are more
	Live, Test Scopes  // what the principal may do somewhere in each environment
	// Installation tells that the principal may see the state of the whole installation, in live.
	Installation bool
}

// GetMe returns the person of the principal, and what the principal may do. Codes: insufficient_scope.
func (s *Service) GetMe(ctx context.Context, p *Principal) (me *Me, err error) {
	if err := needsPerson(p); err != nil {
		return nil, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		me, err = shownMe(r, p)
		return err
	})
	return me, notFoundIs(err, noSession)
}

func shownMe(r *store.Reader, p *Principal) (*Me, error) {
	m, err := r.MemberByNo(p.AccountNo, p.PersonNo)
	if err != nil {
		return nil, err
	}
	me := &Me{Grants: []Grant{}}
	if me.User, err = shownUser(r, &m); err != nil {
		return nil, err
	}
	rows, err := r.GrantsOf(p.AccountNo, p.PersonNo, session.MaxGrants)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		role, _ := ParseRole(rows[i].Role)
		if rows[i].Environments.Has(chargehand.Live) {
			me.Live |= role.Scopes(chargehand.Live)
		}
		if rows[i].Environments.Has(chargehand.Test) {
			me.Test |= role.Scopes(chargehand.Test)
		}
		if me.MoreGrants = i >= grantsShown; me.MoreGrants {
			continue
		}
		g, err := shownGrant(r, &rows[i])
		if err != nil {
			return nil, err
		}
		me.Grants = append(me.Grants, g)
	}
	if p.SessionNo == 0 { // a personal key is of one environment, and has no more than its own scopes
		live := p.Environment == chargehand.Live
		me.Live, me.Test = 0, p.Scopes
		if live {
			me.Live, me.Test = p.Scopes, 0
		}
	}
	if me.Live.Has(ScopeAdmin) { // neither the role nor a key that has it is limited to a part
		me.Installation, err = isOperator(r, p)
	}
	return me, err
}

// PatchMe changes the name and the language of the principal's person, in all accounts. Body: name, locale (null:
// none).
// Codes: insufficient_scope, invalid_body, unknown_field.
func (s *Service) PatchMe(ctx context.Context, p *Principal, body value.Value) (me *Me, err error) {
	if err := needsSession(p); err != nil {
		return nil, err
	}
	f, err := openBody(body, "name", "locale")
	if err != nil {
		return nil, err
	}
	name, key := f.personName("name")
	locale := f.locale("locale")
	if err := f.err(); err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		row, err := tx.PersonForUpdate(p.PersonNo)
		if err != nil {
			return err
		}
		was := row
		if row.NameKey = person.Key(row.Name); f.has("name") {
			row.Name, row.NameKey = name, key
		}
		if f.has("locale") {
			row.Locale = locale
		}
		if err := tx.UpdatePerson(&row); err != nil {
			return err
		}
		if changes := changed("name", was.Name, row.Name).Set("locale", was.Locale, row.Locale); len(changes) > 0 {
			if err := s.audit(ctx, tx, p, audit.UserChanged, userTarget(&row), changes); err != nil {
				return err
			}
		}
		me, err = shownMe(&tx.Reader, p)
		return err
	})
	s.ForgetSessions() // principals have the name
	return me, notFoundIs(err, noSession)
}

// locale reads the tag of a language; null and an absent field are none.
func (f *fields) locale(name string) string {
	if f.values[name] == nil {
		return ""
	}
	before := len(f.wrong)
	text := f.text(name, maxLocaleBytes)
	if len(f.wrong) == before && !isLanguage(text) {
		f.fail(name, "wrong_value", "The field \""+name+"\" must be the tag of a language, such as en or de-AT, or null.")
	}
	return text
}

// isLanguage reports whether text has the form of a language tag: letters and digits in parts of at most 8, of which
// the first has letters alone.
func isLanguage(text string) bool {
	part, first := 0, true
	for i, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case c == '-' && part > 0 && i < len(text)-1:
			part, first = 0, false
			continue
		case !letter && (first || c < '0' || c > '9'):
			return false
		}
		if part++; part > 8 {
			return false
		}
	}
	return len(text) >= 2
}

// Settings are what the principal's person has set in the web interface, a JSON object. Codes: insufficient_scope.
func (s *Service) Settings(ctx context.Context, p *Principal) (data []byte, err error) {
	if err := needsSession(p); err != nil {
		return nil, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		data, err = r.Settings(p.PersonNo)
		return err
	})
	if err == nil && data == nil {
		data = []byte("{}")
	}
	return data, err
}

// PutSettings replaces what the principal's person has set.
// Codes: insufficient_scope, invalid_body, payload_too_large.
func (s *Service) PutSettings(ctx context.Context, p *Principal, body value.Value) ([]byte, error) {
	if err := needsSession(p); err != nil {
		return nil, err
	}
	if _, isObject := body.(map[string]any); !isObject {
		return nil, badBody(chargehand.FieldError{
			Code: "not_an_object", Detail: "The settings must be a JSON object, not " + value.KindOf(body) + ".",
		})
	}
	data := value.Marshal(body)
	if len(data) > maxSettingsBytes {
		return nil, chargehand.NewError(chargehand.CodePayloadTooLarge, "The settings must not be larger than "+strconv.Itoa(maxSettingsBytes)+" bytes.")
	}
	return data, s.update(ctx, func(tx *store.Tx) error { return tx.SetSettings(p.PersonNo, data, s.nowMs()) })
}
