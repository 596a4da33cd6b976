//go:build !race

package service

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/audit"
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
