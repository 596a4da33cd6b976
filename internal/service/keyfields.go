package service

import (
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
)

// change reads the fields that creating and changing a key share into row; scopes are those that it has without
// them. The limits are read, and not looked up.
func (f *fields) change(row *store.Key, scopes Scopes, now time.Time) limitation {
	if f.has("scopes") && f.has("preset") {
		f.fail("preset", "conflict", "Give either \"preset\" or \"scopes\", not both.")
	}
	if f.has("name") {
		row.Name = strings.TrimSpace(f.text("name", maxKeyNameBytes))
		if row.Name == "" && len(f.wrong) == 0 {
			f.fail("name", "empty", "The field \"name\" must not be empty.")
		}
	}
	if f.has("preset") {
		preset := f.text("preset", 20)
		var known bool
		if scopes, known = ParsePreset(preset); !known {
			f.fail("preset", "unknown_value", "The field \"preset\" must be one of run, observe, operate, deploy, all.")
		}
		scopes = scopes.In(row.Environment)
		row.Preset = preset
	}
	if f.has("scopes") {
		row.Preset = ""
		if scopes = f.scopes("scopes"); scopes != scopes.In(row.Environment) {
			f.fail("scopes", "conflict", noTestPublishing)
		}
	}
	row.Scopes = strings.Join(scopes.Names(), " ")
	limits := f.limitation()
	if f.has("expires_at") {
		row.ExpiresMs = 0
		if at := f.instant("expires_at"); !at.IsZero() {
			row.ExpiresMs = at.UnixMilli()
			if !at.After(now) {
				f.fail("expires_at", "in_the_past", "The field \"expires_at\" must lie in the future.")
			}
		}
	}
	if f.has("rate_limit") {
		row.Rate = f.rate("rate_limit")
	}
	if f.has("allowed_addresses") {
		row.Addresses = f.addresses("allowed_addresses")
	}
	return limits
}

// rate reads a rate in the stored form; null is the installation's.
func (f *fields) rate(name string) int64 {
	v := f.values[name]
	if v == nil {
		return -1
	}
	n, ok := whole(v)
	if !ok || n < 0 || n > maxKeyRate {
		f.fail(name, "wrong_value", "The field "+excerpt.Quote(name)+" must be a whole number of requests per second from 0 (no limit) to "+
			strconv.Itoa(maxKeyRate)+", or null.")
	}
	return n
}

func (f *fields) scopes(name string) (scopes Scopes) {
	for i, text := range f.texts(name, 100) {
		scope, ok := ParseScope(text)
		if !ok {
			f.failAt([]string{name, strconv.Itoa(i)}, "unknown_value",
				"There is no scope "+excerpt.Quote(text)+". The scopes are "+strings.Join(PresetAll.Names(), ", ")+".")
		}
		scopes |= scope
	}
	if scopes == 0 && len(f.wrong) == 0 {
		f.fail(name, "empty", "A key needs at least one scope.")
	}
	return scopes
}

// checkGrant tells whether the principal may make the key that row says, out of was (nil: there is none yet). A
// change that takes something away is always allowed; otherwise the key may do no more than the principal
// then, and may not do it for longer: than another key lives, that is, because a session ends sooner than what is made
// in it. A key needs no fresh sign-in, so that a session needs one to make what could do what needs one.
// Codes: insufficient_scope, invalid_body, fresh_sign_in_required.
func (s *Service) checkGrant(p *Principal, was, row *store.Key) error {
	if err := checkAdmin(row); err != nil {
		return err
	}
	scopes, own := parseScopes(row.Scopes), p.Key == row.ID
	faster := was != nil && s.effectiveRate(row.Rate) > s.effectiveRate(was.Rate)
	if was != nil && parseScopes(was.Scopes).Has(scopes) && row.Limits.Within(was.Limits) && networksWithin(row.Addresses, was.Addresses) &&
		!faster && !livesLonger(row.ExpiresMs, was.ExpiresMs) {
		return nil
	}
	detail := ""
	switch missing := scopes &^ p.Scopes.In(p.Environment); {
	case missing != 0:
		detail = "A key grants at most its own scopes. This key does not have " + strings.Join(missing.Names(), ", ") + "."
	case !row.Limits.Within(p.Limits):
		detail = "A key that is limited to some workflows or namespaces grants no more than these."
	case !networksWithin(row.Addresses, p.addresses()):
		detail = "A key that may be used from some addresses only makes no key that may be used from others. Those of this key are " + p.addresses() + "."
	case p.SessionNo == 0 && !p.ExpiresAt.IsZero() && livesLonger(row.ExpiresMs, p.ExpiresAt.UnixMilli()):
		detail = "A key makes no key that lives longer than itself. This key ends at " + p.ExpiresAt.Format(time.RFC3339) + "."
	case p.RatePerSecond > 0 && s.effectiveRate(row.Rate) > p.RatePerSecond:
		detail = "A key with a rate limit of its own makes no key that is faster. That of this key is " +
			strconv.FormatInt(int64(p.RatePerSecond), 10) + " requests per second."
	case own && faster:
		detail = "A key does not make itself faster. Use another key."
	}
	if detail != "" {
		return chargehand.NewError(chargehand.CodeInsufficientScope, detail)
	}
	if scopes&(ScopeAdmin|ScopeTasksImpersonate) != 0 {
		return s.RequireFresh(p)
	}
	return nil
}

// checkAdmin refuses an admin with limits, who would take them away. Codes: invalid_body.
func checkAdmin(row *store.Key) error {
	if row.Limits.All() || !parseScopes(row.Scopes).Has(ScopeAdmin) {
		return nil
	}
	return badBody(chargehand.FieldError{Code: "conflict", Detail: adminUnlimited})
}

// adminUnlimited is why a key with limits has no scope admin.
const adminUnlimited = "A key with the scope admin cannot be limited to workflows or namespaces, because it makes keys and sets secrets. " +
	"Leave out the scope, or the limit."

// livesLonger compares two ends of keys; 0 is none.
func livesLonger(aMs, bMs int64) bool { return bMs != 0 && (aMs == 0 || aMs > bMs) }
