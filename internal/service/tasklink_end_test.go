package service

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// A link ends with its time, its task, its addressee and by revocation; the state says which.
func TestLinksEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, bob := fx.as("ada", "operator"), fx.member("bob", store.Grant{Role: "participant"})
		g := store.Group{ID: newID[chargehand.GroupID](fx.nowMs()), Account: fx.account.No, Name: "Finance", NameKey: "finance", CreatedMs: fx.nowMs()}
		change := func(fn func(tx *store.Tx) error) {
			t.Helper()
			if err := fx.rows.Update(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		change(func(tx *store.Tx) error {
			g.No = 0
			return errors.Join(tx.InsertGroup(&g), tx.JoinGroup(&g, bob.Person.No))
		})
		id := fx.open(map[string]any{"assignees": people(nil, []any{"finance"}, nil)})
		asBob := fx.linked(ada, id, email("bob@example.org"))
		revoked, secret, err := fx.link(ada, id, email("bob@example.org"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := fx.RevokeTaskLink(t.Context(), ada, id, revoked.ID); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, fx.RevokeTaskLink(t.Context(), ada, id, newID[chargehand.TaskLinkID](1)), chargehand.CodeTaskLinkNotFound)
		if fx.state(secret) != LinkRevoked || fx.state(asBob) != LinkOpen {
			t.Errorf("a link was revoked: states %d, %d", fx.state(secret), fx.state(asBob))
		}
		wantCode(t, fx.answerBy(secret), chargehand.CodeStateConflict)

		// Out of the group, and in again; disabled; removed from the account.
		change(func(tx *store.Tx) error { return tx.LeaveGroup(g.No, bob.Person.No) })
		if fx.state(asBob) != LinkRefused {
			t.Errorf("outside of the group: state %d", fx.state(asBob))
		}
		wantCode(t, fx.answerBy(asBob), chargehand.CodeStateConflict)
		change(func(tx *store.Tx) error { return tx.JoinGroup(&g, bob.Person.No) })
		free := fx.open(map[string]any{})
		freely, outside := fx.linked(ada, free, email("bob@example.org")), fx.linked(ada, free, email("out@example.org"))
		change(func(tx *store.Tx) error { return tx.SetMemberStatus(bob.No, store.Active, store.Disabled) })
		if fx.state(asBob) != LinkRefused || fx.state(freely) != LinkRefused || fx.state(outside) != LinkOpen {
			t.Errorf("disabled: states %d, %d", fx.state(asBob), fx.state(freely))
		}
		_, _, err = fx.link(ada, free, email("bob@example.org"))
		wantCode(t, err, chargehand.CodeNotAssigned)
		wantCode(t, fx.answerBy(freely), chargehand.CodeStateConflict)
		change(func(tx *store.Tx) error { return tx.DeleteMember(fx.account.No, bob.Person.No) })
		if fx.state(freely) != LinkRefused {
			t.Errorf("removed: state %d", fx.state(freely))
		}

		// The task goes to others, is taken, is over; the time is over.
		if _, err := fx.ReassignHumanTask(t.Context(), ada, free, map[string]any{"users": []any{"ada@example.org"}}); err != nil {
			t.Fatal(err)
		}
		if fx.state(outside) != LinkRefused {
			t.Errorf("reassigned: state %d", fx.state(outside))
		}
		if _, err := fx.ReassignHumanTask(t.Context(), ada, free, map[string]any{"users": []any{}}); err != nil {
			t.Fatal(err)
		}
		if _, err := fx.ClaimHumanTask(t.Context(), ada, free, nil); err != nil {
			t.Fatal(err)
		}
		if fx.state(outside) != LinkTaken {
			t.Errorf("taken: state %d", fx.state(outside))
		}
		wantCode(t, fx.answerBy(outside), chargehand.CodeClaimedByOther)
		change(func(tx *store.Tx) error {
			row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, free)
			if err == nil {
				_, err = tx.WithdrawTask(row.Execution, row.Command, 1, fx.nowMs())
			}
			return err
		})
		if fx.state(outside) != LinkWithdrawn {
			t.Errorf("withdrawn: state %d", fx.state(outside))
		}
		wantCode(t, fx.answerBy(outside), chargehand.CodeTaskWithdrawn)
		last := fx.open(map[string]any{})
		short, long := fx.linked(ada, last, map[string]any{"expires_in": "90m"}), fx.linked(ada, last, map[string]any{})
		fx.pass(90 * time.Minute)
		if fx.state(short) != LinkExpired || fx.state(long) != LinkOpen {
			t.Errorf("after its time: states %d, %d", fx.state(short), fx.state(long))
		}
		wantCode(t, fx.answerBy(short), chargehand.CodeStateConflict)
		fx.pass(30 * 24 * time.Hour)
		if fx.state(long) != LinkExpired {
			t.Errorf("after 30 days: state %d", fx.state(long))
		}
	})
}

