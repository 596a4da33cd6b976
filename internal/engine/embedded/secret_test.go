package embedded

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

func (fx *fixture) fault(no int64) (f engine.Fault) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		if err == nil {
			f, err = engine.DecodeFault(o.Fault)
		}
		return err
	})
	return f
}

// leaky does everything that stores or shows data: more timeline entries than the state holds,
// payloads that are too large for a row, events, children, subscriptions, faults.
const leaky = `use: { secrets: [token, login] }
do:
  - many: { for: { in: '${ [range(40)] }' }, do: [ { one: { set: { n: '${ $index }', t: '${ $secrets.token }' } } } ] }
  - big: { set: { all: '${ [range(20000)] | map($secrets.token) }' }, export: { as: '${ . }' } }
  - send: { call: http, with: { method: post, endpoint: http://x/send, body: '${ $context.all }',
        headers: { x-password: '${ $secrets.login.password }' } } }
  - say: { emit: { event: { with: { type: said, source: 'https://example.com',
        data: '${ { of: $secrets.token } }' } } } }
  - child: { run: { workflow: { namespace: test, name: keeper, version: latest, input: { of: '${ $secrets.token }',
        basic: '${ $secrets.login.password | @base64 }' } } } }
  - refused:
      try: [ { fail: { call: http, with: { method: post, endpoint: http://x/fail, body: '${ $secrets.token }' } } } ]
      catch: { as: problem, do: [ { keep: { set: { detail: '${ $problem.detail }' } } } ] }
  - either:
      fork:
        compete: true
        branches:
          - listens: { listen: { to: { one: { with: { type: '${ $secrets.token }' } } } } }
          - holds: { call: http, with: { method: post, endpoint: http://x/wait, body: '${ $secrets.login.password }' } }
  - last: { set: { token: '${ $secrets.token }', held: '${ .body }', all: '${ $context.all }' } }
`

// TestSecretsStayInside: nothing that is stored or shown holds a secret in the clear, neither while an execution runs
// nor afterwards. What activities get is whole, also after a crash, and stays the version from the start.
func TestSecretsStayInside(t *testing.T) {
	t.Setenv("CHARGEHAND_ENCRYPT", "") // what is stored is read in the clear
	t.Run("sqlite", func(t *testing.T) { secretsStayInside(t, newFixture(t)) })
	t.Run("postgres", func(t *testing.T) {
		server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
		secretsStayInside(t, newPostgresFixture(t, server.NewSchema(t)))
	})
}

func secretsStayInside(t *testing.T, fx *fixture) {
	m := newMirror()
	fx.runner = m
	fx.start()
	defer func() { fx.stop() }()
	fx.setSecret("token", `"`+shopToken+`"`)
	fx.setSecret("login", `{"username":"clerk","password":"`+password+`"}`)
	fx.deploy("keeper", "- a: { wait: { milliseconds: 20 } }\n- b: { set: { got: '${ .of }', basic: '${ .basic }' } }")
	rev := fx.defineAll(leaky)
	row := fx.run(rev, `{"marker":"`+visible+`"}`)
	inside := func(when string) {
		t.Helper()
		if fx.leak(visible) == "" {
			t.Errorf("%s: nothing would be found", when)
		}
		for _, text := range []string{shopToken, password} {
			if where := fx.leak(text); where != "" {
				t.Errorf("%s: %q is stored:\n%s", when, text, where)
			}
			if story := fx.story(row.No); strings.Contains(story, text) || !strings.Contains(story, secret.Redacted) {
				t.Errorf("%s: the timeline shows it, or nothing:\n%.2000s", when, story)
			}
			if fx.log.contains(text) {
				t.Errorf("%s: the log says\n%s", when, fx.log)
			}
		}
	}
	held := func() {
		t.Helper()
		select {
		case c := <-m.waits:
			if got := c.Args.(map[string]any)["body"]; got != password {
				t.Errorf("the activity got %v", got)
			}
		case <-time.After(endTime):
			t.Fatalf("the activity does not start\n%s", fx.log)
		}
	}
	held()
	if !fx.pinned(row.No) {
		t.Error("no secrets are pinned")
	}
	inside("while it runs")
	fx.setSecret("login", `{"username":"clerk","password":"another password"}`)
	fx.kill()
	fx.start()
	held()
	inside("after a crash")
	close(m.open)
	row = fx.final(row)
	var want strings.Builder
	want.WriteString(`{"all":["[redacted]"`)
	want.WriteString(strings.Repeat(`,"[redacted]"`, 19_999))
	want.WriteString(`],"held":"[redacted]","token":"[redacted]"}`)
	if got := fx.result(row.No); got != want.String() {
		t.Errorf("it ended with %.300s", got)
	}
	if fx.pinned(row.No) {
		t.Error("secrets are still pinned")
	}
	inside("after the end")
	if got := fmt.Sprint(fx.emitted()); !strings.Contains(got, "of:[redacted]") {
		t.Errorf("published is %s", got)
	}
	fx.view(func(r *store.Reader) error {
		link, err := r.FindExecution(childOf(t, fx, row))
		if err == nil && string(link.Input.Inline) != `{"basic":"[redacted]","of":"[redacted]"}` {
			t.Errorf("the child got %s", link.Input.Inline)
		}
		return err
	})
	next := fx.run(fx.defineAll("use: { secrets: [login] }\ndo:\n"+
		"  - a: { set: '${ $secrets.login.password == \"another password\" }' }\n"), `{}`)
	if got := fx.result(next.No); got != "true" {
		t.Errorf("the next execution has another version: %s", got)
	}
	if fx.pinned(next.No) {
		t.Error("what ended in its first transaction has pinned secrets")
	}
}

