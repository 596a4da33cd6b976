package engine

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// CodeFileUnknown: an execution gives a child a file that there is not, or that it must not read.
const CodeFileUnknown = "file_not_found"

// MayRead reports whether an execution may read a file of its account and environment. A definition that a key
// with limits has applied can make up the address of any file. It reads only what the execution has made or was
// given by somebody who may (UseFile), and what workflows have made that the limits admit.
func MayRead(r *store.Reader, row *store.Execution, f *store.File) (bool, error) {
	author, err := authorOf(r, row.Revision)
	if err != nil || author.Limits.All() {
		return err == nil, err
	}
	return mayRead(r, author, row, f)
}

func mayRead(r *store.Reader, author store.Author, row *store.Execution, f *store.File) (bool, error) {
	if row.No != 0 {
		if f.Execution == row.No {
			return true, nil
		}
		if uses, err := r.UsesFile(f.No, row.No); err != nil || uses {
			return uses, err
		}
	}
	if f.Execution == 0 {
		return false, nil
	}
	maker, err := r.ExecutionByNo(f.Execution)
	if err != nil {
		return false, ignoreMissing(err)
	}
	w, err := r.WorkflowByNo(maker.Workflow)
	if err != nil {
		return false, ignoreMissing(err)
	}
	return author.Limits.Admit(w.ID, w.Namespace), nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// hideFiles takes out of known what the execution must not read. given are files that its input names, where
// their use is not written yet.
func hideFiles(r *store.Reader, row *store.Execution, known map[chargehand.FileID]store.File, given []chargehand.FileID) error {
	if len(known) == 0 {
		return nil
	}
	author, err := authorOf(r, row.Revision)
	if err != nil || author.Limits.All() {
		return err
	}
	for id, f := range known {
		if slices.Contains(given, id) {
			continue
		}
		may, err := mayRead(r, author, row, &f)
		if err != nil {
			return err
		}
		if !may {
			delete(known, id)
		}
	}
	return nil
}

// Give gives the child the files that its input names: it may read them, and they stay as long as it does. Where
// the parent must not read one, there is no child but a fault, the same whether there is such a file. given are
// the files that were given to the parent, where their use is not written yet.
func (s *ChildStart) Give(r *store.Reader, parent *store.Execution, input value.Value, given []chargehand.FileID) (*machine.Fault, error) {
	named := NamedFiles(input)
	if len(named) == 0 {
		return nil, nil
	}
	author, err := authorOf(r, parent.Revision)
	if err != nil {
		return nil, err
	}
	known, err := r.FilesByID(parent.Account, parent.Environment, named)
	if err != nil {
		return nil, err
	}
	if err := hideFiles(r, parent, known, given); err != nil {
		return nil, err
	}
	s.files = s.files[:0]
	for _, id := range named {
		f, found := known[id]
		switch {
		case found:
			s.files = append(s.files, f.No)
		case !author.Limits.All():
			return childFault(CodeFileUnknown, "There is no file "+id.String()+
				" that this workflow may give to another one: a key that is limited to some workflows or namespaces has applied it."), nil
		}
	}
	return nil, nil
}

// NamedFiles are the ids of all objects in v that look like file references, each once, also of those that are in
// others.
func NamedFiles(v value.Value) (ids []chargehand.FileID) {
	seen := map[chargehand.FileID]bool{}
	var walk func(v value.Value)
	walk = func(v value.Value) {
		switch v := v.(type) {
		case map[string]any:
			if uri, ok := v["uri"].(string); ok {
				if id, ok := chargehand.ParseFileURI(uri); ok && !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	walk(v)
	return ids
}
