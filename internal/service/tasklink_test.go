package service

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, fx *humanFixture)) {
	human := func(fx *fixture) *humanFixture {
		return &humanFixture{fixture: fx, e: fx.create(fx.apply(definition("asks", "1.0.0")).ID, nil)}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, human(newFixture(t))) })
	t.Run("postgres", func(t *testing.T) {
		var schemas postgrestest.Schemas
		url := schemas.New(t, peer.StartPostgres(t, peer.PostgresOptions{Careless: true}))
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		test(t, human(newFixtureOver(t, db)))
	})
}

// link makes a link and returns the secret in its address.
func (fx *humanFixture) link(p *Principal, id chargehand.HumanTaskID, body map[string]any) (l TaskLink, secret string, err error) {
	if body["name"] == nil {
		body["name"] = "Eve"
	}
	l, _, err = fx.LinkHumanTask(fx.t.Context(), p, LinkHumanTask{Task: id, Body: body, BaseURL: "https://example.com"})
	if err != nil {
		return l, "", err
	}
	secret, ok := strings.CutPrefix(l.URL, "https://example.com/t/")
	if !ok || len(secret) != 43 {
		fx.t.Errorf("the address of the link is %q", l.URL)
	}
	return l, secret, nil
}

func (fx *humanFixture) linked(p *Principal, id chargehand.HumanTaskID, body map[string]any) string {
	fx.t.Helper()
	_, secret, err := fx.link(p, id, body)
	if err != nil {
		fx.t.Fatal(err)
	}
	return secret
}

func (fx *humanFixture) state(secret string) LinkState {
	fx.t.Helper()
	seen, err := fx.LinkedTask(fx.t.Context(), secret, view)
	if err != nil {
		fx.t.Fatal(err)
	}
	if (seen.State <= LinkUsed) != (seen.Task.Full != nil) || (seen.State == LinkUsed) != (seen.Given != "") {
		fx.t.Errorf("in state %d the task is %+v", seen.State, seen.Task)
	}
	return seen.State
}

func (fx *humanFixture) answerBy(secret string) error {
	return fx.AnswerTaskByLink(fx.t.Context(), AnswerByLink{Secret: secret, Outcome: "done"})
}

// by is the `by` of the answer to a task, as a workflow passes it on.
func (fx *humanFixture) by(id chargehand.HumanTaskID) any {
	fx.t.Helper()
	shown, err := fx.GetHumanTask(fx.t.Context(), fx.p, id)
	if err != nil || shown.Full.Answer == nil {
		fx.t.Fatalf("%+v, %v", shown, err)
	}
	return shown.Full.Answer.Output().(map[string]any)["by"]
}

func email(address string) map[string]any { return map[string]any{"email": address} }

