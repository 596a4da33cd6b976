package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// TestEveryChangeIsAudited: each route that may change something names the actions that it writes to the audit log, or
// says why it writes none; and each action is that of a route.
func TestEveryChangeIsAudited(t *testing.T) {
	written := map[audit.Action]bool{ // by commands on the server's machine
		audit.AccountCreated: true, audit.AccountRenamed: true, audit.MasterKeyExchanged: true,
	}
	for _, e := range endpoints() {
		reads := e.method == http.MethodGet && !e.browsed // links by which a browser signs in change something
		if (len(e.audits) > 0) == (e.unaudited != "") && !reads || reads && (e.audits != nil || e.unaudited != "") {
			t.Errorf("%s %s audits %q, and the reason why not is %q", e.method, e.path, e.audits, e.unaudited)
		}
		for _, action := range e.audits {
			written[action] = true
			if !audit.Known(action) {
				t.Errorf("%s %s audits %s, which is no action", e.method, e.path, action)
			}
		}
	}
	for _, d := range audit.Actions() {
		if !written[d.Action] {
			t.Errorf("no route writes %s", d.Action)
		}
	}
}

// TestAuditLogAsLines: an export follows the cursor to its end.
func TestAuditLogAsLines(t *testing.T) {
	var asked []service.ListAudit
	s := newServer(t, &fake{listAudit: func(q service.ListAudit) (*service.Page[service.AuditEntry], error) {
		asked = append(asked, q)
		page := &service.Page[service.AuditEntry]{Data: []service.AuditEntry{fixtureAudit()}}
		if q.Cursor.IsZero() {
			page.Cursor = cursor1()
		}
		return page, nil
	}})
	for _, accept := range []string{"application/jsonl", "application/x-ndjson", "text/html, application/jsonl;q=0.5"} {
		asked = nil
		a := request{path: "/api/v1/audit-log?actor=system&after=2026-01-01T00:00:00Z", header: map[string]string{"Accept": accept}}.to(s)
		if a.status != 200 || a.header.Get("Content-Type") != "application/jsonl" || a.header.Get("Vary") != "Accept" {
			t.Fatalf("%s: %d %v", accept, a.status, a.header)
		}
		lines := slices.Collect(strings.Lines(string(a.body)))
		if len(lines) != 2 || lines[0] != lines[1] || decode(t, []byte(lines[0]))["action"] != "secret.set" {
			t.Errorf("lines %q", lines)
		}
		after := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if len(asked) != 2 || asked[1].Cursor != cursor1() || asked[1].Actor != "system" || !asked[1].After.Equal(after) {
			t.Errorf("asked for %+v", asked)
		}
	}
	for _, accept := range []string{"application/json", "*/*", "application/jsonl;q=0", "", "application/jsonl;q=x"} {
		a := request{path: "/api/v1/audit-log", header: map[string]string{"Accept": accept}}.to(s)
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %d %v", accept, a.status, a.header)
		}
	}
	lines := map[string]string{"Accept": "application/jsonl"}
	p := wantProblem(t, request{path: "/api/v1/audit-log?limit=5", header: lines}.to(s), 400, "invalid_parameter")
	if got := locations(p); !slices.Equal(got, []string{"limit"}) {
		t.Errorf("the problem is at %q", got)
	}
}

// TestSlowAuditLogAsLines: an export comes to its end where the last entry takes longer to find than an answer, or the
// next piece of one, may take to be written.
func TestSlowAuditLogAsLines(t *testing.T) {
	const long = 3 * time.Second
	for name, first := range map[string]int{"less than a piece": 1, "more": 1000} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, &fake{listAudit: func(q service.ListAudit) (*service.Page[service.AuditEntry], error) {
				if q.Cursor.IsZero() {
					return &service.Page[service.AuditEntry]{Data: slices.Repeat([]service.AuditEntry{fixtureAudit()}, first), Cursor: cursor1()}, nil
				}
				<-time.After(long)
				return &service.Page[service.AuditEntry]{Data: []service.AuditEntry{fixtureAudit()}}, nil
			}})
			s.http.WriteTimeout, s.idle = long/3, long/3
			a := raw(t, start(t, s), "GET /api/v1/audit-log HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\nAccept: application/jsonl\r\n\r\n")
			if lines := strings.Count(string(a.body), "\n"); a.status != 200 || lines != first+1 || first > 1 && len(a.body) < streamBytes {
				t.Errorf("%d, %d lines in %d bytes", a.status, lines, len(a.body))
			}
		})
	}
}

// TestAuditLogParameters: filters that cannot be are refused, with what there is.
func TestAuditLogParameters(t *testing.T) {
	s := newServer(t, &fake{})
	for query, want := range map[string]string{
		"action=secret.sett":                 "Did you mean secret.set?",
		"action=":                            "There are ",
		"actor=":                             "must be the id of a user or API key",
		"actor=xx":                           "must be the id of a user or API key",
		"target=" + strings.Repeat("x", 201): "1 to 200 characters",
		"after=yesterday":                    "date-time",
		"before=2026":                        "date-time",
	} {
		p := wantProblem(t, request{path: "/api/v1/audit-log?" + query}.to(s), 400, "invalid_parameter")
		if detail := p["detail"].(string); !strings.Contains(detail, want) {
			t.Errorf("%s: %s, want %q", query, detail, want)
		}
	}
	wantProblem(t, request{path: "/api/v1/audit-log?user=x"}.to(s), 400, "unknown_parameter")
	wantProblem(t, request{path: "/api/v1/audit-log"}.to(newServer(t, &fake{scopes: service.PresetOperate})), 403, "insufficient_scope")
}
