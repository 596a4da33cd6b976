package service

import (
	"errors"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/store"
)

// Bounds of the lists of a key or a secret.
const (
	maxLimitWorkflows  = 100
	maxLimitNamespaces = 100
	maxNamespaceBytes  = 63
)

// limitation is the part of a body that limits a key or a secret to workflows: `workflows` and `namespaces`.
type limitation struct {
	workflows, namespaces       []string // workflows: ids, or namespace/name
	givesWorkflows, givesSpaces bool     // null is given too: it takes the list away
}

// limitation reads the fields `workflows` and `namespaces`.
func (f *fields) limitation() (l limitation) {
	l.givesWorkflows, l.givesSpaces = f.has("workflows"), f.has("namespaces")
	l.workflows = f.limited("workflows", maxLimitWorkflows, func(text string) string {
		var id chargehand.WorkflowID
		namespace, name, named := strings.Cut(text, "/")
		if id.UnmarshalText([]byte(text)) == nil || named && isNamespace(namespace) && isNamespace(name) {
			return ""
		}
		return "is neither the id nor the namespace/name of a workflow."
	})
	l.namespaces = f.limited("namespaces", maxLimitNamespaces, func(text string) string {
		if isNamespace(text) {
			return ""
		}
		return "is not a namespace: letters, digits and dashes, at most " + strconv.Itoa(maxNamespaceBytes) + "."
	})
	return l
}

// limited reads one of the lists; nil if it is absent or null.
func (f *fields) limited(name string, most int, complaint func(string) string) []string {
	if f.values[name] == nil {
		return nil
	}
	before := len(f.wrong)
	list := f.texts(name, most)
	for i, text := range list {
		if wrong := complaint(text); wrong != "" && len(f.wrong) == before {
			f.failAt([]string{name, strconv.Itoa(i)}, "wrong_value", "The entry "+excerpt.Quote(text)+" "+wrong)
		}
	}
	if len(list) == 0 && len(f.wrong) == before {
		f.fail(name, "empty", "The list "+excerpt.Quote(name)+" must not be empty; null stands for no limit.")
	}
	return list
}

// isNamespace tells whether text can be the namespace or the name of a workflow.
func isNamespace(text string) bool {
	return text != "" && len(text) <= maxNamespaceBytes && !strings.ContainsFunc(text, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	})
}

// on is what was with the lists that are given. Codes: workflow_not_found.
func (l limitation) on(r *store.Reader, account int64, was store.Limits) (store.Limits, error) {
	if l.givesWorkflows {
		was.Workflows = nil
		known := map[chargehand.WorkflowID]bool{}
		for _, text := range l.workflows {
			id, err := findWorkflow(r, account, text)
			if err != nil {
				return was, err
			}
			if !known[id] {
				known[id] = true
				was.Workflows = append(was.Workflows, id)
			}
		}
	}
	if l.givesSpaces {
		was.Namespaces = nil
		known := map[string]bool{}
		for _, text := range l.namespaces {
			if !known[text] {
				known[text] = true
				was.Namespaces = append(was.Namespaces, text)
			}
		}
	}
	return was, nil
}

// findWorkflow finds a workflow by its id, or by its namespace/name. Codes: workflow_not_found.
func findWorkflow(r *store.Reader, account int64, text string) (id chargehand.WorkflowID, err error) {
	var row store.Workflow
	if namespace, name, named := strings.Cut(text, "/"); named {
		row, err = r.WorkflowByName(account, namespace, name)
	} else {
		_ = id.UnmarshalText([]byte(text)) // it was read before
		row, err = r.WorkflowByID(account, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = noWorkflow(text)
	}
	return row.ID, err
}

func noWorkflow(text string) error {
	return chargehand.NewError(chargehand.CodeWorkflowNotFound, "There is no workflow "+excerpt.Quote(text)+".")
}
