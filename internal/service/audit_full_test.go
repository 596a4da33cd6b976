//go:build !race && unix

package service

import (
	"os"
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
		var times pageTimes
		for range 500 {
			times.page(t, func() error {
				page, err := fx.ListAudit(t.Context(), fx.p, q)
				if err == nil {
					q.Cursor = page.Cursor
				}
				return err
			})
		}
		times.judge(t, name)
	}
}
