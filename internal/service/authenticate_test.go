package service

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/store"
)

func TestSecretForm(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		for env, prefix := range map[chargehand.Environment]string{chargehand.Live: "sk_" + "live_", chargehand.Test: "sk_" + "test_"} {
			text := newSecret(env)
			if !strings.HasPrefix(text, prefix) || len(text) != len(prefix)+38 || !wellFormed(text) || seen[text] {
				t.Fatalf("%q is no good key", text)
			}
			seen[text] = true
		}
	}
}

func TestChecksumFindsMistakes(t *testing.T) {
	text := newSecret(chargehand.Live)
	for i := range len(text) {
		for _, c := range []byte("0aZ_-\x00\xff") {
			if text[i] == c {
				continue
			}
			if wrong := text[:i] + string(rune(c)) + text[i+1:]; wellFormed(wrong) {
				t.Errorf("%q passes for %q", wrong, text)
			}
		}
	}
	for _, wrong := range []string{"", "sk_", text[1:], text + "0", text[:len(text)-1], strings.Repeat("0", len(text))} {
		if wellFormed(wrong) {
			t.Errorf("%q passes", wrong)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	fx := newFixture(t)
	secret := fx.issue(IssueKey{Name: "ci", Environment: chargehand.Test, Scopes: PresetObserve, ExpiresAt: epoch.Add(time.Hour)})
	p := fx.authenticate(secret)
	if p.AccountNo != fx.account.No || p.Account != fx.account.ID || p.Environment != chargehand.Test || p.Scopes != PresetObserve || p.Workflows != nil || p.KeyNo == 0 {
		t.Errorf("principal is %+v", p)
	}
	if def := fx.authenticate(fx.issue(IssueKey{})); def.Environment != chargehand.Live || def.Scopes != PresetRun {
		t.Errorf("the default key is %+v", def)
	}
	for name, c := range map[string]struct {
		key  string
		code chargehand.Code
	}{
		"no key":            {"", chargehand.CodeMissingAPIKey},
		"not a key":         {"hello", chargehand.CodeInvalidAPIKey},
		"a mistyped key":    {secret[:len(secret)-1] + "!", chargehand.CodeInvalidAPIKey},
		"an unknown key":    {newSecret(chargehand.Live), chargehand.CodeInvalidAPIKey},
		"a very long one":   {strings.Repeat("x", 1<<20), chargehand.CodeInvalidAPIKey},
		"another case":      {strings.ToUpper(secret), chargehand.CodeInvalidAPIKey},
		"a space behind it": {secret + " ", chargehand.CodeInvalidAPIKey},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fx.Authenticate(t.Context(), c.key, localhost)
			wantCode(t, err, c.code)
		})
	}
	t.Run("an expired key, although it is cached", func(t *testing.T) {
		fx.pass(time.Hour - time.Millisecond)
		fx.authenticate(secret)
		fx.pass(time.Millisecond)
		_, err := fx.Authenticate(t.Context(), secret, localhost)
		wantCode(t, err, chargehand.CodeExpiredAPIKey)
	})
	t.Run("without storage", func(t *testing.T) {
		fx.pass(time.Second)
		fx.db.broken.Store(true)
		_, err := fx.Authenticate(t.Context(), secret, localhost)
		wantCode(t, err, chargehand.CodeUnavailable)
	})
}

func TestMistypedKeyCostsNoQuery(t *testing.T) {
	fx := newFixture(t)
	secret := fx.issue(IssueKey{})
	views := fx.db.views.Load()
	mistyped := secret[:20] + "x" + secret[21:]
	if secret == mistyped {
		mistyped = secret[:20] + "y" + secret[21:]
	}
	_, err := fx.Authenticate(t.Context(), mistyped, localhost)
	wantCode(t, err, chargehand.CodeInvalidAPIKey)
	if n := fx.db.views.Load() - views; n != 0 {
		t.Errorf("it cost %d queries", n)
	}
}

func TestHotKeyCostsNoQuery(t *testing.T) {
	fx := newFixture(t)
	secret := fx.issue(IssueKey{})
	first := fx.authenticate(secret)
	views := fx.db.views.Load()
	for range 100 {
		fx.pass(time.Millisecond)
		if fx.authenticate(secret) != first {
			t.Fatal("the principal changes")
		}
	}
	if n := fx.db.views.Load() - views; n != 0 {
		t.Errorf("100 requests in 100 ms cost %d queries", n)
	}
	for range 100 {
		fx.pass(100 * time.Millisecond)
		fx.authenticate(secret)
	}
	if n := fx.db.views.Load() - views; n < 10 || n > 25 {
		t.Errorf("100 requests in 10 s cost %d queries, want about one or two a second", n)
	}
}

