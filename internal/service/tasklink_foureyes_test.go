package service

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

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

// Who reassigns a task may stand behind the address to which it goes: to exclude what was answered by a link, or in the
// name of a person, excludes who has reassigned the task.
func TestReassignmentAndFourEyes(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, bob, carl, dora := fx.member("ada", store.Grant{Role: "operator"}), fx.as("bob", "operator"), fx.as("carl", "operator"), fx.as("dora", "operator")
		asAda := fx.session(fx.signIn(ada), chargehand.Live)
		bot := *fx.key("bot of ada", ada.Person.ID.String())
		keeper := *fx.key("keeper", "")
		keeper.Scopes |= ScopeTasksImpersonate
		reassign := func(p *Principal, id chargehand.HumanTaskID, users ...any) {
			t.Helper()
			if _, err := fx.ReassignHumanTask(t.Context(), p, id, map[string]any{"users": users}); err != nil {
				t.Fatal(err)
			}
		}
		const private = "private-name@example.com"
		mail := func(id chargehand.HumanTaskID) error { t.Helper(); return fx.answerBy(fx.mailed(id, private, "")) }
		for name, c := range map[string]struct {
			answer  func(id chargehand.HumanTaskID) error
			refused []*Principal // of the second answer, beside ada
		}{
			"by the link of a mail": {func(id chargehand.HumanTaskID) error { reassign(asAda, id, private); return mail(id) }, nil},
			"with a personal key": {func(id chargehand.HumanTaskID) error {
				reassign(fx.personalKey(ada, 0), id, private)
				return mail(id)
			}, nil},
			"by a bot": {func(id chargehand.HumanTaskID) error { reassign(&bot, id, private); return mail(id) }, nil},
			"and another one after it": {func(id chargehand.HumanTaskID) error {
				reassign(asAda, id, private)
				reassign(carl, id, private, "dora@example.org")
				return mail(id)
			}, []*Principal{carl}},
			"by a link that another one makes": {func(id chargehand.HumanTaskID) error {
				reassign(asAda, id, private)
				return fx.answerBy(fx.linked(carl, id, email(private)))
			}, []*Principal{carl}},
			"in the name of the address": {func(id chargehand.HumanTaskID) error {
				reassign(asAda, id, private)
				return fx.answer(&keeper, id, map[string]any{"on_behalf_of": private})
			}, nil},
		} {
			first := fx.open(map[string]any{"assignees": people([]any{"bob@example.org"}, nil, nil)})
			if err := c.answer(first); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			second := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(first)})})
			for _, p := range append(c.refused, asAda, fx.personalKey(ada, 0)) {
				wantRefusal(t, name, fx.answer(p, second, map[string]any{}), chargehand.CodeExcluded)
			}
			_, _, err := fx.link(&bot, second, email("third-name@example.com"))
			wantRefusal(t, name, err, chargehand.CodeExcluded)
			if err := fx.answer(dora, second, map[string]any{}); err != nil {
				t.Errorf("%s: dora may answer: %v", name, err)
			}
		}

		// A person who signs in proves who it is, and no other is behind the answer.
		first := fx.open(map[string]any{"assignees": people([]any{private}, nil, nil)})
		reassign(asAda, first, "bob@example.org")
		if err := fx.answer(bob, first, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		second := fx.open(map[string]any{"assignees": people(nil, nil, []any{fx.by(first)})})
		wantCode(t, fx.answer(bob, second, map[string]any{}), chargehand.CodeExcluded)
		if err := fx.answer(asAda, second, map[string]any{}); err != nil {
			t.Error(err)
		}
	})
}

// The persons that have made, or rotated, a key that answers in the name of people may have given these answers.
func TestAnswersInAnotherNameAndFourEyes(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		ada, bob := fx.member("ada", store.Grant{Role: "operator"}), fx.member("bob", store.Grant{Role: "operator"})
		fx.member("carl", store.Grant{Role: "operator"})
		asAda, asBob := fx.session(fx.signIn(ada), chargehand.Live), fx.session(fx.signIn(bob), chargehand.Live)
		ofAda := fx.key("of ada", ada.Person.ID.String())
		for name, c := range map[string]struct {
			key  *Principal
			made string
			free *Principal // may answer then
		}{
			"of ada":            {ofAda, ada.Person.ID.String(), asBob},
			"of a key of ada":   {fx.key("of a key", ofAda.Key.String()), ada.Person.ID.String(), asBob},
			"of the server":     {fx.key("keeper", ""), "", asAda},
			"of another's key":  {fx.key("of bob", bob.Person.ID.String()), bob.Person.ID.String(), asAda},
			"personal, of ada":  {fx.personalKey(ada, 0), ada.Person.ID.String(), asBob},
			"of the first key ": {fx.key("of a server's key", fx.key("root", "").Key.String()), "", asAda},
		} {
			key := *c.key
			key.Scopes |= ScopeTasksImpersonate
			if key.rights != nil {
				key.rights, key.Workflows, key.Limits = nil, nil, store.Limits{}
			}
			first := fx.open(map[string]any{"assignees": people([]any{"eve@example.com"}, nil, nil)})
			if err := fx.answer(&key, first, map[string]any{"on_behalf_of": "eve@example.com"}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			by := fx.by(first).(map[string]any)
			if made, _ := by["via"].(map[string]any)["made_by"].(string); by["id"] != "eve@example.com" || made != c.made {
				t.Errorf("%s: answered by %v", name, by)
			}
			second := fx.open(map[string]any{"assignees": people(nil, nil, []any{by})})
			if c.made == ada.Person.ID.String() {
				wantRefusal(t, name, fx.answer(asAda, second, map[string]any{}), chargehand.CodeExcluded)
				wantRefusal(t, name, fx.answer(&key, second, map[string]any{"on_behalf_of": "carl@example.org"}), chargehand.CodeExcluded)
			}
			if c.made == "" { // a bot for all people, behind which none stands
				third := fx.open(map[string]any{"assignees": people(nil, nil, []any{by})})
				wantRefusal(t, name, fx.answer(&key, third, map[string]any{"on_behalf_of": "eve@example.com"}), chargehand.CodeExcluded)
				if err := fx.answer(&key, third, map[string]any{"on_behalf_of": "carl@example.org"}); err != nil {
					t.Errorf("%s: carl may answer by the same key: %v", name, err)
				}
			}
			if err := fx.answer(c.free, second, map[string]any{}); err != nil {
				t.Errorf("%s: another one may answer: %v", name, err)
			}
		}
	})
}
