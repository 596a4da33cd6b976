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

func (w *world) fault(no int64) (f engine.Fault) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		if err == nil {
			f, err = engine.DecodeFault(o.Fault)
		}
		return err
	})
	return f
}

// leaky does everything that stores or shows what it works with: more timeline entries than the state holds, payloads that are too
// large for a row, events, children, subscriptions, faults.
const leaky = `use: { secrets: [token, login] }
do:
  - many: { for: { in: '${ [range(40)] }' }, do: [ { one: { set: { n: '${ $index }', t: '${ $secrets.token }' } } } ] }
  - big: { set: { all: '${ [range(20000)] | map($secrets.token) }' }, export: { as: '${ . }' } }
  - send: { call: http, with: { method: post, endpoint: http://x/send, body: '${ $context.all }', headers: { x-password: '${ $secrets.login.password }' } } }
  - say: { emit: { event: { with: { type: said, source: 'https://example.com', data: '${ { of: $secrets.token } }' } } } }
  - child: { run: { workflow: { namespace: test, name: keeper, version: latest, input: { of: '${ $secrets.token }', basic: '${ $secrets.login.password | @base64 }' } } } }
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
	t.Run("sqlite", func(t *testing.T) { secretsStayInside(t, newWorld(t)) })
	t.Run("postgres", func(t *testing.T) {
		server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
		secretsStayInside(t, newPostgresWorld(t, server))
	})
}

func secretsStayInside(t *testing.T, w *world) {
	m := newMirror()
	w.runner = m
	w.start()
	defer func() { w.stop() }()
	w.setSecret("token", `"`+shopToken+`"`)
	w.setSecret("login", `{"username":"somebody","password":"`+password+`"}`)
	w.deploy("keeper", "- a: { wait: { milliseconds: 20 } }\n- b: { set: { got: '${ .of }', basic: '${ .basic }' } }")
	rev := w.defineAll(leaky)
	row := w.run(rev, `{"marker":"`+visible+`"}`)
	inside := func(when string) {
		t.Helper()
		if w.leak(visible) == "" {
			t.Errorf("%s: nothing would be found", when)
		}
		for _, text := range []string{shopToken, password} {
			if where := w.leak(text); where != "" {
				t.Errorf("%s: %q is stored:\n%s", when, text, where)
			}
			if story := w.story(row.No); strings.Contains(story, text) || !strings.Contains(story, secret.Redacted) {
				t.Errorf("%s: the timeline shows it, or nothing:\n%.2000s", when, story)
			}
			if w.log.contains(text) {
				t.Errorf("%s: the log says\n%s", when, w.log)
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
		case <-time.After(patience):
			t.Fatalf("the activity does not start\n%s", w.log)
		}
	}
	held()
	if !w.pinned(row.No) {
		t.Error("no secrets are pinned")
	}
	inside("while it runs")
	w.setSecret("login", `{"username":"somebody","password":"another password"}`)
	w.kill()
	w.start()
	held()
	inside("after a crash")
	close(m.open)
	row = w.final(row)
	var want strings.Builder
	want.WriteString(`{"all":["[redacted]"`)
	want.WriteString(strings.Repeat(`,"[redacted]"`, 19_999))
	want.WriteString(`],"held":"[redacted]","token":"[redacted]"}`)
	if got := w.result(row.No); got != want.String() {
		t.Errorf("it ended with %.300s", got)
	}
	if w.pinned(row.No) {
		t.Error("secrets are still pinned")
	}
	inside("after the end")
	if got := fmt.Sprint(w.emitted()); !strings.Contains(got, "of:[redacted]") {
		t.Errorf("published is %s", got)
	}
	w.view(func(r *store.Reader) error {
		link, err := r.FindExecution(childOf(t, w, row))
		if err == nil && string(link.Input.Inline) != `{"basic":"[redacted]","of":"[redacted]"}` {
			t.Errorf("the child got %s", link.Input.Inline)
		}
		return err
	})
	next := w.run(w.defineAll("use: { secrets: [login] }\ndo:\n  - a: { set: '${ $secrets.login.password == \"another password\" }' }\n"), `{}`)
	if got := w.result(next.No); got != "true" {
		t.Errorf("the next execution has another version: %s", got)
	}
	if w.pinned(next.No) {
		t.Error("what ended in its first transaction has pinned secrets")
	}
}

// childOf is the only other execution.
func childOf(t *testing.T, w *world, row store.Execution) (id chargehand.ExecutionID) {
	t.Helper()
	err := w.db.View(t.Context(), func(c store.Conn) error {
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

// TestSecretTypeOfAListener: a type that is made of a secret is not stored, and is heard nevertheless.
func TestSecretTypeOfAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		defer w.stop()
		w.setSecret("token", `"`+shopToken+`"`)
		row := w.run(w.defineAll("use: { secrets: [token] }\ndo:\n  - a: { listen: { to: { one: { with: { type: '${ $secrets.token }' } } } } }\n"), `{}`)
		synctest.Wait()
		if where := w.leak(shopToken); where != "" {
			t.Error(where)
		}
		for _, kind := range []string{"other", shopToken} {
			err := w.engine.Publish(t.Context(), w.account.No, chargehand.Live, []map[string]any{
				{"specversion": "1.0", "id": kind, "source": "test", "type": kind, "data": kind},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w.endOf(row, time.Minute)
		if got := w.result(row.No); got != `["[redacted]"]` {
			t.Errorf("it heard %s", got)
		}
	})
}

// TestMissingSecret: the execution is accepted and faults at once (T75), whenever the secret is set.
func TestMissingSecret(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer func() { w.stop() }()
	rev := w.defineAll("use: { secrets: [here, absent] }\ndo:\n  - a: { wait: { seconds: 100 } }\n")
	w.setSecret("here", `1`)
	row := w.run(rev, `{}`)
	if f := w.fault(row.No); row.Phase != chargehand.Faulted || f.Type != machine.ErrAuthorization || f.Status != 403 || f.Instance != "/use/secrets/1" {
		t.Errorf("it ended as %v with %+v", row.Phase, f)
	}
	if w.pinned(row.No) {
		t.Error("secrets are pinned")
	}
}

// TestSecretsOfABatch: an item works with what there is when its turn comes.
func TestSecretsOfABatch(t *testing.T) {
	w := newWorld(t)
	m := newMirror()
	w.runner = m
	w.start()
	defer func() { w.stop() }()
	rev := w.defineAll(`use: { secrets: [token] }
