package store

import (
	"encoding/binary"
	"encoding/json"

	"github.com/chargehand/chargehand/internal/fingerprint"
)

// FaultMarks are what failures are found and grouped by. They are columns of the row of an execution that has failed.
type FaultMarks struct {
	Code string
	At   string // the task, as a JSON pointer; empty: none
	Hash int64  // of the normalised detail (package fingerprint)
}

// faultMarks reads the marks of a fault (Outcome.Fault). Where faults are sealed, the hash does not tell those who
// guess the detail that it is of.
func (r *Reader) faultMarks(fault []byte) FaultMarks {
	var f struct{ Code, Instance, Detail string }
	_ = json.Unmarshal(fault, &f) // a fault that cannot be read has no marks
	sum := fingerprint.Sum(f.Detail)
	if r.seals() {
		sum = r.sealing.sealer.HideDigest(sum)
	}
	return FaultMarks{Code: f.Code, At: f.Instance, Hash: int64(binary.BigEndian.Uint64(sum[:]))}
}
