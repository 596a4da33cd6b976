package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// texts keeps what package store's texts are in PostgreSQL's words: ?1 is $1.
type texts struct {
	known   sync.Map // text → rewritten
	inserts sync.Map // text → numbered
}

// numbered is an INSERT of an execution with its number as one more argument, or empty if
// query is something else.
func (t *texts) numbered(query string) string {
	if n, ok := t.inserts.Load(query); ok {
		return n.(string)
	}
	const head = "INSERT INTO execution ("
	text := ""
	if strings.HasPrefix(query, head) && strings.HasSuffix(query, ")") {
		n := "?" + strconv.Itoa(rewrite(query).parameters+1)
		text = head + "no, " + strings.Replace(query[len(head):], "VALUES (", "VALUES ("+n+", ", 1)
	}
	t.inserts.Store(query, text)
	return text
}

type rewritten struct {
	text       string
	parameters int
}

func (t *texts) of(query string) rewritten {
	if r, ok := t.known.Load(query); ok {
		return r.(rewritten)
	}
	r := rewrite(ordered(query))
	t.known.Store(query, r)
	return r
}

// ordered repeats the end of a merge of ordered ranges in each of its parts.
//
// Package store writes them as selects joined by "UNION ALL" at the beginning of a line,
// and one ORDER BY … LIMIT at the end. SQLite merges the ranges as they are; PostgreSQL
// would read all of them and sort, unless each says that it is ordered.
func ordered(query string) string {
	const union = "\nUNION ALL "
	at := strings.LastIndex(query, "\nORDER BY ")
	if at < 0 || !strings.HasPrefix(query, "SELECT ") || !strings.Contains(query, union) {
		return query
	}
	end := query[at:]
	// What the whole passes over may all be in one part.
	partEnd := end
	if order, offset, found := strings.Cut(end, " LIMIT 1 OFFSET "); found {
		partEnd = order + " LIMIT " + offset + "::bigint + 1"
	}
	parts := strings.Split(query[:at], union)
	for i, part := range parts {
		parts[i] = "(" + part + partEnd + ")"
	}
	return strings.Join(parts, union) + end
}

// rewrite leaves quoted text alone.
func rewrite(query string) rewritten {
	var b strings.Builder
	b.Grow(len(query))
	most, quote := 0, byte(0)
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			n, end := 0, i+1
			for ; end < len(query) && query[end] >= '0' && query[end] <= '9' && n < 1<<16; end++ {
				n = 10*n + int(query[end]-'0')
			}
			if n > 0 {
				most = max(most, n)
				c = '$'
			}
		}
		b.WriteByte(c)
	}
	return rewritten{text: b.String(), parameters: most}
}