// The maker of a link knows its address, so a link ends too when its maker may not act any more.
func TestLinksEndWithTheirMaker(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada := fx.member("ada", store.Grant{Role: "operator"})
		as := fx.session(fx.signIn(ada), chargehand.Live)
		bot := fx.key("bot", "")
		id := fx.open(map[string]any{"assignees": people([]any{"eve@example.org"}, nil, nil)})
		byAda, byBot := fx.linked(as, id, email("eve@example.org")), fx.linked(bot, id, email("eve@example.org"))
		change := func(fn func(tx *store.Tx) error) {
			t.Helper()
			if err := fx.rows.Update(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		change(func(tx *store.Tx) error { return tx.SetMemberStatus(ada.No, store.Active, store.Disabled) })
		if fx.state(byAda) != LinkRefused || fx.state(byBot) != LinkOpen {
			t.Errorf("a maker was disabled: states %d, %d", fx.state(byAda), fx.state(byBot))
		}
		wantCode(t, fx.answerBy(byAda), chargehand.CodeStateConflict)
		change(func(tx *store.Tx) error { return tx.SetMemberStatus(ada.No, store.Disabled, store.Active) })
		if fx.state(byAda) != LinkOpen {
			t.Errorf("the maker is active again: state %d", fx.state(byAda))
		}
		change(func(tx *store.Tx) error { return tx.DeleteMember(fx.account.No, ada.Person.No) })
		wantCode(t, fx.answerBy(byAda), chargehand.CodeStateConflict)
		change(func(tx *store.Tx) error { return tx.RevokeKey(bot.KeyNo, fx.nowMs()) })
		if fx.state(byBot) != LinkRefused {
			t.Errorf("the key that made it was revoked: state %d", fx.state(byBot))
		}
		wantCode(t, fx.answerBy(byBot), chargehand.CodeStateConflict)
		brief := fx.endingKey("brief", "", fx.nowMs()+time.Hour.Milliseconds())
		byBrief := fx.linked(brief, id, email("eve@example.org"))
		fx.pass(time.Hour - time.Millisecond)
		if fx.state(byBrief) != LinkOpen {
			t.Errorf("the key that made it has not ended yet: state %d", fx.state(byBrief))
		}
		fx.pass(time.Millisecond)
		if fx.state(byBrief) != LinkRefused {
			t.Errorf("the key that made it has expired: state %d", fx.state(byBrief))
		}
		wantCode(t, fx.answerBy(byBrief), chargehand.CodeStateConflict)
	})
}

// personalKey is a personal key of a member that ends at a time; 0: never.
func (fx *humanFixture) personalKey(m store.Member, expiresMs int64) *Principal {
	fx.t.Helper()
	id := newID[chargehand.KeyID](fx.nowMs())
	row := store.Key{
		ID: id, Account: fx.account.No, Environment: chargehand.Live, Name: "personal", Scopes: "tasks:respond", Person: m.Person.No,
		Hash: append([]byte(strings.Repeat("p", 16)), id[:]...), Creator: m.Person.ID.String(), ExpiresMs: expiresMs,
	}
	if err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error { row.No = 0; return tx.InsertKey(&row) }); err != nil {
		fx.t.Fatal(err)
	}
	p := *fx.session(fx.signIn(m), chargehand.Live)
	p.Session, p.SessionNo, p.FreshUntil, p.ExpiresAt = chargehand.SessionID{}, 0, time.Time{}, atMs(expiresMs)
	p.Key, p.KeyNo = row.ID, row.No
	return &p
}

