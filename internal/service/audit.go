package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
)

// audit writes to the audit log what the principal has changed, in the transaction of the change. Changes never hold a
// secret, a key or a token.
func (s *Service) audit(ctx context.Context, tx *store.Tx, p *Principal, action audit.Action, target audit.Target, changes audit.Changes) error {
	return audit.Write(ctx, tx, s.now(), audit.Entry{
		Account: p.AccountNo, Environment: p.Environment, Actor: p.auditActor(), Action: action, Target: target, Changes: changes,
	})
}

// auditActor names the principal in the audit log.
func (p *Principal) auditActor() audit.Actor {
	switch p.Kind {
	case KindUser:
		return audit.Actor{Kind: audit.User, ID: p.User.String(), Name: p.Name}
	case KindSystem:
		return audit.Actor{}
	case KindLink:
		return audit.Actor{Kind: audit.Link, ID: p.link.String(), Name: p.Name}
	}
	return audit.Actor{Kind: audit.Key, ID: p.Key.String(), Name: p.Name}
}

// The targets.
func workflowTarget(row *store.Workflow) audit.Target {
	return audit.Target{Kind: "workflow", ID: row.ID.String(), Name: row.Namespace + "/" + row.Name}
}

func keyTarget(row *store.Key) audit.Target {
	return audit.Target{Kind: "key", ID: row.ID.String(), Name: row.Name}
}

func secretTarget(name string) audit.Target {
	return audit.Target{Kind: "secret", ID: name, Name: name}
}

func userTarget(p *store.Person) audit.Target {
	return audit.Target{Kind: "user", ID: p.ID.String(), Name: p.Email}
}

func groupTarget(row *store.Group) audit.Target {
	return audit.Target{Kind: "group", ID: row.ID.String(), Name: row.Name}
}

// auditGrant writes that a grant was given, or taken away.
func (s *Service) auditGrant(ctx context.Context, tx *store.Tx, p *Principal, action audit.Action, row *store.Grant) error {
	e, err := grantEntry(&tx.Reader, action, row)
	if err != nil {
		return err
	}
	return s.audit(ctx, tx, p, action, e.Target, e.Changes)
}

// grantEntry says that a grant was given, or taken away. Its holder is among the changes.
func grantEntry(r *store.Reader, action audit.Action, row *store.Grant) (audit.Entry, error) {
	g, err := shownGrant(r, row)
	if err != nil {
		return audit.Entry{}, err
	}
	values := map[string]any{"role": g.Role, "namespace": g.Namespace}
	if !g.User.IsZero() {
		values["user_id"] = g.User.String()
	}
	if !g.Group.IsZero() {
		values["group_id"] = g.Group.String()
	}
	if !g.Workflow.IsZero() {
		values["workflow_id"] = g.Workflow.String()
	}
	var environments []string
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		if g.Environments.Has(env) {
			environments = append(environments, env.String())
		}
	}
	values["environments"] = environments
	c := audit.Changes{}
	for name, value := range values {
		if action == audit.GrantGiven {
			c.Set(name, nil, value)
		} else {
			c.Set(name, value, nil)
		}
	}
	return audit.Entry{
		Account: row.Account, Action: action, Target: audit.Target{Kind: "grant", ID: g.ID.String(), Name: g.Role}, Changes: c,
	}, nil
}

// executionTarget is an execution, with the name of its workflow.
func executionTarget(r *store.Reader, id chargehand.ExecutionID) (audit.Target, error) {
	row, err := r.FindExecution(id)
	if err != nil {
		return audit.Target{}, err
	}
	w, err := r.WorkflowByNo(row.Workflow)
	return audit.Target{Kind: "execution", ID: id.String(), Name: w.Namespace + "/" + w.Name}, err
}

// batchTarget is a batch, with the name of its workflow.
func batchTarget(r *store.Reader, id chargehand.BatchID) (audit.Target, error) {
	row, err := r.FindBatch(id)
	if err != nil {
		return audit.Target{}, err
	}
	w, err := r.WorkflowByNo(row.Workflow)
	return audit.Target{Kind: "batch", ID: id.String(), Name: w.Namespace + "/" + w.Name}, err
}

// changed is the change of one value, if it is one.
func changed(name string, before, after any) audit.Changes {
	return audit.Changes{}.Set(name, before, after)
}

// keyChanges are what two rows of a key differ in; the zero row is none.
func keyChanges(was, row *store.Key) audit.Changes {
	c := audit.Changes{}.Set("name", was.Name, row.Name)
	c.Set("scopes", parseScopes(was.Scopes).Names(), parseScopes(row.Scopes).Names())
	c.Set("expires_at", shownTime(was.ExpiresMs), shownTime(row.ExpiresMs))
	c.Set("rate_limit", shownRate(was), shownRate(row))
	c.Set("allowed_addresses", strings.Fields(was.Addresses), strings.Fields(row.Addresses))
	c.Set("personal", was.Person != 0, row.Person != 0)
	return limitChanges(c, was.Limits, row.Limits)
}

func limitChanges(c audit.Changes, was, now store.Limits) audit.Changes {
	return c.Set("workflows", was.Workflows, now.Workflows).Set("namespaces", was.Namespaces, now.Namespaces)
}

func shownTime(ms int64) any {
	if ms == 0 {
		return nil
	}
	return atMs(ms).Format(time.RFC3339)
}