// childOf is the only other execution.
func childOf(t *testing.T, fx *fixture, row store.Execution) (id chargehand.ExecutionID) {
	t.Helper()
	err := fx.db.View(t.Context(), func(c store.Conn) error {
		return c.Query(`SELECT id FROM execution WHERE no <> ?1`, func(r store.Row) error {
			copy(id[:], r.Bytes(0))
			return nil
		}, row.No)
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSecretTypeOfAListener: a type that is made of a secret is not stored, and its events arrive nevertheless.
func TestSecretTypeOfAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		fx.setSecret("token", `"`+shopToken+`"`)
		row := fx.run(fx.defineAll("use: { secrets: [token] }\ndo:\n"+
			"  - a: { listen: { to: { one: { with: { type: '${ $secrets.token }' } } } } }\n"), `{}`)
		synctest.Wait()
		if where := fx.leak(shopToken); where != "" {
			t.Error(where)
		}
		for _, kind := range []string{"other", shopToken} {
			from := engine.Publisher{Account: fx.account.No, Environment: chargehand.Live}
			err := fx.engine.Publish(t.Context(), from, []map[string]any{
				{"specversion": "1.0", "id": kind, "source": "test", "type": kind, "data": kind},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		fx.endOf(row, time.Minute)
		if got := fx.result(row.No); got != `["[redacted]"]` {
			t.Errorf("it has got %s", got)
		}
	})
}

// TestMissingSecret: the execution is accepted and faults at once (T75), whenever the secret is set.
func TestMissingSecret(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer func() { fx.stop() }()
	rev := fx.defineAll("use: { secrets: [here, absent] }\ndo:\n  - a: { wait: { seconds: 100 } }\n")
	fx.setSecret("here", `1`)
	row := fx.run(rev, `{}`)
	if f := fx.fault(row.No); row.Phase != chargehand.Faulted || f.Type != machine.ErrAuthorization ||
		f.Status != 403 || f.Instance != "/use/secrets/1" {
		t.Errorf("it ended as %v with %+v", row.Phase, f)
	}
	if fx.pinned(row.No) {
		t.Error("secrets are pinned")
	}
}

// TestSecretsOfABatch: an item works with what there is when its turn comes.
func TestSecretsOfABatch(t *testing.T) {
	fx := newFixture(t)
	m := newMirror()
	fx.runner = m
	fx.start()
	defer func() { fx.stop() }()
	rev := fx.defineAll(`use: { secrets: [token] }
do:
  - a: { call: http, with: { method: get, endpoint: http://x/wait } }
  - b: { set: '${ ($secrets.token | length) }' }
`)
	fx.setSecret("token", `"four"`)
	b := fx.batch(rev, 1, []string{`{}`, `{}`})
	<-m.waits
	fx.setSecret("token", `"seven77"`)
	m.open <- struct{}{}
	<-m.waits
	fx.setSecret("token", `"twelve121212"`)
	fx.kill()
	fx.start()
	<-m.waits
	close(m.open)
	fx.finalBatch(b)
	items := fx.items(b.No)
	if first, second := fx.result(items[0].No), fx.result(items[1].No); first != "4" || second != "7" {
		t.Errorf("the items worked with secrets of %s and %s bytes", first, second)
	}
	for _, item := range items {
		if fx.pinned(item.No) {
			t.Error("secrets are still pinned")
		}
	}
}

// TestSecretsOfAnotherKey: what cannot be opened ends its execution with a clear error, and no other.
func TestSecretsOfAnotherKey(t *testing.T) {
	t.Setenv("CHARGEHAND_ENCRYPT", "") // with it, nothing could be opened
	fx := newFixture(t)
	m := newMirror()
	fx.runner = m
	fx.start()
	defer func() { fx.stop() }()
	fx.setSecret("token", `"`+shopToken+`"`)
	tasks := "do:\n  - many: { for: { in: '${ [range(40)] }' }, do: [ { one: { set: { n: '${ $index }' } } } ] }\n" +
		"  - short: { wait: { milliseconds: 1 } }\n  - a: { call: http, with: { method: get, endpoint: http://x/wait } }\n"
	rev, plain := fx.defineAll("use: { secrets: [token] }\n"+tasks), fx.defineAll(tasks)
	row, other := fx.run(rev, `{}`), fx.run(plain, `{}`)
	<-m.waits
	<-m.waits
	fx.kill()
	fx.sealer = secret.NewSealer(secret.NewKeys())
	fx.start()
	broken := func(row store.Execution) {
		t.Helper()
		row = fx.final(row)
		f := fx.fault(row.No)
		if row.Phase != chargehand.Faulted || f.Origin != "system" || f.Code != engine.CodeInternal ||
			!strings.Contains(f.Detail, "master key") {
			t.Errorf("it ended as %v with %+v", row.Phase, f)
		}
		if fx.pinned(row.No) {
			t.Error("secrets are still pinned")
		}
	}
	broken(row)
	timeline, err := fx.engine.Timeline(t.Context(), row.No)
	if err != nil || len(timeline.Records) > 0 || !timeline.Truncated {
		t.Errorf("the timeline is %+v, %v", timeline, err)
	}
	progress, err := fx.engine.Progress(t.Context(), row.No)
	if err != nil || len(progress.Tasks) > 0 || !progress.Truncated {
		t.Errorf("the progress is %+v, %v", progress, err)
	}
	broken(fx.run(rev, `{}`)) // the secret itself is of the old key
	fx.idle(1)
	<-m.waits
	close(m.open)
	if row := fx.final(other); row.Status != chargehand.Finished {
		t.Errorf("the other one ended as %v", row.Phase)
	}
}

// TestSecretsTooLarge: secrets that are too large end the execution with a fault for the author,
// not with an error of the system.
func TestSecretsTooLarge(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprint("s", i)
		fx.setSecret(names[i], `"`+strings.Repeat("x", 64<<10)+`"`)
	}
	rev := fx.defineAll("use: { secrets: [" + strings.Join(names, ", ") + "] }\ndo:\n  - a: { set: 1 }\n")
	row := fx.run(rev, `{}`)
	item := fx.items(fx.finalBatch(fx.batch(rev, 1, []string{`{}`})).No)[0]
	for _, row := range []store.Execution{row, item} {
		f := fx.fault(row.No)
		if row.Phase != chargehand.Faulted || f.Code != engine.CodeSecretsTooLarge || f.Origin == "system" {
			t.Errorf("it ended as %v with %+v", row.Phase, f)
		}
	}
	if fx.log.contains("ERROR") {
		t.Errorf("the log says\n%s", fx.log)
	}
}

// TestPanicWithASecret: what a runner says when it breaks is for the log alone, without secrets.
func TestPanicWithASecret(t *testing.T) {
	fx := newFixture(t)
	fx.runner = newMirror()
	fx.start()
	defer fx.stop()
	fx.setSecret("token", `"`+shopToken+`"`)
	row := fx.final(fx.run(fx.defineAll("use: { secrets: [token] }\ndo:\n"+
		"  - a: { call: http, with: { method: post, endpoint: http://x/panic, body: '${ $secrets.token }' } }\n"), `{}`))
	if f := fx.fault(row.No); f.Code != engine.CodeInternal || strings.Contains(f.Detail, shopToken) {
		t.Errorf("it ended with %+v", f)
	}
	if !fx.log.contains(secret.Redacted) || fx.log.contains(shopToken) {
		t.Errorf("the log says\n%s", fx.log)
	}
	if where := fx.leak(shopToken); where != "" {
		t.Error(where)
	}
}

// BenchmarkTrivialWithSecret is BenchmarkTrivial with a secret in it.
func BenchmarkTrivialWithSecret(b *testing.B) {
	fx := benchFixture(b)
	fx.setSecret("token", `"`+shopToken+`"`)
	rev := fx.defineAll("use: { secrets: [token] }\ndo:\n" +
		"  - a: { set: { sum: '${ .order + 1 }', token: '${ $secrets.token }' } }\n")
	b.ReportAllocs()
	report := cpu(b, b.N)
	b.ResetTimer()
	startMany(b, fx, rev, benchInput)
	b.StopTimer()
	report()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}