// A new or revoked key counts within one second everywhere.
func TestRevokedKeyCountsWithinASecond(t *testing.T) {
	fx := newFixture(t)
	here, elsewhere := fx.issue(IssueKey{}), fx.issue(IssueKey{})
	p, q := fx.authenticate(here), fx.authenticate(elsewhere)
	if err := fx.RevokeKey(t.Context(), fx.p, p.Key); err != nil {
		t.Fatal(err)
	}
	_, err := fx.Authenticate(t.Context(), here, localhost)
	wantCode(t, err, chargehand.CodeInvalidAPIKey) // at once in this process
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.RevokeKey(q.KeyNo, 1) }); err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Second)
	_, err = fx.Authenticate(t.Context(), elsewhere, localhost)
	wantCode(t, err, chargehand.CodeInvalidAPIKey)
}

func TestLastUseIsWrittenInBulk(t *testing.T) {
	fx := newFixture(t)
	secrets := []string{fx.issue(IssueKey{}), fx.issue(IssueKey{}), fx.issue(IssueKey{})}
	updates := fx.db.updates.Load()
	for range 10 {
		for _, secret := range secrets[:2] {
			fx.pass(time.Second)
			fx.authenticate(secret)
		}
	}
	if n := fx.db.updates.Load() - updates; n != 0 {
		t.Errorf("requests wrote %d times", n)
	}
	for range 2 {
		if err := fx.writeUses(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := fx.db.updates.Load() - updates; n != 1 {
		t.Errorf("two keys were written in %d transactions, want 1", n)
	}
	page, err := fx.ListKeys(t.Context(), fx.p, 10, Cursor{})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, k := range page.Data {
		if !k.LastUsedAt.IsZero() {
			used++
		}
	}
	var row store.Key
	err = fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
		row, err = r.KeyByHash(digestOf(fx, secrets[1]))
		return err
	})
	if used != 2 || err != nil || row.LastUsedMs != fx.nowMs() {
		t.Errorf("%d keys were used, the last at %d, %v", used, row.LastUsedMs, err)
	}
}

func digestOf(fx *fixture, secret string) []byte {
	digest := fx.pepper.digest(secret)
	return digest[:]
}

func TestRunWritesLastUseBeforeItReturns(t *testing.T) {
	fx := newFixture(t)
	p := fx.authenticate(fx.issue(IssueKey{}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { fx.Run(ctx); close(done) }()
	stop()
	<-done
	var row store.Key
	err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
		row, err = r.KeyByID(p.AccountNo, p.Environment, p.Key)
		return err
	})
	if err != nil || row.LastUsedMs != fx.nowMs() {
		t.Errorf("last use is %d, %v", row.LastUsedMs, err)
	}
}

func TestConcurrentAuthentication(t *testing.T) {
	fx := newFixture(t)
	secrets := []string{fx.issue(IssueKey{}), fx.issue(IssueKey{Environment: chargehand.Test})}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				fx.pass(5 * time.Millisecond)
				p, err := fx.Authenticate(t.Context(), secrets[i%2], localhost)
				if err != nil || (p.Environment == chargehand.Test) != (i%2 == 1) {
					t.Errorf("got %+v, %v", p, err)
				}
				if i == 0 {
					fx.keys.clear()
				}
			}
		})
	}
	group.Wait()
}

// TestFirstUseIsLogged: a key that the command line has made has a line when a request brings it for the first time.
func TestFirstUseIsLogged(t *testing.T) {
	log, lines := logtest.New(slog.LevelInfo)
	fx := newFixture(t, func(c *Config) { c.Log = log })
	key := fx.issue(IssueKey{Name: "ci", Scopes: PresetRun, Namespaces: []string{"finance"}})
	const message = "API key used for the first time"
	if got := lines.With(message); len(got) != 0 {
		t.Fatalf("before any use: %v", got)
	}
	for range 3 {
		fx.authenticate(key)
		fx.pass(time.Second) // its row is read again
	}
	got := lines.With(message)
	if len(got) != 1 || got[0]["name"] != "ci" || got[0]["limited"] != true || got[0]["environment"] != "live" {
		t.Errorf("%v", got)
	}
	if strings.Contains(lines.String(), key) {
		t.Error("the log holds the key")
	}
}