// shownRate is the rate of a key; nil: that of the installation.
func shownRate(row *store.Key) any {
	if row.ID.IsZero() || row.Rate < 0 {
		return nil
	}
	return &row.Rate // 0 is a value: no limit
}

// auditPublished writes that the published pointer of a workflow moves to a revision. It is called before it does.
func (s *Service) auditPublished(ctx context.Context, p *Principal) func(*store.Tx, *store.Workflow, *store.Revision) error {
	return func(tx *store.Tx, row *store.Workflow, revision *store.Revision) error {
		was, err := publishedRevision(&tx.Reader, row)
		if err != nil {
			return err
		}
		c := audit.Changes{"revision": {Before: orNone(was.Number), After: revision.Number}}
		c.Set("version", was.Version, revision.Version)
		return s.audit(ctx, tx, p, audit.WorkflowPublished, workflowTarget(row), c)
	}
}

// publishedRevision is the zero revision where none was published.
func publishedRevision(r *store.Reader, row *store.Workflow) (store.Revision, error) {
	if row.Published == 0 {
		return store.Revision{}, nil
	}
	return r.RevisionByNo(row.Published)
}

func orNone(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// AuditEntry is an entry of the audit log as it is read.
type AuditEntry struct {
	ID          chargehand.AuditID
	At          time.Time
	Environment chargehand.Environment // 0: none
	Actor       audit.Actor
	Action      audit.Action
	Target      audit.Target // zero: none
	Address     string       // empty: no request led to it
	RequestID   string
	Changes     json.RawMessage // nil: none
	Count       int64
}

// ListAudit is a query for entries of the audit log.
type ListAudit struct {
	Actor  string       // id of the actor, or e-mail of a user; empty: any
	Action audit.Action // empty: any
	Target string       // id of the target, e-mail of a user, or namespace/name of a workflow; empty: any
	After  time.Time    // later than this; zero: no bound
	Before time.Time    // earlier than this; zero: no bound
	Limit  int
	Cursor Cursor
}

// auditExamined bounds the entries that a page looks at where it has several filters, of which an index serves one.
const auditExamined = 500

// auditID is the id by which entries name a person or a workflow that is given by its name. Any other text, and a name
// that is not known, stays as it is.
func auditID(r *store.Reader, account int64, text string) (string, error) {
	if namespace, name, named := strings.Cut(text, "/"); named {
		w, err := r.WorkflowByName(account, namespace, name)
		if errors.Is(err, store.ErrNotFound) {
			return text, nil
		}
		return w.ID.String(), err
	}
	_, key, complaint := person.Email(text)
	if !strings.Contains(text, "@") || complaint != "" {
		return text, nil
	}
	known, err := r.PersonByEmail(key)
	if err == nil {
		_, err = r.MemberByNo(account, known.No)
	}
	if errors.Is(err, store.ErrNotFound) {
		return text, nil
	}
	return known.ID.String(), err
}

// ListAudit lists entries of the audit log, newest first. In test these are the ones of test. A page with several
// filters looks at no more than auditExamined entries; it may be short, and have a cursor.
func (s *Service) ListAudit(ctx context.Context, p *Principal, q ListAudit) (*Page[AuditEntry], error) {
	page := &Page[AuditEntry]{Data: []AuditEntry{}}
	beforeMs, ok := millisAbove(q.Before)
	if !ok {
		return page, nil
	}
	f := store.AuditFilter{
		Account: p.AccountNo, Actor: q.Actor, Action: string(q.Action), Target: q.Target,
		BeforeMs: beforeMs, Before: chargehand.AuditID(q.Cursor.ID), Limit: q.Limit + 1,
	}
	if !q.After.IsZero() {
		f.AfterMs = max(q.After.UnixMilli(), 0)
	}
	if p.Environment == chargehand.Test {
		f.Environment = chargehand.Test
	}
	err := s.view(ctx, func(r *store.Reader) error {
		page.Data, page.Cursor = page.Data[:0], Cursor{}
		var err error
		if f.Actor, err = auditID(r, p.AccountNo, q.Actor); err != nil {
			return err
		}
		if f.Target, err = auditID(r, p.AccountNo, q.Target); err != nil {
			return err
		}
		for examined := 0; ; {
			rows, err := r.ListAudit(f)
			if err != nil {
				return err
			}
			for i := range rows {
				f.Before = rows[i].ID
				if !f.Selects(&rows[i]) {
					continue
				}
				if len(page.Data) == q.Limit {
					page.Cursor = idCursor(page.Data[q.Limit-1].ID)
					return nil
				}
				page.Data = append(page.Data, shownAudit(&rows[i]))
			}
			if len(rows) < f.Limit {
				return nil
			}
			if examined += len(rows); examined >= auditExamined {
				page.Cursor = idCursor(f.Before)
				return nil
			}
		}
	})
	return page, err
}

func shownAudit(row *store.Audit) AuditEntry {
	return AuditEntry{
		ID: row.ID, At: row.ID.Time(), Environment: row.Environment,
		Actor:  audit.Actor{Kind: audit.ActorKind(row.ActorKind), ID: row.ActorID, Name: row.ActorName},
		Action: audit.Action(row.Action), Target: audit.Target{Kind: row.TargetKind, ID: row.TargetID, Name: row.TargetName},
		Address: row.Address, RequestID: row.RequestID, Changes: row.Changes, Count: row.Occurred,
	}
}
