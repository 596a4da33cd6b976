package store

import (
	"fmt"
	"strconv"
	"strings"
)

// groupSizes are the lengths of the lists of numbers in statements. A list is filled up to
// the next one, so that few texts have to be prepared.
var groupSizes = [...]int{1, 8, 40, 200}

// inGroups calls run with the placeholders ?1, ?2 … of a list, and its arguments, until all
// numbers were in one. Lists are filled up with 0, which no row has as its number.
func inGroups(nos []int64, run func(list string, args []any) error) error {
	return groups(len(nos), func(from, n, size int) error {
		args := make([]any, size, size+4)
		for i := range args {
			args[i] = int64(0)
			if i < n {
				args[i] = nos[from+i]
			}
		}
		return run(placeholders(size), args)
	})
}

// groups cuts count things into groups of n that take a list of size.
func groups(count int, run func(from, n, size int) error) error {
	for from := 0; from < count; {
		n := min(count-from, groupSizes[len(groupSizes)-1])
		size := n
		for _, s := range groupSizes {
			if s >= n {
				size = s
				break
			}
		}
		if err := run(from, n, size); err != nil {
			return err
		}
		from += n
	}
	return nil
}

func placeholders(n int) string { return placeholdersFrom(1, n) }

// placeholdersFrom lists n placeholders, of which the first has the given number.
func placeholdersFrom(first, n int) string {
	var b strings.Builder
	for i := first; i < first+n; i++ {
		if i > first {
			b.WriteByte(',')
		}
		b.WriteByte('?')
		b.WriteString(strconv.Itoa(i))
	}
	return b.String()
}

// exists reports whether a query has a row.
func (r *Reader) exists(what, query string, args ...any) (found bool, err error) {
	err = r.c.Query(query, func(Row) error {
		found = true
		return nil
	}, args...)
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return found, nil
}