func TestAnswerByALink(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada := fx.as("ada", "operator")
		id := fx.open(map[string]any{"title": "Pick a date"})
		l, secret, err := fx.link(ada, id, map[string]any{"name": " Eve  Example", "email": "Eve@Example.org", "expires_in": "7d"})
		if err != nil || l.Name != "Eve Example" || !l.ExpiresAt.Equal(epoch.Add(7*24*time.Hour)) {
			t.Fatalf("%+v, %v", l, err)
		}
		_, other, _ := fx.link(ada, id, map[string]any{})
		for range 2 { // looking changes nothing
			seen, err := fx.LinkedTask(t.Context(), secret, view)
			if err != nil || seen.State != LinkOpen || seen.Task.Title != "Pick a date" || seen.Name != "Eve Example" || len(seen.Task.Full.Links) != 0 {
				t.Fatalf("%+v, %v", seen, err)
			}
		}
		shown, err := fx.GetHumanTask(t.Context(), ada, id)
		if err != nil || len(shown.Full.Links) != 2 || shown.Full.Links[0].MadeBy.Name != "ada" || shown.Full.Links[0].URL != "" || shown.Status != "open" {
			t.Fatalf("%+v, %v", shown.Full, err)
		}
		fx.pass(time.Hour)
		for range 2 { // a double click
			if err := fx.answerBy(secret); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]any{"id": "eve@example.org", "name": "Eve Example",
			"via": map[string]any{"kind": "link", "id": l.ID.String(), "made_by": ada.User.String()}}
		if by := fx.by(id).(map[string]any); by["id"] != want["id"] || by["name"] != want["name"] || by["via"].(map[string]any)["made_by"] != ada.User.String() ||
			by["via"].(map[string]any)["id"] != l.ID.String() {
			t.Errorf("answered by %v, want %v", by, want)
		}
		if fx.state(secret) != LinkUsed || fx.state(other) != LinkAnswered {
			t.Errorf("states after the answer: %d, %d", fx.state(secret), fx.state(other))
		}
		err = fx.AnswerTaskByLink(t.Context(), AnswerByLink{Secret: other, Outcome: "done"})
		if refused := wantCode(t, err, chargehand.CodeAnswerConflict); strings.Contains(refused.Detail, "Eve") {
			t.Errorf("the holder of another link learns who has answered: %s", refused.Detail)
		}
		for _, bad := range []string{"", "x", strings.Repeat("a", 43), secret[:42], secret + "a", strings.ToUpper(secret)} {
			_, err := fx.LinkedTask(t.Context(), bad, view)
			wantCode(t, err, chargehand.CodeTaskLinkNotFound)
			wantCode(t, fx.answerBy(bad), chargehand.CodeTaskLinkNotFound)
		}
		_, _, err = fx.link(ada, id, map[string]any{})
		wantCode(t, err, chargehand.CodeStateConflict)

		log, err := fx.ListAudit(t.Context(), fx.p, ListAudit{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		actions := map[audit.Action]AuditEntry{}
		for _, e := range log.Data {
			actions[e.Action] = e
		}
		if e := actions[audit.TaskAnswered]; e.Actor.Kind != "link" || e.Actor.ID != l.ID.String() || !strings.Contains(string(e.Changes), "eve@example.org") {
			t.Errorf("the answer in the audit log: %+v", e)
		}
		if e := actions[audit.TaskLinkCreated]; e.Actor.Name != "ada" || strings.Contains(string(e.Changes), secret) {
			t.Errorf("the link in the audit log: %+v", e)
		}
	})
}

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

