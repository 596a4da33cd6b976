package store

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// Conditions narrow a list of executions. Those that are zero do not.
type Conditions struct {
	ErrorCodes    []string
	Waits         []WaitKind             // what it waits for
	WaitsForSlot  bool                   // or for a slot
	Label         *Label                 // one that it has itself, by an index. Those of batches: see LabelledBatches
	Inherited     bool                   // Batch has Label, and its items too, but for those with another value
	Labels        []Label                // more of them, its own or of its batch; it has all
	Root          int64                  // of its tree; not the root itself
	RetryOf       chargehand.ExecutionID // it repeats this one
	Failure       *FaultMarks            // how it failed; Code is not looked at
	Causes        []string               // api, batch, schedule, event, parent, retry
	Versions      []string               // of the workflow
	MinDurationMs int64
	NowMs         int64                  // for the duration of those that run
	LowID, HighID chargehand.ExecutionID // ids between them; zero: any
	Search        string                 // id of the item, value of a label, or the last 8 digits of the id
}

// causes are the conditions of the kinds of causes.
var causes = map[string]string{
	"batch": `e.batch <> 0`, "parent": `(e.root <> 0 AND e.batch = 0)`, "schedule": `(e.cause = 1 AND e.batch = 0 AND e.root = 0 AND e.retry_of IS NULL)`,
	"event": `(e.cause = 2 AND e.batch = 0 AND e.root = 0 AND e.retry_of IS NULL)`,
	"retry": `(e.retry_of IS NOT NULL AND e.batch = 0 AND e.root = 0)`,
	"api":   `(e.batch = 0 AND e.root = 0 AND e.retry_of IS NULL AND e.cause = 0)`,
}

// listing builds the query of a list: ordered ranges of one index, merged, and what is looked at row by row.
type listing struct {
	args   []any
	common string   // of all ranges
	ranges []string // one for each value that comes before the id in the index
	rest   string   // looked at row by row
	from   string
	id     string
	order  string
	label  bool // the index is that of labels
}

func (l *listing) arg(v any) string {
	l.args = append(l.args, v)
	return fmt.Sprintf("?%d", len(l.args))
}

// in is a condition: one of the values.
func in[V any](l *listing, column string, values []V) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = l.arg(v)
	}
	return ` AND ` + column + ` IN (` + strings.Join(list, ", ") + `)`
}

