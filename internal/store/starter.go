package store

import (
	"errors"
	"reflect"
	"slices"
)

// Starter is a key with limits that has started executions, as it was then. The executions refer to it, because
// they read only files that it may read, also when the key is changed or gone.
type Starter struct {
	No      int64
	Account int64
	Key     int64 // number of the key; 0: several keys have to do with it
	Limits  Limits
}

// PutStarter inserts s unless there is an equal one, and sets s.No either way. Two nodes may insert equal ones:
// each is right.
func (t *Tx) PutStarter(s *Starter) error {
	if s.Limits.All() {
		return errors.New("put starter: it has no limits")
	}
	known, err := readAll(&t.Reader, "read starters", `SELECT no, account, key, workflows, namespaces FROM starter
 WHERE account = ?1 AND key = ?2 ORDER BY no`, scanStarter, s.Account, s.Key)
	if err != nil {
		return err
	}
	same := slices.IndexFunc(known, func(k Starter) bool { return reflect.DeepEqual(k.Limits, s.Limits) })
	if same >= 0 {
		s.No = known[same].No
		return nil
	}
	s.No, err = t.insert("insert starter", `INSERT INTO starter (account, key, workflows, namespaces) VALUES (?1, ?2, ?3, ?4)`,
		s.Account, s.Key, s.Limits.workflowsArg(), s.Limits.namespacesArg())
	return err
}

// StarterByNo reads a starter; 0 is the one without limits. Errors: ErrNotFound.
func (r *Reader) StarterByNo(no int64) (Starter, error) {
	if no == 0 {
		return Starter{}, nil
	}
	return readOne(r, "read starter", `SELECT no, account, key, workflows, namespaces FROM starter WHERE no = ?1`, scanStarter, no)
}

func scanStarter(row Row, s *Starter) {
	*s = Starter{No: row.Int(0), Account: row.Int(1), Key: row.Int(2), Limits: rowLimits(row, 3, 4)}
}