// A link ends for good with the session or personal key that has made it, where that may be in wrong hands. To sign out
// ends no link.
func TestLinksEndWithWhatHasMadeThem(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ctx := t.Context()
		ada, admin, bob := fx.member("ada", store.Grant{Role: "operator"}), fx.admin("root"), fx.as("bob", "operator")
		id := fx.open(map[string]any{})
		signIn := func() *Principal { t.Helper(); return fx.session(fx.signIn(ada), chargehand.Live) }
		by := func(p *Principal) string { t.Helper(); return fx.linked(p, id, email("eve@example.org")) }
		check := func(when string, want map[string]LinkState) {
			t.Helper()
			for secret, state := range want {
				if got := fx.state(secret); got != state {
					t.Errorf("%s: a link is in state %d, want %d", when, got, state)
				}
			}
		}
		out, desk, thief := signIn(), signIn(), signIn()
		key, brief := fx.personalKey(ada, 0), fx.personalKey(ada, fx.nowMs()+time.Hour.Milliseconds())
		fromOut, fromDesk, fromThief, fromKey, fromBrief, fromBob := by(out), by(desk), by(thief), by(key), by(brief), by(bob)
		if err := fx.RevokeSession(ctx, out, out.Session); err != nil {
			t.Fatal(err)
		}
		check("signed out", map[string]LinkState{fromOut: LinkOpen})
		if err := fx.RevokeSession(ctx, desk, thief.Session); err != nil {
			t.Fatal(err)
		}
		check("another session was revoked", map[string]LinkState{fromThief: LinkRevoked, fromOut: LinkOpen, fromDesk: LinkOpen, fromKey: LinkOpen})
		wantCode(t, fx.answerBy(fromThief), chargehand.CodeStateConflict)
		for _, p := range []*Principal{thief, out} { // as a node knows them for some time yet
			_, _, err := fx.link(p, id, email("eve@example.org"))
			wantCode(t, err, chargehand.CodeInvalidCredentials)
		}
		if err := fx.RevokeOtherSessions(ctx, desk); err != nil {
			t.Fatal(err)
		}
		check("all other sessions were revoked, with what has ended before",
			map[string]LinkState{fromOut: LinkRevoked, fromDesk: LinkOpen, fromKey: LinkOpen, fromBob: LinkOpen})

		if err := fx.rows.Update(ctx, func(tx *store.Tx) error { return tx.RevokeKey(key.KeyNo, fx.nowMs()) }); err != nil {
			t.Fatal(err)
		}
		check("the personal key was revoked", map[string]LinkState{fromKey: LinkRefused, fromBrief: LinkOpen, fromDesk: LinkOpen})
		wantCode(t, fx.answerBy(fromKey), chargehand.CodeStateConflict)
		fx.pass(time.Hour)
		check("the personal key has expired", map[string]LinkState{fromBrief: LinkExpired, fromDesk: LinkOpen})
		wantCode(t, fx.answerBy(fromBrief), chargehand.CodeStateConflict)

		ended := fx.open(map[string]any{})
		fromEnded := fx.linked(desk, ended, map[string]any{})
		if err := fx.answer(bob, ended, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		other := fx.personalKey(ada, 0)
		fromOther := by(other)
		for _, status := range []string{"disabled", "active"} {
			if _, err := fx.PatchUser(ctx, admin, ada.Person.ID, map[string]any{"status": status}); err != nil {
				t.Fatal(err)
			}
			check("the user is "+status, map[string]LinkState{fromDesk: LinkRevoked, fromOther: LinkRevoked, fromBob: LinkOpen, fromEnded: LinkAnswered})
		}
	})
}