// A key behind which are too many to know them answers nothing, and keeps no other from reading and answering.
func TestTooManyMakers(t *testing.T) {
	fx := newHumanFixture(t)
	var bot *Principal
	creator := ""
	for range maxMakers + 2 {
		bot = fx.key("bot", creator)
		creator = bot.Key.String()
	}
	id := fx.open(map[string]any{"assignees": people([]any{"eve@example.org"}, nil, []any{creator})})
	ada := fx.as("ada", "operator")
	if shown, err := fx.GetHumanTask(t.Context(), ada, id); err != nil || shown.Refused != chargehand.CodeNotAssigned {
		t.Errorf("%+v, %v", shown, err)
	}
	if list, err := fx.ListHumanTasks(t.Context(), ada, ListHumanTasks{Limit: 10}); err != nil || len(list.Data) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	free := fx.open(map[string]any{})
	wantCode(t, fx.answer(bot, free, map[string]any{}), chargehand.CodeNotAssigned)
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err != nil {
			return err
		}
		address, err := fx.MailedTaskLink(tx, &row, "https://example.com", "eve@example.org", "")
		if address != "" {
			t.Errorf("a link to %s", address)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// key is an API key that stands for no person, made by another or by the command line.
func (fx *humanFixture) key(name, creator string) *Principal {
	fx.t.Helper()
	return fx.endingKey(name, creator, 0)
}

func (fx *humanFixture) endingKey(name, creator string, expiresMs int64) *Principal {
	fx.t.Helper()
	id := newID[chargehand.KeyID](fx.nowMs())
	row := store.Key{
		ID: id, Account: fx.account.No, Environment: chargehand.Live, Name: name, Scopes: "tasks:respond",
		Hash: append([]byte(strings.Repeat("h", 16)), id[:]...), Creator: creator, ExpiresMs: expiresMs,
	}
	if err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error { row.No = 0; return tx.InsertKey(&row) }); err != nil {
		fx.t.Fatal(err)
	}
	p := *fx.p
	p.Key, p.KeyNo, p.Name = row.ID, row.No, name
	return &p
}

// Four eyes are those of two persons: a link for oneself, for another address of one's own, a second key or a bot do
// not get round that, whether the link is made for the second answer or for the first.
func TestLinksAndFourEyes(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, bob := fx.as("ada", "operator"), fx.as("bob", "operator")
		personal := *ada // a personal key of ada
		personal.Session, personal.SessionNo, personal.Key, personal.KeyNo = chargehand.SessionID{}, 0, newID[chargehand.KeyID](fx.nowMs()), 77
		bot := *fx.key("bot of ada", ada.User.String())
		weak := bot
		weak.Scopes = ScopeTasksRead | ScopeTasksRespond | ScopeExecutionsRead
		asAda, asBob, free := "ada@example.org", "bob@example.org", map[string]any{}
		excludesAda := map[string]any{"assignees": people(nil, nil, []any{asAda})}
		excludesKey := map[string]any{"assignees": people(nil, nil, []any{bot.Key.String()})}
		ofBob := map[string]any{"assignees": people([]any{asBob}, nil, nil)}
		for name, c := range map[string]struct {
			who     *Principal
			request map[string]any
			body    map[string]any
			want    chargehand.Code // empty: may
		}{
			"for all, without an address":                 {ada, free, map[string]any{}, ""},
			"for all, by a bot":                           {&weak, free, map[string]any{}, ""},
			"to an assignee, by one who manages":          {ada, ofBob, email("BOB@example.org"), ""},
			"to an assignee, by the assignee":             {bob, ofBob, email(asBob), ""},
			"to an assignee, by a bot":                    {&weak, ofBob, email(asBob), chargehand.CodeNotAssigned},
			"to an assignee, by a bot that manages":       {&bot, ofBob, email(asBob), ""},
			"to another":                                  {bob, ofBob, email("eve@example.org"), chargehand.CodeNotAssigned},
			"to an assignee, without an address":          {bob, ofBob, map[string]any{}, chargehand.CodeInvalidBody},
			"with exclusions, without an address":         {bob, excludesAda, map[string]any{}, chargehand.CodeInvalidBody},
			"with exclusions, to an outsider":             {bob, excludesAda, email("eve@example.org"), ""},
			"with exclusions, by a bot":                   {&weak, excludesAda, email("eve@example.org"), chargehand.CodeExcluded},
			"by one who is excluded":                      {ada, excludesAda, email("eve@example.org"), chargehand.CodeExcluded},
			"by one who is excluded, with a personal key": {&personal, excludesAda, email("eve@example.org"), chargehand.CodeExcluded},
			"by a bot of one who is excluded":             {&bot, excludesAda, email("eve@example.org"), chargehand.CodeExcluded},
			"to one who is excluded":                      {bob, excludesAda, email("Ada@Example.org"), chargehand.CodeExcluded},
			"by the maker of a bot that is excluded":      {ada, excludesKey, email("eve@example.org"), chargehand.CodeExcluded},
			"to the maker of a bot that is excluded":      {bob, excludesKey, email(asAda), chargehand.CodeExcluded},
		} {
			_, _, err := fx.link(c.who, fx.open(c.request), c.body)
			if c.want == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if c.want != "" {
				wantRefusal(t, name, err, c.want)
			}
		}

		// The first answer comes by a link that ada has made in some way: ada is excluded from the second one.
		for name, maker := range map[string]*Principal{"session": ada, "personal key": &personal, "bot": &bot} {
			first := fx.open(map[string]any{})
			if err := fx.answerBy(fx.linked(maker, first, email("other-name-of-ada@example.com"))); err != nil {
				t.Fatal(err)
			}
			second := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(first)})})
			wantRefusal(t, name, fx.answer(ada, second, map[string]any{}), chargehand.CodeExcluded)
			wantRefusal(t, name, fx.answer(&personal, second, map[string]any{}), chargehand.CodeExcluded)
			_, _, err := fx.link(ada, second, email("third-name@example.com"))
			wantRefusal(t, name, err, chargehand.CodeExcluded)
			_, _, err = fx.link(bob, second, email("Other-Name-of-Ada@example.com"))
			wantRefusal(t, name, err, chargehand.CodeExcluded)
			_, err = fx.ReassignHumanTask(t.Context(), ada, second, map[string]any{"users": []any{"third-name@example.com"}})
			wantRefusal(t, name, err, chargehand.CodeExcluded)
			if err := fx.answer(bob, second, map[string]any{}); err != nil {
				t.Errorf("%s: bob may answer: %v", name, err)
			}
		}

		// A bot has answered in its own name: the one who has made it does not answer again.
		first := fx.open(map[string]any{})
		if err := fx.answer(&bot, first, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		second := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(first)})})
		wantCode(t, fx.answer(ada, second, map[string]any{}), chargehand.CodeExcluded)
		for p, want := range map[*Principal]chargehand.Code{ada: chargehand.CodeExcluded, bob: ""} {
			if shown, err := fx.GetHumanTask(t.Context(), p, second); err != nil || shown.Refused != want {
				t.Errorf("read as refused for %q, want %q (%v)", shown.Refused, want, err)
			}
		}
		if err := fx.answer(bob, second, map[string]any{}); err != nil {
			t.Error(err)
		}
	})
}