do:
  - a: { call: http, with: { method: get, endpoint: http://x/wait } }
  - b: { set: '${ ($secrets.token | length) }' }
`)
	w.setSecret("token", `"four"`)
	b := w.batch(rev, 1, []string{`{}`, `{}`})
	<-m.waits
	w.setSecret("token", `"seven77"`)
	m.open <- struct{}{}
	<-m.waits
	w.setSecret("token", `"twelve121212"`)
	w.kill()
	w.start()
	<-m.waits
	close(m.open)
	w.finalBatch(b)
	items := w.items(b.No)
	if first, second := w.result(items[0].No), w.result(items[1].No); first != "4" || second != "7" {
		t.Errorf("the items worked with secrets of %s and %s bytes", first, second)
	}
	for _, item := range items {
		if w.pinned(item.No) {
			t.Error("secrets are still pinned")
		}
	}
}

// TestSecretsOfAnotherKey: what cannot be opened ends its execution with a clear error, and no other.
func TestSecretsOfAnotherKey(t *testing.T) {
	w := newWorld(t)
	m := newMirror()
	w.runner = m
	w.start()
	defer func() { w.stop() }()
	w.setSecret("token", `"`+shopToken+`"`)
	tasks := "do:\n  - many: { for: { in: '${ [range(40)] }' }, do: [ { one: { set: { n: '${ $index }' } } } ] }\n" +
		"  - short: { wait: { milliseconds: 1 } }\n  - a: { call: http, with: { method: get, endpoint: http://x/wait } }\n"
	rev, plain := w.defineAll("use: { secrets: [token] }\n"+tasks), w.defineAll(tasks)
	row, other := w.run(rev, `{}`), w.run(plain, `{}`)
	<-m.waits
	<-m.waits
	w.kill()
	another, err := secret.LoadOrCreate(t.TempDir() + "/master.key")
	if err != nil {
		t.Fatal(err)
	}
	w.sealer = secret.NewSealer(another)
	w.start()
	broken := func(row store.Execution) {
		t.Helper()
		row = w.final(row)
		f := w.fault(row.No)
		if row.Phase != chargehand.Faulted || f.Origin != "system" || f.Code != engine.CodeInternal || !strings.Contains(f.Detail, "master key") {
			t.Errorf("it ended as %v with %+v", row.Phase, f)
		}
		if w.pinned(row.No) {
			t.Error("secrets are still pinned")
		}
	}
	broken(row)
	entries, truncated, err := w.engine.Timeline(t.Context(), row.No)
	if err != nil || len(entries) > 0 || !truncated {
		t.Errorf("the timeline has %d entries, truncated: %v, %v", len(entries), truncated, err)
	}
	broken(w.run(rev, `{}`)) // the secret itself is of the old key
	w.idle(1)
	<-m.waits
	close(m.open)
	if row := w.final(other); row.Status != chargehand.Finished {
		t.Errorf("the other one ended as %v", row.Phase)
	}
}

// TestSecretsTooLarge: the author is told, with no error of ours.
func TestSecretsTooLarge(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprint("s", i)
		w.setSecret(names[i], `"`+strings.Repeat("x", 64<<10)+`"`)
	}
	rev := w.defineAll("use: { secrets: [" + strings.Join(names, ", ") + "] }\ndo:\n  - a: { set: 1 }\n")
	row := w.run(rev, `{}`)
	item := w.items(w.finalBatch(w.batch(rev, 1, []string{`{}`})).No)[0]
	for _, row := range []store.Execution{row, item} {
		if f := w.fault(row.No); row.Phase != chargehand.Faulted || f.Code != engine.CodeSecretsTooLarge || f.Origin == "system" {
			t.Errorf("it ended as %v with %+v", row.Phase, f)
		}
	}
	if w.log.contains("ERROR") {
		t.Errorf("the log says\n%s", w.log)
	}
}

// TestPanicWithASecret: what a runner says when it breaks is for the log alone, without secrets.
func TestPanicWithASecret(t *testing.T) {
	w := newWorld(t)
	w.runner = newMirror()
	w.start()
	defer w.stop()
	w.setSecret("token", `"`+shopToken+`"`)
	row := w.final(w.run(w.defineAll("use: { secrets: [token] }\ndo:\n  - a: { call: http, with: { method: post, endpoint: http://x/panic, body: '${ $secrets.token }' } }\n"), `{}`))
	if f := w.fault(row.No); f.Code != engine.CodeInternal || strings.Contains(f.Detail, shopToken) {
		t.Errorf("it ended with %+v", f)
	}
	if !w.log.contains(secret.Redacted) || w.log.contains(shopToken) {
		t.Errorf("the log says\n%s", w.log)
	}
	if where := w.leak(shopToken); where != "" {
		t.Error(where)
	}
}

// BenchmarkTrivialWithSecret is BenchmarkTrivial with a secret in it.
func BenchmarkTrivialWithSecret(b *testing.B) {
	w := benchWorld(b)
	w.setSecret("token", `"`+shopToken+`"`)
	rev := w.defineAll("use: { secrets: [token] }\ndo:\n  - a: { set: { sum: '${ .order + 1 }', token: '${ $secrets.token }' } }\n")
	b.ReportAllocs()
	report := cpu(b, b.N)
	b.ResetTimer()
	startMany(b, w, rev, benchInput)
	b.StopTimer()
	report()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}
