package engine

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// FindResults finds the result files (docs/reference/api.md "Result files"): the file references in the output, at most
// machine.MaxFiles, else the files that the Finish command names. fresh are files that become visible in the same
// transaction. What the execution must not read (MayRead) is no result: results are shown with links. given is as in
// hideFiles.
func (e *End) FindResults(tx *store.Tx, row *store.Execution, fresh, given []chargehand.FileID) error {
	e.Files, e.foreign = nil, nil
	if len(e.references) == 0 && len(e.own) == 0 { // most have no files
		return nil
	}
	made := make(map[chargehand.FileID]bool, len(fresh))
	for _, id := range fresh {
		made[id] = true
	}
	others := slices.DeleteFunc(slices.Clone(e.references), func(id chargehand.FileID) bool { return made[id] })
	known, err := tx.FilesByID(row.Account, row.Environment, others)
	if err != nil {
		return err
	}
	if err := hideFiles(&tx.Reader, row, known, given); err != nil {
		return err
	}
	for _, f := range known {
		if f.Execution != row.No || row.No == 0 {
			e.foreign = append(e.foreign, f.No)
		}
	}
	// The sweep of another node may just have deleted some.
	if e.foreign, err = tx.KeepFiles(e.foreign); err != nil {
		return err
	}
	var ids []chargehand.FileID
	for _, id := range e.references {
		// An id that names no file of this account and environment is no reference.
		f, found := known[id]
		if made[id] || found && (f.Execution == row.No && row.No != 0 || has(e.foreign, f.No)) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		ids = AppendFileIDs(nil, e.own)
	}
	if len(ids) == 0 {
		return nil
	}
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(id.Append(append(list, '"')), '"')
	}
	e.Files = append(list, ']')
	return nil
}

// UseResults keeps foreign result files as long as the execution, and gives them to the execution that awaits it, if
// there is one: it gets references to them in the output. Call it when the outcome is written.
func (e *End) UseResults(tx *store.Tx, no int64) error {
	for _, file := range e.foreign {
		if err := tx.UseFile(file, no); err != nil {
			return err
		}
		if e.Ending.Parent == 0 {
			continue
		}
		if err := tx.UseFile(file, e.Ending.Parent); err != nil {
			return err
		}
	}
	return nil
}

// has looks into a sorted list.
func has(sorted []int64, no int64) bool {
	_, found := slices.BinarySearch(sorted, no)
	return found
}