func TestBoundsOfLinks(t *testing.T) {
	fx := newHumanFixture(t)
	id := fx.open(map[string]any{})
	for name, c := range map[string]struct {
		body    map[string]any
		pointer string
	}{
		"name":       {map[string]any{"name": " "}, "/name"},
		"long name":  {map[string]any{"name": strings.Repeat("n", 1000)}, "/name"},
		"email":      {map[string]any{"email": "eve"}, "/email"},
		"too long":   {map[string]any{"expires_in": "31d"}, "/expires_in"},
		"too short":  {map[string]any{"expires_in": "0s"}, "/expires_in"},
		"no time":    {map[string]any{"expires_in": "soon"}, "/expires_in"},
		"no text":    {map[string]any{"expires_in": 5}, "/expires_in"},
		"wrong type": {map[string]any{"email": 5}, "/email"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := fx.link(fx.p, id, c.body)
			wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), c.pointer)
		})
	}
	for range MaxTaskLinks {
		if _, _, err := fx.link(fx.p, id, map[string]any{}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := fx.link(fx.p, id, map[string]any{})
	wantCode(t, err, chargehand.CodeStateConflict)
	_, _, err = fx.link(fx.stranger(), id, map[string]any{})
	wantCode(t, err, chargehand.CodeHumanTaskNotFound)
	_, _, err = fx.link(fx.test, id, map[string]any{})
	wantCode(t, err, chargehand.CodeHumanTaskNotFound)
}

// The server mails links to those who may answer only, and an older one of an address counts no more.
func TestMailedLinks(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		bob := fx.as("bob", "participant")
		id := fx.open(map[string]any{"assignees": people([]any{"bob@example.org", "eve@example.org", "ada@example.org"}, nil, []any{"ada@example.org"})})
		mailed := func(to, name string) (secret string) {
			t.Helper()
			err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
				row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
				if err != nil {
					return err
				}
				secret, err = fx.MailedTaskLink(tx, &row, "https://example.com", to, name)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimPrefix(secret, "https://example.com/t/")
		}
		for _, to := range []string{"ada@example.org", "other@example.org", "no address", ""} {
			if mailed(to, "") != "" {
				t.Errorf("%q gets a link", to)
			}
		}
		var secrets []string
		for range 4 {
			secrets = append(secrets, mailed("Bob@example.org", "Robert"))
		}
		eve := mailed("eve@example.org", "")
		_, err := fx.LinkedTask(t.Context(), secrets[0], view)
		wantCode(t, err, chargehand.CodeTaskLinkNotFound)
		for _, secret := range append(secrets[1:], eve) {
			if fx.state(secret) != LinkOpen {
				t.Errorf("a mailed link is in state %d", fx.state(secret))
			}
		}
		if err := fx.answerBy(secrets[2]); err != nil {
			t.Fatal(err)
		}
		by := fx.by(id).(map[string]any)
		if by["id"] != bob.User.String() || by["name"] != "bob" || by["via"].(map[string]any)["made_by"] != nil {
			t.Errorf("answered by %v", by)
		}
		if mailed("bob@example.org", "") != "" {
			t.Error("a link to a task that has ended")
		}
	})
}

