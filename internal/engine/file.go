package engine

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// CodeFileUnknown: an execution gives a child a file that there is not, or that it must not read.
const CodeFileUnknown = "file_not_found"

// reading is what decides which files an execution may read: the limits of the key that has applied its definition,
// and those of the key that has started it or the execution that it is a child of. Either key can make up the address
// of any file, one in the definition, the other in the input. Both must be allowed to read what is read.
type reading struct {
	author  store.Author
	starter store.Starter
}

func readingOf(r *store.Reader, row *store.Execution) (reading, error) {
	author, err := authorOf(r, row.Revision)
	if err != nil {
		return reading{}, err
	}
	starter, err := r.StarterByNo(row.Starter)
	return reading{author, starter}, err
}

// all reports whether nothing is limited.
func (l *reading) all() bool { return l.author.Limits.All() && l.starter.Limits.All() }

// MayRead reports whether an execution may read a file of its account and environment. Where no key with limits has
// to do with it, it may. Otherwise it reads what it or its children have made, what it was given by an execution or
// a key that may read it (UseFile), what its definition names and the author might read when it was applied, and
// what both the author and the starter may read: files that workflows within the limits have made, and uploads of
// the starter.
func MayRead(r *store.Reader, row *store.Execution, f *store.File) (bool, error) {
	limits, err := readingOf(r, row)
	if err != nil || limits.all() {
		return err == nil, err
	}
	return limits.admit(r, row, f)
}

// HasFile reports whether a file belongs to an execution: it or its children have made it, it was given it (UseFile),
// or its definition names it. People who see what the execution refers to may read such files, and no others: those who
// send it data can make up a reference.
func HasFile(r *store.Reader, row *store.Execution, f *store.File) (bool, error) {
	author, err := authorOf(r, row.Revision)
	if err != nil {
		return false, err
	}
	return belongs(r, &author, row, f)
}

// KeepFiles takes out of known what does not belong to an execution (HasFile).
func KeepFiles(r *store.Reader, row *store.Execution, known map[chargehand.FileID]store.File) error {
	if len(known) == 0 {
		return nil
	}
	author, err := authorOf(r, row.Revision)
	if err != nil {
		return err
	}
	for id, f := range known {
		keep, err := belongs(r, &author, row, &f)
		if err != nil {
			return err
		}
		if !keep {
			delete(known, id)
		}
	}
	return nil
}

// belongs is HasFile for the author of the definition.
func belongs(r *store.Reader, author *store.Author, row *store.Execution, f *store.File) (bool, error) {
	if slices.Contains(author.Files, f.ID) || f.Execution == row.No {
		return true, nil
	}
	if uses, err := r.UsesFile(f.No, row.No); err != nil || uses || f.Execution == 0 {
		return uses, err
	}
	return descends(r, f.Execution, row.No)
}

func (l *reading) admit(r *store.Reader, row *store.Execution, f *store.File) (bool, error) {
	if slices.Contains(l.author.Files, f.ID) {
		return true, nil
	}
	if row.No != 0 {
		if f.Execution == row.No {
			return true, nil
		}
		if uses, err := r.UsesFile(f.No, row.No); err != nil || uses {
			return uses, err
		}
	}
	if f.Execution == 0 {
		return l.author.Limits.All() && l.starter.Key != 0 && f.Uploader == l.starter.Key, nil
	}
	maker, err := r.ExecutionByNo(f.Execution)
	if err != nil {
		return false, ignoreMissing(err)
	}
	w, err := r.WorkflowByNo(maker.Workflow)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if l.author.Limits.Admit(w.ID, w.Namespace) && l.starter.Limits.Admit(w.ID, w.Namespace) {
		return true, nil
	}
	return descends(r, maker.No, row.No)
}

// descends reports whether an execution is a child of another one, or a child of a child.
func descends(r *store.Reader, no, ancestor int64) (bool, error) {
	for range MaxChildDepth {
		link, err := r.ChildByExecution(no)
		if err != nil {
			return false, ignoreMissing(err)
		}
		if no = link.Parent; no == 0 || no == ancestor {
			return no != 0, nil
		}
	}
	return false, nil
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
	limits, err := readingOf(r, row)
	if err != nil || limits.all() {
		return err
	}
	for id, f := range known {
		if slices.Contains(given, id) {
			continue
		}
		may, err := limits.admit(r, row, &f)
		if err != nil {
			return err
		}
		if !may {
			delete(known, id)
		}
	}
	return nil
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
