package service

import (
	"context"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// checkAuthor finds what a definition would start or use beyond what its author may, in the environment of the key
// that applies it. The engine checks the same when executions start (engine.MayUse, engine.Family): another
// environment has other secrets, and both may change. Whether something exists that the key does not see is
// not told. Codes: definition_invalid.
func (s *Service) checkAuthor(ctx context.Context, p *Principal, a *application) error {
	document := a.plan.Document()
	author := store.Author{Workflow: a.workflow.ID, Namespace: document.Namespace, Limits: p.Limits}
	if author.Limits.All() && !a.plan.UsesSecrets() {
		return nil
	}
	var problems dsl.Problems
	err := s.view(ctx, func(r *store.Reader) error {
		problems = nil
		found, err := hiddenSecrets(r, p, author, a.plan)
		if err != nil {
			return err
		}
		problems = append(problems, found...)
		found, err = hiddenChildren(r, p, author, a.plan)
		problems = append(problems, found...)
		return err
	})
	if err != nil || len(problems) == 0 {
		return err
	}
	problems.Sort()
	return refusedDefinition(a.request, problems, true)
}

// hiddenSecrets finds the declared secrets that the author may not use. To one without limits a secret may be
// missing: it can be set later (T75).
func hiddenSecrets(r *store.Reader, p *Principal, author store.Author, compiled *plan.Plan) (problems dsl.Problems, err error) {
	rows, err := r.SecretValues(p.AccountNo, p.Environment, compiled.Secrets())
	if err != nil {
		return nil, err
	}
	limits := make(map[string]store.Limits, len(rows))
	for i := range rows {
		limits[rows[i].Name] = rows[i].Limits
	}
	document := compiled.Document()
	for i, name := range compiled.Secrets() {
		limit, exists := limits[name]
		if exists && engine.MayUse(author, limit) || !exists && author.Limits.All() {
			continue
		}
		detail := fmt.Sprintf("The secret %s of the environment %s is not there for this workflow.", quote(name), p.Environment)
		hint := "Somebody with an admin key must add the workflow or its namespace to the secret."
		problems = append(problems, document.ErrorAt(fmt.Sprintf("/use/secrets/%d", i), plan.CodeNotGranted, detail, hint))
	}
	return problems, nil
}

// hiddenChildren finds the workflows that the definition would start and the author does not see.
func hiddenChildren(r *store.Reader, p *Principal, author store.Author, compiled *plan.Plan) (problems dsl.Problems, err error) {
	if author.Limits.All() {
		return nil, nil
	}
	for _, task := range compiled.Tasks {
		if task.Child == nil || author.Limits.Admit(chargehand.WorkflowID{}, task.Child.Namespace) {
			continue
		}
		name := task.Child.Namespace + "/" + task.Child.Name
		row, err := r.WorkflowByName(p.AccountNo, task.Child.Namespace, task.Child.Name)
		if err == nil && author.Limits.Admit(row.ID, row.Namespace) {
			continue
		}
		if err = notFoundIs(err, func() error { return nil }); err != nil {
			return nil, err
		}
		problems = append(problems, compiled.Document().ErrorAt(task.Reference, plan.CodeNotGranted,
			fmt.Sprintf("The key that applies this definition sees no workflow %s, so its executions may not start one.", quote(name)),
			"Have the workflow or its namespace added to the key, or apply the definition with another key."))
	}
	return problems, nil
}
