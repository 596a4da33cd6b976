package engine

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Results finds the result files of a completed execution (api.md "results"): the file
// references in its output, else the files that the Finish command names (own). fresh are
// files that become visible in the same transaction. list is what store.Outcome.Files holds; foreign
// are files that the execution did not make: UseFile keeps them as long as it is kept.
func Results(tx *store.Tx, row *store.Execution, references []chargehand.FileID, own []machine.File, fresh []chargehand.FileID) (list []byte, foreign []int64, err error) {
	var ids []chargehand.FileID
	for _, id := range references {
		if slices.Contains(fresh, id) {
			ids = append(ids, id)
			continue
		}
		f, err := tx.FileByID(row.Account, row.Environment, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // not a reference: it names no file of this tenant
		}
		if err != nil {
			return nil, nil, err
		}
		if f.Execution != row.No || row.No == 0 {
			err := tx.KeepFile(f.No)
			if errors.Is(err, store.ErrNotFound) {
				continue // the sweep of another node has just deleted it
			}
			if err != nil {
				return nil, nil, err
			}
			foreign = append(foreign, f.No)
		}
		ids = append(ids, id)
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
