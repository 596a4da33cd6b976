package postgres

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
)

// Statements of the same text that travel together are sent as one, for many rows: PostgreSQL begins and ends each
// statement, which costs more than the row that it writes. Only those are merged whose order does not matter: INSERTs
// of a row each between which nothing else was asked for, because no table refers to another one and none has triggers;
// and the statements of Each. One that stands for many and fails does not tell which of them has failed. So groups with
// savepoints merge nothing; others run again with savepoints when one of their statements is refused.

// leastMerged is from how many on entries are merged.
const leastMerged = 3

// arrayOf is the type of an array of a type.
var arrayOf = map[uint32]uint32{
	typeBool: 1000, typeBytes: 1001, typeInt2: 1005, typeInt4: 1007, typeText: 1009, typeText2: 1015, typeInt8: 1016, typeFloat8: 1022,
}

// merge replaces entries of the same statement by one.
func (s *session) merge(pending []*entry) ([]*entry, error) {
	if !s.merging || len(pending) < leastMerged {
		return pending, nil
	}
	sent := make([]*entry, 0, len(pending))
	for from := 0; from < len(pending); {
		to := from
		for to < len(pending) && s.mayMerge(pending[to]) && pending[to].each == pending[from].each {
			to++
		}
		if to == from {
			sent = append(sent, pending[from])
			from++
			continue
		}
		var err error
		if sent, err = s.mergeRun(sent, pending[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	return sent, nil
}

// mergeRun appends entries whose order does not matter, those of the same statement as one where they are many.
func (s *session) mergeRun(sent, run []*entry) ([]*entry, error) {
	var order []*statement
	same := map[*statement][]*entry{}
	for _, e := range run {
		if same[e.statement] == nil {
			order = append(order, e.statement)
		}
		same[e.statement] = append(same[e.statement], e)
	}
	for _, st := range order {
		entries := same[st]
		if len(entries) < leastMerged || len(s.statements) >= maxStatements {
			sent = append(sent, entries...)
			continue
		}
		one, err := s.one(st, entries)
		if err != nil {
			return nil, err
		}
		sent = append(sent, one)
	}
	return sent, nil
}

// one makes an entry that stands for many of a statement.
func (s *session) one(st *statement, entries []*entry) (*entry, error) {
	text := s.merged[st]
	many := s.statements[text]
	if many == nil {
		types := make([]uint32, len(st.ParamOIDs))
		for i, t := range st.ParamOIDs {
			types[i] = arrayOf[t]
		}
		var err error
		if many, err = s.prepare(text, text, types); err != nil {
			return nil, err
		}
	}
	values := make([][]byte, len(st.ParamOIDs))
	for i, t := range st.ParamOIDs {
		values[i] = array(t, entries, i)
	}
	return &entry{text: text, statement: many, values: values, what: entries[0].what, owner: entries[0].owner, parts: entries}, nil
}

// mayMerge reports whether an entry may be sent with others of its statement as one.
func (s *session) mayMerge(e *entry) bool {
	if e.statement == nil {
		return false
	}
	text, known := s.merged[e.statement]
	if !known {
		text = manyText(e.text)
		for _, t := range e.statement.ParamOIDs {
			if arrayOf[t] == 0 {
				text = ""
			}
		}
		if text != "" { // one for each choice of types
			text = "/* " + strings.Trim(strings.ReplaceAll(variant("", e.statement.ParamOIDs), "\x00", " "), " ") + " */ " + text
		}
		s.merged[e.statement] = text
	}
	// An INSERT that may update a row ends otherwise: several of them may be for the same row.
	return text != "" && (e.each || strings.HasPrefix(e.text, "INSERT ") && strings.HasSuffix(e.text, ")"))
}

var (
	plainInsert = regexp.MustCompile(`^(INSERT INTO [a-z_]+ \([a-z0-9_,\s]+\)\s+)VALUES \(([^()]*)\)$`)
	upsert      = regexp.MustCompile(`^(INSERT INTO [a-z_]+ \([a-z0-9_,\s]+\)\s+)VALUES \(([^()]*)\)(\s+ON CONFLICT \([a-z_,\s]+\) DO UPDATE SET [a-z_=.,\s]+)$`)
	plainUpdate = regexp.MustCompile(`^(UPDATE [a-z_]+ SET [^()]*) (WHERE [^()]*)$`)
	parameter   = regexp.MustCompile(`\$(\d+)`)
)

// manyText is the text of a statement for rows of arrays; empty if it has none.
func manyText(text string) string {
	if strings.Contains(text, "'") || strings.Contains(text, "RETURNING") {
		return ""
	}
	most := 0
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	if most == 0 {
		return ""
	}
	arrays, columns := make([]string, most), make([]string, most)
	for i := range most {
		arrays[i], columns[i] = "$"+strconv.Itoa(i+1), "c"+strconv.Itoa(i+1)
	}
	from := "FROM unnest(" + strings.Join(arrays, ", ") + ") AS v (" + strings.Join(columns, ", ") + ")"
	of := func(text string) string { return parameter.ReplaceAllString(text, "v.c$1") }
	if m := plainInsert.FindStringSubmatch(text); m != nil {
		return m[1] + "SELECT " + of(m[2]) + " " + from
	}
	if m := upsert.FindStringSubmatch(text); m != nil {
		return m[1] + "SELECT " + of(m[2]) + " " + from + m[3]
	}
	if m := plainUpdate.FindStringSubmatch(text); m != nil {
		return of(m[1]) + " " + from + " " + of(m[2])
	}
	return ""
}

// array is a parameter of entries as an array, in PostgreSQL's binary form.
func array(element uint32, entries []*entry, at int) []byte {
	size, nulls := 20, uint32(0)
	for _, e := range entries {
		if size += 4 + len(e.values[at]); e.values[at] == nil {
			nulls = 1
		}
	}
	b := make([]byte, 0, size)
	b = binary.BigEndian.AppendUint32(b, 1) // dimensions
	b = binary.BigEndian.AppendUint32(b, nulls)
	b = binary.BigEndian.AppendUint32(b, element)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	b = binary.BigEndian.AppendUint32(b, 1) // the first index
	for _, e := range entries {
		v := e.values[at]
		if v == nil {
			b = binary.BigEndian.AppendUint32(b, 1<<32-1)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	return b
}

// first is the entry itself, or the first of those that it stands for.
func (e *entry) first() *entry {
	if e.parts != nil {
		return e.parts[0]
	}
	return e
}

// share gives the answer to those that an entry stands for: the count of rows to the first of them.
func (e *entry) share() {
	for i, part := range e.parts {
		if part.result = e.result; i > 0 {
			part.result = &result{tag: e.result.tag, wrote: e.result.wrote}
		}
	}
}
