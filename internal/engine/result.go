package engine

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Results finds the result files of a completed execution (docs/reference/api.md "results"): the file
// references in its output, at most machine.MaxFiles, else the files that the Finish command names (own). fresh are
// files that become visible in the same transaction. list is what store.Outcome.Files holds; foreign
// are files that the execution did not make: UseFile keeps them as long as it is kept. What the execution must not
// read (MayRead) is no result: results are shown with links. given is as in hideFiles.
func Results(tx *store.Tx, row *store.Execution, references []chargehand.FileID, own []machine.File, fresh, given []chargehand.FileID) (list []byte, foreign []int64, err error) {
	if len(references) == 0 && len(own) == 0 { // most have no files
		return nil, nil, nil
	}
	made := make(map[chargehand.FileID]bool, len(fresh))
	for _, id := range fresh {
		made[id] = true
	}
	known, err := tx.FilesByID(row.Account, row.Environment, slices.DeleteFunc(slices.Clone(references), func(id chargehand.FileID) bool { return made[id] }))
	if err != nil {
		return nil, nil, err
	}
	if err := hideFiles(&tx.Reader, row, known, given); err != nil {
		return nil, nil, err
	}
	for _, f := range known {
		if f.Execution != row.No || row.No == 0 {
			foreign = append(foreign, f.No)
		}
	}
	// The sweep of another node may just have deleted some.
	if foreign, err = tx.KeepFiles(foreign); err != nil {
		return nil, nil, err
	}
	var ids []chargehand.FileID
	for _, id := range references {
		// An id that names no file of this account and environment is no reference.
		f, found := known[id]
		if made[id] || found && (f.Execution == row.No && row.No != 0 || has(foreign, f.No)) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		for _, f := range own {
			var id chargehand.FileID
			if id.UnmarshalText([]byte(f.ID)) == nil {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	list = append(list, '[')
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(id.Append(append(list, '"')), '"')
	}
	return append(list, ']'), foreign, nil
}

// has looks into a sorted list.
func has(sorted []int64, no int64) bool {
	_, found := slices.BinarySearch(sorted, no)
	return found
}
