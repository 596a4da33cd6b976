package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// FaultMarks are what failures are found and grouped by. They are columns of the row of an execution that has failed.
type FaultMarks struct {
	Code string
	At   string // the task, as a JSON pointer; empty: none
	Hash int64  // of NormalDetail
}

// faultMarks reads the marks of a fault (Outcome.Fault). Where faults are sealed, the hash does not tell those who
// guess the detail that it is of.
func (r *Reader) faultMarks(fault []byte) FaultMarks {
	var f struct{ Code, Instance, Detail string }
	_ = json.Unmarshal(fault, &f) // a fault that cannot be read has no marks
	sum := sha256.Sum256([]byte(NormalDetail(f.Detail)))
	if r.seals() {
		sum = r.sealing.sealer.HideDigest(sum)
	}
	return FaultMarks{Code: f.Code, At: f.Instance, Hash: int64(binary.BigEndian.Uint64(sum[:]))}
}

// detailChars bounds a normalised detail.
const detailChars = 200

// varying is what differs from one case of a failure to the next: quoted text, UUIDs, hexadecimal and other numbers.
var varying = regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`" + `|“[^”]*”` +
	`|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b` +
	`|\b0[xX][0-9a-fA-F]+\b|\b[0-9]+(?:[.,][0-9]+)+|\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*\b|[0-9]+`)

// NormalDetail is the detail of a fault without what differs from case to case: failures with the same one are a
// group. Quoted text becomes "…", numbers and ids become #.
func NormalDetail(detail string) string {
	if len(detail) > 20*detailChars { // what is behind is cut off below, whatever stands before
		detail = detail[:20*detailChars]
	}
	normal := varying.ReplaceAllStringFunc(detail, func(s string) string {
		if c := s[0]; c == '"' || c == '\'' || c == '`' || strings.HasPrefix(s, "“") {
			return `"…"`
		}
		return "#"
	})
	if utf8.RuneCountInString(normal) > detailChars {
		normal = string([]rune(normal)[:detailChars])
	}
	return strings.ToValidUTF8(normal, "\uFFFD")
}
