package service

import (
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

// mailed is the secret of the link in a mail to a person about a task; empty: the mail has none.
func (fx *humanFixture) mailed(id chargehand.HumanTaskID, to, name string) (secret string) {
	fx.t.Helper()
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		row, err := tx.HumanTaskByID(fx.account.No, chargehand.Live, id)
		if err != nil {
			return err
		}
		secret, err = fx.MailedTaskLink(tx, &row, "https://example.com", to, name)
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return strings.TrimPrefix(secret, "https://example.com/t/")
}

// The server mails links to those who may answer only, and an older one of an address counts no more.
func TestMailedLinks(t *testing.T) {
	onBoth(t, func(t *testing.T, fx *humanFixture) {
		bob := fx.as("bob", "participant")
		id := fx.open(map[string]any{"assignees": people([]any{"bob@example.org", "eve@example.org", "ada@example.org"}, nil, []any{"ada@example.org"})})
		mailed := func(to, name string) string { t.Helper(); return fx.mailed(id, to, name) }
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
		if fx.state(secrets[0]) != LinkReplaced {
			t.Errorf("the oldest of four mailed links is in state %d", fx.state(secrets[0]))
		}
		wantCode(t, fx.answerBy(secrets[0]), chargehand.CodeStateConflict)
		if shown, err := fx.GetHumanTask(t.Context(), fx.p, id); err != nil || len(shown.Full.Links) != 4 {
			t.Errorf("%d links are listed, %v", len(shown.Full.Links), err)
		}
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
