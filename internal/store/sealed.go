package store

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
)

// sealedSample is how many outcomes SealedShare looks at.
const sealedSample = 10_000

// SealedShare is how much of a database is sealed: of the newest outcomes of executions that are in rows, and of all
// contents.
type SealedShare struct {
	Outcomes, SealedOutcomes int64
	Contents, SealedContents int64
	Keys                     []uint32 // numbers of the data keys of these outcomes
}

func (s SealedShare) String() string {
	text := fmt.Sprintf("%d of the newest %d results of executions and %d of %d contents are sealed", s.SealedOutcomes, s.Outcomes, s.SealedContents, s.Contents)
	for i, key := range s.Keys {
		text += [...]string{"; the results under data key ", ", "}[min(i, 1)] + strconv.FormatUint(uint64(key), 10)
	}
	return text
}

// SealedShare reads how much is sealed. It needs no keys.
func (r *Reader) SealedShare() (s SealedShare, err error) {
	err = r.c.Query(`SELECT substr(COALESCE(output, fault, timeline), 1, 5) FROM outcome ORDER BY execution DESC LIMIT ?1`, func(row Row) error {
		column := row.Bytes(0)
		if len(column) == 0 { // it is a content
			return nil
		}
		s.Outcomes++
		if len(column) == 5 && column[0] == sealedMark {
			s.SealedOutcomes++
			if key := binary.BigEndian.Uint32(column[1:]); !slices.Contains(s.Keys, key) {
				s.Keys = append(s.Keys, key)
			}
		}
		return nil
	}, int64(sealedSample))
	if err == nil {
		err = r.one(`SELECT COUNT(*), COALESCE(SUM(CASE WHEN length(digest) > 32 THEN 1 ELSE 0 END), 0) FROM blob WHERE refs > 0`, func(row Row) {
			s.Contents, s.SealedContents = row.Int(0), row.Int(1)
		})
	}
	if err != nil {
		return SealedShare{}, fmt.Errorf("read what is sealed: %w", err)
	}
	slices.Sort(s.Keys)
	return s, nil
}

// clearColumn is a column in which values are looked for that are not sealed.
type clearColumn struct {
	kind, column, from string
	name               string // SQL: one or two columns that name a row, for rowName
	rowName            func(r Row) string
}

// A value in clear is named as the API names what it belongs to, where that has a name there.
var (
	byExecution = func(r Row) string { return "execution " + chargehand.ExecutionID(r.Bytes(0)).String() }
	byBatch     = func(r Row) string { return "batch " + chargehand.BatchID(r.Bytes(0)).String() }
	byOperation = func(r Row) string { return "operation " + chargehand.OperationID(r.Bytes(0)).String() }
	byTask      = func(r Row) string { return "human task " + chargehand.HumanTaskID(r.Bytes(0)).String() }
	byComment   = func(r Row) string { return "comment " + chargehand.HumanTaskID(r.Bytes(0)).String() }
	bySchedule  = func(r Row) string { return fmt.Sprintf("schedule %d", r.Int(0)) }
	byNumber    = func(r Row) string {
		return fmt.Sprintf("number %d in %s", r.Int(0), chargehand.Environment(r.Int(1)))
	}
	byDigest = func(r Row) string { return "sha256:" + hex.EncodeToString(r.Bytes(0)) }
)

func ofExecution(kind, table, column string) clearColumn {
	return clearColumn{kind, "t." + column, table + " t JOIN execution e ON e.no = t.execution", "e.id", byExecution}
}

// clearColumns are those that RefuseClear is about: all that may be sealed, but the changes of audit entries.
var clearColumns = []clearColumn{
	{kindInput, "input", "execution", "id", byExecution},
	{kindWaits, "waits", "execution", "id", byExecution},
	ofExecution(kindInput, "input", "data"),
	ofExecution(kindOutput, "outcome", "output"),
	ofExecution(kindFault, "outcome", "fault"),
	ofExecution(kindTimeline, "outcome", "timeline"),
	ofExecution(kindTimeline, "timeline_chunk", "data"),
	ofExecution(kindLog, "log_segment", "data"),
	ofExecution(kindJournal, "journal", "event"),
	ofExecution(kindCheckpoint, "checkpoint", "state"),
	ofExecution(kindReason, "outbox", "reason"),
	{kindBatch, "reason", "batch", "id", byBatch},
	{kindOperation, "reason", "operation", "id", byOperation},
	{kindItemDetail, "i.detail", "operation_item i JOIN operation o ON o.no = i.operation", "o.id", byOperation},
	{kindEvent, "data", "event", "number, environment", byNumber},
	{kindMatch, "state", "schedule_match", "schedule", bySchedule},
	{kindTaskTitle, "title", "human_task", "id", byTask},
	{kindTaskRequest, "request", "human_task", "id", byTask},
	{kindTaskAnswer, "answer", "human_task", "id", byTask},
	{kindTaskComment, "text", "human_comment", "id", byComment},
	{kindTaskDraft, "d.data", "human_draft d JOIN human_task h ON h.no = d.task", "h.id", byTask},
	{kindDefinition, "source", "definition", "digest", byDigest},
	{kindResources, "resources", "definition", "digest", byDigest},
}

// ClearRows lists values that are not sealed, at most limit of each column: what they are, and of which row. It reads
// every row, and needs no keys.
func (r *Reader) ClearRows(limit int) (found []string, err error) {
	for _, c := range clearColumns {
		query := `SELECT ` + c.name + ` FROM ` + c.from + ` WHERE length(` + c.column + `) > 0 AND substr(` + c.column + `, 1, 1) <> ?1 LIMIT ?2`
		err := r.c.Query(query, func(row Row) error {
			found = append(found, "the "+c.kind+" is not encrypted: "+c.rowName(row))
			return nil
		}, []byte{sealedMark}, int64(limit))
		if err != nil {
			return nil, fmt.Errorf("look for the %s in clear: %w", c.kind, err)
		}
	}
	err = r.c.Query(`SELECT digest FROM blob WHERE refs > 0 AND length(digest) = 32 LIMIT ?1`, func(row Row) error {
		found = append(found, "a content is not encrypted: "+byDigest(row))
		return nil
	}, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("look for contents in clear: %w", err)
	}
	return found, nil
}
