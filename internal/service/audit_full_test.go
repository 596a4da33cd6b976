//go:build !race

package service

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// TestLongAuditPages reads pages out of 1,000,000 entries.
func TestLongAuditPages(t *testing.T) {
	if os.Getenv("CHARGEHAND_FULL") == "" {
		t.Skip("takes a minute: make test/full")
	}
	fx := newFixtureOver(t, template.New(t))
	const n = 1_000_000
	fillAudit(t, fx, n)
	queries := map[string]ListAudit{
		"all": {}, "actor": {Actor: "a"}, "action": {Action: audit.SecretSet}, "target": {Target: "t"},
		"time": {Before: epoch.Add(n / 2 * time.Second)}, "two filters": {Actor: "a", Action: audit.SecretSet},
		"nothing in common": {Actor: "a", Action: audit.KeyCreated},
	}
	for name, q := range queries {
		q.Limit = 100
		var took []time.Duration
		for range 500 {
			began := time.Now()
			page, err := fx.ListAudit(t.Context(), fx.p, q)
			took = append(took, time.Since(began))
			if err != nil {
				t.Fatal(err)
			}
			q.Cursor = page.Cursor
		}
		slices.Sort(took)
		t.Logf("%s: median %v, p99 %v", name, took[250], took[495])
		if p99 := took[495]; p99 > 20*time.Millisecond {
			t.Errorf("%s: p99 is %v", name, p99)
		}
	}
}

// fillAudit appends n entries, one a second: every third by actor a, every fifth of target t, all of two actions.
func fillAudit(t testing.TB, fx *fixture, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			for i := from; i < min(n, from+1000); i++ {
				e := audit.Entry{
					Account: fx.account.No, Environment: chargehand.Live, Actor: audit.Actor{Kind: audit.Key, ID: "b"},
					Action: audit.SecretSet, Target: audit.Target{Kind: "secret", ID: "s"}, Changes: changed("version", int64(i), int64(i+1)),
				}
				if i%3 == 0 {
					e.Actor.ID = "a"
				}
				if i%5 == 0 {
					e.Target.ID = "t"
				}
				if i%2 == 0 {
					e.Action = audit.SecretDeleted
				}
				if i%100 == 0 {
					e.Environment = chargehand.Test
				}
				if err := audit.Write(t.Context(), tx, epoch.Add(time.Duration(i)*time.Second), e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
