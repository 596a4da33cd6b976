package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// authorship is what a definition names besides what it contains: problems are the secrets, workflows and files that
// its author must not use, and files those that it may.
type authorship struct {
	problems dsl.Problems
	files    []chargehand.FileID
}

// authorship finds what a definition would start, use or read beyond what its author may, in the environment of the
// key that applies it. workflow is the zero id where there is none of that name. The engine checks the same when
// executions start (engine.MayUse, engine.Tree, engine.MayRead): another environment has other secrets, and both
// may change. The answer is the same for what the key may not see and for what does not exist.
func (s *Service) authorship(
	ctx context.Context, p *Principal, compiled *plan.Plan, workflow chargehand.WorkflowID,
) (found authorship, err error) {
	author := store.Author{Workflow: workflow, Namespace: compiled.Document().Namespace, Limits: p.Limits}
	addresses := fileAddresses(compiled.Definition())
	if author.Limits.All() && !compiled.UsesSecrets() && len(addresses) == 0 {
		return found, nil
	}
	err = s.view(ctx, func(r *store.Reader) error {
		found = authorship{}
		secrets, err := hiddenSecrets(r, p, author, compiled)
		if err != nil {
			return err
		}
		children, err := hiddenChildren(r, p, author, compiled)
		if err != nil {
			return err
		}
		found.problems = append(secrets, children...)
		return s.namedFiles(r, p, compiled, addresses, &found)
	})
	found.problems.Sort()
	return found, err
}

// maxNamedFiles bounds the files that one definition names.
const maxNamedFiles = 1_000

// fileAddress is the address of a file anywhere in a text of a definition, also within an expression.
var fileAddress = regexp.MustCompile(regexp.QuoteMeta(chargehand.FilesPath) + `([0-9A-Fa-f-]{36})`)

// fileAddresses finds the files that the texts of a definition name: the pointer of the first place by id.
func fileAddresses(definition expr.Value) map[chargehand.FileID]string {
	found := map[chargehand.FileID]string{}
	eachText(definition, nil, func(text string, at []string) {
		for _, match := range fileAddress.FindAllStringSubmatch(text, maxNamedFiles) {
			var id chargehand.FileID
			if id.UnmarshalText([]byte(match[1])) == nil && found[id] == "" && len(found) < maxNamedFiles {
				found[id] = pointer(at...)
			}
		}
	})
	return found
}

// eachText calls visit with each text in v and the path to it, which is valid during the call.
func eachText(v expr.Value, path []string, visit func(text string, at []string)) {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, chargehand.FilesPath) {
			visit(v, path)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachText(v[name], append(path, name), visit)
		}
	case []any:
		for i, child := range v {
			eachText(child, append(path, strconv.Itoa(i)), visit)
		}
	}
}

// namedFiles adds the files that the definition names: those that the author may read are granted to all executions
// of the revision, no matter which key starts them. A key without limits may name files of both environments.
func (s *Service) namedFiles(
	r *store.Reader, p *Principal, compiled *plan.Plan, addresses map[chargehand.FileID]string, found *authorship,
) error {
	for _, id := range slices.SortedFunc(maps.Keys(addresses), func(a, b chargehand.FileID) int { return bytes.Compare(a[:], b[:]) }) {
		may, err := s.mayName(r, p, id)
		switch {
		case err != nil:
			return err
		case may:
			found.files = append(found.files, id)
		case !p.Limits.All():
			found.problems = append(found.problems, compiled.Document().ErrorAt(addresses[id], plan.CodeNotGranted,
				fmt.Sprintf("There is no file %s that the key which applies this definition may read.", id),
				"Name a file that this key has uploaded, or one of a workflow that it sees; or apply the definition with another key."))
		}
	}
	return nil
}

// mayName reports whether a definition of the principal may name a file.
func (s *Service) mayName(r *store.Reader, p *Principal, id chargehand.FileID) (may bool, err error) {
	if !p.Limits.All() {
		return s.mayRead(r, p, id)
	}
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		_, err := r.FileByID(p.AccountNo, env, id)
		if !errors.Is(err, store.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// checkName finds a workflow that a key with limits must not make or change.
func checkName(p *Principal, compiled *plan.Plan, workflow chargehand.WorkflowID) error {
	document := compiled.Document()
	if p.Limits.Admit(workflow, document.Namespace) {
		return nil
	}
	return chargehand.NewError(chargehand.CodeWorkflowNotFound, "There is no workflow "+
		excerpt.Quote(document.Namespace+"/"+document.Name)+" that this key sees. It is limited to some workflows or namespaces.")
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
		detail := fmt.Sprintf("The secret %s of the environment %s is not there for this workflow.", excerpt.Quote(name), p.Environment)
		hint := "A person with an admin key must add the workflow or its namespace to the secret."
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
			fmt.Sprintf("The key that applies this definition sees no workflow %s, so its executions may not start one.", excerpt.Quote(name)),
			"Have the workflow or its namespace added to the key, or apply the definition with another key."))
	}
	return problems, nil
}