// unique is a list without repetitions: each value is a range of an index.
func unique[V cmp.Ordered](list []V) []V {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Narrowed reports whether a list looks at rows that it does not return.
func (f *ExecutionFilter) Narrowed() bool {
	c := &f.Conditions
	indexed := len(c.ErrorCodes) > 0 || len(c.Waits) > 0 || c.WaitsForSlot || c.Label != nil || f.Related()
	return f.Failed || len(f.Phases) > 0 || f.StartedBy > 0 || len(c.Labels) > 0 || len(c.Causes) > 0 || len(c.Versions) > 0 ||
		c.MinDurationMs > 0 || c.Search != "" || c.WaitsForSlot || c.Failure != nil ||
		indexed && (f.Workflow != 0 || f.StartedBy != 0 || len(f.Statuses) > 0) ||
		c.Label != nil && (len(c.ErrorCodes) > 0 || len(c.Waits) > 0) || len(c.ErrorCodes) > 0 && len(c.Waits) > 0 ||
		f.Related() && (c.Label != nil || len(c.ErrorCodes) > 0 || len(c.Waits) > 0) || c.Root != 0 && !c.RetryOf.IsZero()
}

// Related reports whether a list is of those that belong to another execution: of its tree, or its retries.
func (f *ExecutionFilter) Related() bool { return f.Root != 0 || !f.RetryOf.IsZero() }

func (f *ExecutionFilter) listing(statuses []chargehand.Status) *listing {
	f.ErrorCodes, f.Waits, statuses = unique(f.ErrorCodes), unique(f.Waits), unique(statuses)
	l := &listing{from: `execution e`, id: `e.id`, order: `id`}
	low, high := f.bounds()
	l.args = []any{f.Account, int64(f.Environment), low, high, int64(f.Limit)}
	byLabel := f.Batch == 0 && !f.Related() && f.Label != nil
	if l.label = byLabel; byLabel {
		l.from, l.id = `label l JOIN execution e ON e.no = l.execution`, `l.id AS id`
		l.common = `l.account = ?1 AND l.environment = ?2 AND l.id >= ?3 AND l.id < ?4`
	} else {
		l.common = `e.account = ?1 AND e.environment = ?2 AND e.id >= ?3 AND e.id < ?4`
	}
	f.drive(l, statuses, byLabel)
	f.narrow(l)
	return l
}

// bounds is the range of ids, low included and high not.
func (f *ExecutionFilter) bounds() (low, high []byte) {
	low, high = idBounds(f.CreatedAfterMs, f.CreatedBeforeMs)
	up := func(to []byte) {
		if string(to) > string(low) {
			low = to
		}
	}
	down := func(to []byte) {
		if string(to) < string(high) {
			high = to
		}
	}
	if !f.HighID.IsZero() {
		up(f.LowID[:])
		down(append(f.HighID[:len(f.HighID):len(f.HighID)], 0))
	}
	if f.Batch != 0 && !f.Part {
		return low, high
	}
	switch {
	case f.Ascending && !f.After.ID.IsZero():
		up(append(f.After.ID[:len(f.After.ID):len(f.After.ID)], 0)) // the first one behind it
	case !f.After.ID.IsZero():
		down(f.After.ID[:])
	}
	switch {
	case f.Floor.IsZero():
	case f.Ascending:
		down(append(f.Floor[:len(f.Floor):len(f.Floor)], 0))
	default:
		up(f.Floor[:])
	}
	return low, high
}

// drive chooses the index: its ranges are read in order, and merged.
func (f *ExecutionFilter) drive(l *listing, statuses []chargehand.Status, byLabel bool) {
	numbers := make([]int64, len(statuses))
	for i, status := range statuses {
		numbers[i] = int64(status)
	}
	rows := func() { // the status is looked at row by row
		if len(statuses) < len(allStatuses) {
			l.rest += in(l, `+e.status`, numbers)
		}
		switch {
		case f.Workflow != 0 && byLabel: // the index of labels has it
			l.common += ` AND l.workflow = ` + l.arg(f.Workflow)
		case f.Workflow != 0:
			l.rest += ` AND +e.workflow = ` + l.arg(f.Workflow)
		}
	}
	switch {
	case f.Batch != 0:
		f.driveBatch(l)
	case !f.RetryOf.IsZero():
		l.ranges = []string{`e.retry_of = ` + l.arg(f.RetryOf[:]) + ` AND e.retry_of IS NOT NULL`}
		l.common = strings.ReplaceAll(l.common, `e.account`, `+e.account`)
		rows()
		return
	case f.Root != 0:
		l.ranges = []string{`e.root = ` + l.arg(f.Root) + ` AND e.root <> 0`}
		l.common = strings.ReplaceAll(l.common, `e.account`, `+e.account`)
		rows()
		return
	case byLabel:
		l.ranges = []string{`l.name = ` + l.arg(f.Label.Name) + ` AND l.value = ` + l.arg(f.Label.Value)}
		rows()
		return
	case len(f.ErrorCodes) > 0:
		for _, code := range f.ErrorCodes {
			l.ranges = append(l.ranges, `e.error_code = `+l.arg(code)+` AND e.error_code IS NOT NULL`)
		}
		rows()
		return
	case len(f.Waits) > 0 && !f.WaitsForSlot:
		for _, kind := range f.Waits {
			l.ranges = append(l.ranges, `e.parked = `+l.arg(int64(kind))+` AND e.parked <> 0`)
		}
		rows()
		return
	case f.Failed:
		l.ranges = []string{`e.error_code IS NOT NULL`}
		statuses = allStatuses // they have one, which the index does not have
		rows()
		return
	case f.Workflow != 0: // its index begins with the workflow
		l.common = strings.ReplaceAll(l.common, `e.account`, `+e.account`) + ` AND e.workflow = ` + l.arg(f.Workflow)
	}
	for _, status := range numbers {
		l.ranges = append(l.ranges, `e.status = `+l.arg(status))
	}
}

func (f *ExecutionFilter) driveBatch(l *listing) {
	l.common += ` AND e.batch = ` + l.arg(f.Batch) + ` AND e.batch <> 0`
	l.order = `item`
	switch {
	case f.After.ID.IsZero() || f.Part:
		l.common += ` AND e.item < ` + l.arg(int64(1<<62))
	case f.Ascending:
		l.common += ` AND e.item > ` + l.arg(f.After.Item)
	default:
		l.common += ` AND e.item < ` + l.arg(f.After.Item)
	}
}

// narrow adds what is looked at row by row.
func (f *ExecutionFilter) narrow(l *listing) {
	if (f.Batch == 0 || f.Part) && f.StartedBy != 0 {
		l.rest += ` AND e.started_by = ` + l.arg(f.StartedBy)
		if f.StartedBy < 0 && f.Batch == 0 && !f.Failed { // what persons have started has an index
			l.rest += ` AND e.started_by < 0`
		}
	}
	if f.Batch == 0 && f.Workflow == 0 {
		for _, no := range f.Except {
			l.rest += ` AND +e.workflow <> ` + l.arg(no)
		}
	}
	if len(f.Phases) > 0 {
		phases := make([]int64, len(f.Phases))
		for i, phase := range f.Phases {
			phases[i] = int64(phase)
		}
		l.rest += in(l, `e.phase`, phases)
	}
	if f.Failed { // the concatenation keeps the indexes of failures from lists that have another one
		l.rest += ` AND (e.error_code || '') IS NOT NULL AND +e.phase <> ` + l.arg(int64(chargehand.Cancelled))
	}
	c := &f.Conditions
	if len(c.ErrorCodes) > 0 {
		l.rest += in(l, `(e.error_code || '')`, c.ErrorCodes)
	}
	f.narrowWaits(l)
	if f.Batch != 0 && !c.RetryOf.IsZero() {
		l.rest += ` AND CASE e.retry_of WHEN ` + l.arg(c.RetryOf[:]) + ` THEN 1 ELSE 0 END = 1` // not by its index
	}
	if c.Root != 0 && !c.RetryOf.IsZero() {
		l.rest += ` AND +e.root = ` + l.arg(c.Root)
	}
	if c.Failure != nil {
		l.rest += ` AND +e.phase = ` + l.arg(int64(chargehand.Faulted)) + ` AND e.error_hash = ` + l.arg(c.Failure.Hash)
		if c.Failure.At == "" {
			l.rest += ` AND e.error_at IS NULL`
		} else {
			l.rest += ` AND e.error_at = ` + l.arg(c.Failure.At)
		}
	}
	switch {
	case c.Label != nil && f.Batch != 0 && c.Inherited:
		l.rest += ` AND NOT EXISTS (SELECT 1 FROM label o WHERE o.execution = e.no AND o.name = ` + l.arg(c.Label.Name) + ` AND o.value <> ` + l.arg(c.Label.Value) + `)`
	case c.Label != nil && (f.Batch != 0 || f.Related()):
		l.rest += ` AND ` + l.labelled(*c.Label)
	}
	for _, label := range c.Labels {
		l.rest += ` AND ` + l.labelled(label)
	}
	if len(c.Causes) > 0 {
		any := make([]string, len(c.Causes))
		for i, kind := range c.Causes {
			any[i] = causes[kind]
		}
		l.rest += ` AND (` + strings.Join(any, ` OR `) + `)`
	}
	if len(c.Versions) > 0 {
		l.rest += ` AND EXISTS (SELECT 1 FROM revision v WHERE v.no = e.revision` + in(l, `v.version`, c.Versions) + `)`
	}
	if c.MinDurationMs > 0 {
		l.rest += ` AND e.started_ms <> 0 AND CASE WHEN e.finished_ms <> 0 THEN e.finished_ms ELSE ` + l.arg(c.NowMs) + ` END - e.started_ms >= ` + l.arg(c.MinDurationMs)
	}
	if c.Search != "" {
		text := l.arg(c.Search)
		any := `e.item_id = ` + text + ` OR EXISTS (SELECT 1 FROM label s WHERE s.execution = e.no AND s.value = ` + text + `)` +
			` OR EXISTS (SELECT 1 FROM batch_label s WHERE s.batch = e.batch AND s.value = ` + text + `)`
		if tail, err := hex.DecodeString(c.Search); err == nil && len(tail) == 4 {
			any += ` OR substr(e.id, 13, 4) = ` + l.arg(tail)
		}
		l.rest += ` AND (` + any + `)`
	}
}

func (f *ExecutionFilter) narrowWaits(l *listing) {
	kinds := make([]int64, len(f.Waits))
	for i, kind := range f.Waits {
		kinds[i] = int64(kind)
	}
	switch {
	case f.WaitsForSlot && len(kinds) > 0:
		l.rest += ` AND (+e.state IN (1, 2) OR ` + strings.TrimPrefix(in(l, `+e.parked`, kinds), ` AND `) + `)`
	case f.WaitsForSlot:
		l.rest += ` AND +e.state IN (1, 2)`
	case len(kinds) > 0:
		l.rest += in(l, `+e.parked`, kinds)
	}
}

// labelled is a condition: the execution has a label, its own or, where it has none of that name, that of its batch.
func (l *listing) labelled(label Label) string {
	name, value := l.arg(label.Name), l.arg(label.Value)
	return `(EXISTS (SELECT 1 FROM label o WHERE o.execution = e.no AND o.name = ` + name + ` AND o.value = ` + value + `)` +
		` OR EXISTS (SELECT 1 FROM batch_label b WHERE b.batch = e.batch AND b.name = ` + name + ` AND b.value = ` + value + `)` +
		` AND NOT EXISTS (SELECT 1 FROM label o WHERE o.execution = e.no AND o.name = ` + name + `))`
}

// merge is the query of the ranges. columns are selected.
func (l *listing) merge(columns, rest, end string, ascending bool) (string, []any) {
	var b strings.Builder
	for i, one := range l.ranges {
		if i > 0 {
			b.WriteString("\nUNION ALL ")
		}
		fmt.Fprintf(&b, "SELECT %s FROM %s WHERE %s AND %s%s", columns, l.from, l.common, one, rest)
	}
	b.WriteString("\nORDER BY " + l.order)
	if !ascending {
		b.WriteString(" DESC")
	}
	b.WriteString(end)
	return b.String(), l.args
}

func (f *ExecutionFilter) query(statuses []chargehand.Status) (string, []any) {
	l := f.listing(statuses)
	columns := strings.Replace(executionColumns, `e.id`, l.id, 1)
	return l.merge(columns, l.rest, ` LIMIT ?5`, f.Ascending)
}

// Examined returns the id of the n-th execution that a list would look at, whatever is looked at row by row: as Floor
// it keeps a list from looking at more. found is false if there are fewer. It reads an index alone. Batch is not used.
func (r *Reader) Examined(f ExecutionFilter, n int) (id chargehand.ExecutionID, found bool, err error) {
	statuses := statusesOf(f.Statuses, f.Phases)
	if len(statuses) == 0 || n < 1 {
		return id, false, nil
	}
	if f.StartedBy > 0 || f.Failed { // has no index: the rows are among all
		f.StartedBy = 0
	}
	f.Limit = n - 1
	f.ErrorCodes, f.Waits, statuses = unique(f.ErrorCodes), unique(f.Waits), unique(statuses)
	l := &listing{from: `execution e`, id: `e.id`, order: `id`}
	low, high := f.bounds()
	l.args = []any{f.Account, int64(f.Environment), low, high, int64(f.Limit)}
	byLabel := !f.Related() && f.Label != nil
	if byLabel {
		l.from, l.id = `label l`, `l.id AS id`
		l.common = `l.account = ?1 AND l.environment = ?2 AND l.id >= ?3 AND l.id < ?4`
	} else {
		l.common = `e.account = ?1 AND e.environment = ?2 AND e.id >= ?3 AND e.id < ?4`
	}
	bare := f
	if byLabel || f.Related() || f.Failed || len(f.ErrorCodes) > 0 || len(f.Waits) > 0 && !f.WaitsForSlot {
		bare.Workflow, statuses = 0, allStatuses // they are looked at row by row
	}
	bare.drive(l, statuses, byLabel)
	if f.StartedBy < 0 {
		l.common += ` AND e.started_by = ` + l.arg(f.StartedBy) + ` AND e.started_by < 0`
		if byLabel {
			l.from = `label l JOIN execution e ON e.no = l.execution`
		}
	}
	query, args := l.merge(l.id, ``, ` LIMIT 1 OFFSET ?5`, f.Ascending)
	err = r.c.Query(query, func(row Row) error {
		scanID(row, 0, &id)
		found = true
		return nil
	}, args...)
	if err != nil {
		return id, false, fmt.Errorf("count executions to list: %w", err)
	}
	return id, found, nil
}

// LabelledBatch is a batch with a label, which its items have.
type LabelledBatch struct {
	No       int64
	Total    int64
	Workflow int64
	Last     chargehand.ExecutionID // its last item
}

// LabelledBatches reads up to limit batches with a label, the one with the newest last item first. Those whose items
// all come after an execution in the time of their creation are left out (below; zero: none).
func (r *Reader) LabelledBatches(account int64, env chargehand.Environment, label Label, below chargehand.ExecutionID, limit int) (list []LabelledBatch, err error) {
	_, until := idBounds(0, 0)
	if !below.IsZero() { // items have ids of the millisecond of their batch, or of a later one
		_, until = idBounds(0, below.Milli()+1)
	}
	err = r.c.Query(`SELECT l.batch, b.total, l.last_id, b.workflow FROM batch_label l JOIN batch b ON b.no = l.batch
 WHERE l.account = ?1 AND l.environment = ?2 AND l.name = ?3 AND l.value = ?4 AND b.id < ?6 ORDER BY l.last_id DESC LIMIT ?5`, func(row Row) error {
		one := LabelledBatch{No: row.Int(0), Total: row.Int(1), Workflow: row.Int(3)}
		scanID(row, 2, &one.Last)
		list = append(list, one)
		return nil
	}, account, int64(env), label.Name, label.Value, int64(limit), until)
	if err != nil {
		return nil, fmt.Errorf("read labelled batches: %w", err)
	}
	return list, nil
}