// What is uploaded by a link is used by that link alone, and a link names no other files.
func TestUploadsByLinks(t *testing.T) {
	fx := newHumanFixture(t)
	ctx := t.Context()
	form := map[string]any{"type": "object", "properties": map[string]any{"scan": map[string]any{"type": "object", "format": "file-ref"}}}
	id := fx.open(map[string]any{"form": form, "upload": map[string]any{"accept": []any{".pdf"}, "max": 1}})
	one, two := fx.linked(fx.p, id, map[string]any{}), fx.linked(fx.p, id, map[string]any{})
	upload := func(secret, name string) LinkedFile {
		t.Helper()
		f, err := fx.UploadByLink(ctx, secret, LinkUpload{Name: name, ContentType: "application/pdf", Content: strings.NewReader("content")})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pdf, other := upload(one, "a/b\\c.pdf"), upload(two, "d.pdf")
	if pdf.Name != "c.pdf" || pdf.Size != 7 {
		t.Errorf("uploaded %+v", pdf)
	}
	found, err := fx.LinkedFiles(ctx, one, []string{pdf.Text, pdf.Text, other.Text, pdf.Text + "x", pdf.ID.String(), "..", ""})
	if err != nil || len(found) != 1 || found[0].ID != pdf.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	foreign, _, err := fx.UploadFile(ctx, fx.p, UploadFile{Name: "secret.pdf", ContentType: "application/pdf", Content: strings.NewReader("secret")})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(secret string, q AnswerByLink) error {
		q.Secret, q.Outcome = secret, "done"
		if q.Data == nil {
			q.Data = map[string]any{}
		}
		return fx.AnswerTaskByLink(ctx, q)
	}
	reference := map[string]any{"uri": chargehand.FilesPath + foreign.ID.String()}
	for name, q := range map[string]AnswerByLink{
		"a file of another":                {Files: []string{foreign.ID.String()}},
		"that of another link":             {Files: []string{other.ID.String()}, Uploads: []string{other.Text}},
		"an upload whose text is not sent": {Files: []string{pdf.ID.String()}},
		"a reference in the data":          {Data: map[string]any{"scan": reference}},
		"too many":                         {Files: []string{pdf.ID.String(), pdf.ID.String()}, Uploads: []string{pdf.Text}},
	} {
		wantRefusal(t, name, answer(one, q), chargehand.CodeAnswerInvalid)
	}
	text := upload(one, "notes.txt")
	wantRefusal(t, "another kind", answer(one, AnswerByLink{Files: []string{text.ID.String()}, Uploads: []string{text.Text}}), chargehand.CodeAnswerInvalid)
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "notes.txt", ContentType: "text/plain", Content: strings.NewReader("x"), ForAnswer: true})
	wantCode(t, err, chargehand.CodeAnswerInvalid)
	for range MaxLinkUploads - 2 {
		upload(two, "more.pdf")
	}
	part, rest := io.Pipe() // one that takes long counts from its beginning
	slow := make(chan error)
	go func() {
		_, err := fx.UploadByLink(ctx, two, LinkUpload{Name: "slow.pdf", Content: part})
		slow <- err
	}()
	if _, err := io.WriteString(rest, "slow"); err != nil {
		t.Fatal(err)
	}
	_, err = fx.UploadByLink(ctx, two, LinkUpload{Name: "more.pdf", Content: strings.NewReader("x")})
	wantCode(t, err, chargehand.CodeStateConflict)
	rest.Close()
	if err := <-slow; err != nil {
		t.Error(err)
	}
	// Bytes count while they are read.
	err = fx.rows.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err != nil {
			return err
		}
		links, err := tx.TaskLinks(row.No, 2)
		if err != nil {
			return err
		}
		return tx.CountLinkBytes(links[0].No, MaxLinkUploadBytes-countBytes-links[0].UploadBytes, MaxLinkUploadBytes)
	})
	if err != nil {
		t.Fatal(err)
	}
	endless := strings.NewReader(strings.Repeat("x", 3*countBytes))
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "endless.pdf", Content: endless})
	if wantCode(t, err, chargehand.CodeStateConflict); endless.Len() < countBytes/2 {
		t.Errorf("only %d bytes were not read", endless.Len())
	}
	fx.pass(23 * time.Hour)
	err = answer(one, AnswerByLink{Files: []string{pdf.ID.String()}, Uploads: []string{pdf.Text}, Data: map[string]any{"scan": pdf.Reference}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fx.UploadByLink(ctx, one, LinkUpload{Name: "late.pdf", Content: strings.NewReader("late")})
	wantCode(t, err, chargehand.CodeStateConflict)
}

// A definition can write the address of any file into a task. A link opens, and takes into the answer, only those that
// belong to the execution.
func TestLinksAndForeignFiles(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		foreign, own := fx.upload(fx.p, "foreign.txt", "secret"), fx.upload(fx.p, "own.txt", "open")
		reference := func(f *File) map[string]any { return map[string]any{"uri": chargehand.FilesPath + f.ID.String()} }
		uses := func(f *File) (used bool) {
			t.Helper()
			err := fx.rows.View(t.Context(), func(r *store.Reader) error {
				row, err := r.FindExecution(fx.e.ID)
				if err != nil {
					return err
				}
				file, err := r.FindFile(f.ID)
				if err != nil {
					return err
				}
				used, err = r.UsesFile(file.No, row.No)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			row, err := tx.FindExecution(fx.e.ID)
			if err != nil {
				return err
			}
			file, err := tx.FindFile(own.ID)
			if err != nil {
				return err
			}
			return tx.UseFile(file.No, row.No)
		})
		if err != nil {
			t.Fatal(err)
		}
		form := map[string]any{"type": "object", "properties": map[string]any{
			"scan": map[string]any{"type": "object", "format": "file-ref"}, "list": map[string]any{"type": "array"},
		}}
		both := map[string]any{"scan": reference(foreign), "list": []any{reference(own)}}
		for name, c := range map[string]struct {
			request  map[string]any
			files    int // of the execution, in the files of the task
			referred bool
		}{
			"show":  {map[string]any{"show": both}, 0, true},
			"data":  {map[string]any{"data": both}, 0, true},
			"files": {map[string]any{"files": []any{reference(foreign), reference(own)}}, 1, false},
		} {
			c.request["form"] = form
			secret := fx.linked(fx.p, fx.open(c.request), map[string]any{})
			seen, err := fx.LinkedTask(t.Context(), secret, view)
			if err != nil {
				t.Fatal(err)
			}
			if _, opens := seen.Referred[foreign.ID]; opens {
				t.Errorf("%s: the link opens a file that is not of the execution", name)
			}
			if _, opens := seen.Referred[own.ID]; opens != c.referred {
				t.Errorf("%s: the link opens the file of the execution: %t, want %t", name, opens, c.referred)
			}
			if len(seen.Files) != c.files || c.files == 1 && seen.Files[0].ID != own.ID {
				t.Errorf("%s: the files are %+v", name, seen.Files)
			}
		}

		id := fx.open(map[string]any{"form": form, "data": both})
		q := AnswerByLink{
			Secret: fx.linked(fx.p, id, map[string]any{}), Outcome: "done",
			Data: map[string]any{"scan": reference(foreign)},
		}
		wantCode(t, fx.CheckAnswerByLink(t.Context(), q), chargehand.CodeAnswerInvalid)
		wantCode(t, fx.AnswerTaskByLink(t.Context(), q), chargehand.CodeAnswerInvalid)
		if uses(foreign) {
			t.Error("an answer by a link has given the execution a file that it did not have")
		}
		q.Data = map[string]any{"scan": reference(own)}
		if err := fx.AnswerTaskByLink(t.Context(), q); err != nil {
			t.Errorf("an answer with the file of the execution: %v", err)
		}
	})
}
