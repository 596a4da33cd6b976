package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// countedAtOnce bounds the entries of lists that one count compares with each other.
	countedAtOnce = 20_000
	// fewWithout is the most tasks that are left out of a count that does not compare lists.
	fewWithout = 2_000
)

// CountHumanTasks counts the open and claimed tasks of an account and environment, up to limit. Of the filter, it
// heeds Candidates, Without, Workflows, Others and DueBeforeMs. more: there may be more than n, because limit was
// reached or because long lists have too many tasks in common to compare them whole.
func (r *Reader) CountHumanTasks(f TaskFilter, limit int) (n int64, more bool, err error) {
	if f.Workflows != nil && len(f.Workflows) == 0 || f.Candidates != nil && len(f.Candidates) == 0 {
		return 0, false, nil
	}
	if f.Candidates == nil {
		n, err = r.countTasks(&f, limit)
		return n, n >= int64(limit), err
	}
	return r.countCandidates(&f, int64(limit))
}

// countTasks counts tasks in whatever lists they are.
func (r *Reader) countTasks(f *TaskFilter, limit int) (int64, error) {
	q := &taskQuery{}
	most := q.arg(int64(limit))
	q.add("h.account = " + q.arg(f.Account) + " AND h.environment = " + q.arg(int64(f.Environment)) + " AND h.ended_ms = 0")
	if f.Workflows != nil {
		q.in("h.workflow", f.Workflows)
	}
	if len(f.Others) > 0 {
		q.notIn("h.workflow", f.Others)
	}
	if f.DueBeforeMs != 0 {
		q.add("h.due_ms < " + q.arg(f.DueBeforeMs))
	}
	return r.count("count human tasks", `SELECT COUNT(*) FROM (SELECT 1 FROM human_task h WHERE `+strings.Join(q.where, ` AND `)+` LIMIT `+most+`) x`, q.args...)
}

// countCandidates counts the tasks in the lists of candidates. The lengths of the lists alone often tell how many there
// are; where they do not, the lists are compared.
func (r *Reader) countCandidates(f *TaskFilter, limit int64) (n int64, more bool, err error) {
	without, leftOut, _, err := r.listsOf(f, f.Without, fewWithout+1)
	if err != nil {
		return 0, false, err
	}
	most := limit // of one list: then so many are left without those that are left out
	if leftOut <= fewWithout {
		most += leftOut
	}
	lists, sum, longest, err := r.listsOf(f, f.Candidates, most)
	switch {
	case err != nil || len(lists) == 0:
		return 0, false, err
	case leftOut <= fewWithout && longest == most:
		return limit, true, nil
	case len(without) == 0 && len(lists) == 1:
		return sum, false, nil
	}
	n, more, err = r.compareLists(f, lists, without)
	if len(without) == 0 {
		n = max(n, longest)
	}
	return min(n, limit), more || n >= limit, err
}

// listsOf finds the candidates whose lists have an entry, and counts up to most entries of each.
func (r *Reader) listsOf(f *TaskFilter, candidates []TaskCandidate, most int64) (lists []TaskCandidate, sum, longest int64, err error) {
	for _, c := range candidates {
		q := &taskQuery{}
		limit := q.arg(most)
		q.candidate(f, c)
		n, err := r.count("count human tasks of a candidate",
			`SELECT COUNT(*) FROM (SELECT 1 FROM human_candidate c WHERE `+strings.Join(q.where, ` AND `)+` LIMIT `+limit+`) x`, q.args...)
		if err != nil {
			return nil, 0, 0, err
		}
		if n > 0 {
			lists, sum, longest = append(lists, c), sum+n, max(longest, n)
		}
	}
	return lists, sum, longest, nil
}

// compareLists counts the tasks that are in one of some lists and in none of others. more: some lists were not read to
// their ends, and n counts the tasks up to there.
func (r *Reader) compareLists(f *TaskFilter, lists, without []TaskCandidate) (n int64, more bool, err error) {
	most := max(1, countedAtOnce/(len(lists)+len(without)))
	read := func(candidates []TaskCandidate) (keys [][]TaskKey, err error) {
		for _, c := range candidates {
			list, err := r.taskKeys(f, c, most)
			if err != nil {
				return nil, err
			}
			keys = append(keys, list)
		}
		return keys, nil
	}
	in, err := read(lists)
	if err != nil {
		return 0, false, err
	}
	out, err := read(without)
	if err != nil {
		return 0, false, err
	}
	n, more = countKeys(in, out, most)
	return n, more, nil
}

// countKeys counts the keys that are in one of some lists and in none of others. A list with most keys may have more:
// what comes behind its last key is not counted.
func countKeys(in, out [][]TaskKey, most int) (n int64, more bool) {
	var end TaskKey // up to which all lists are known
	for _, list := range slices.Concat(in, out) {
		if len(list) < most {
			continue
		}
		if last := list[len(list)-1]; !more || last.compare(end) < 0 {
			end, more = last, true
		}
	}
	all := func(lists [][]TaskKey) []TaskKey {
		keys := slices.Concat(lists...)
		slices.SortFunc(keys, TaskKey.compare)
		return slices.Compact(keys)
	}
	others := all(out)
	for _, key := range all(in) {
		if more && key.compare(end) > 0 {
			break
		}
		if _, found := slices.BinarySearchFunc(others, key, TaskKey.compare); !found {
			n++
		}
	}
	return n, more
}

func (k TaskKey) compare(other TaskKey) int {
	return cmp.Or(cmp.Compare(k.Value, other.Value), cmp.Compare(k.No, other.No))
}

// taskKeys reads the first tasks of the list of a candidate, by their due times if the filter has one. A task has the
// same key in each list.
func (r *Reader) taskKeys(f *TaskFilter, c TaskCandidate, limit int) (keys []TaskKey, err error) {
	q := &taskQuery{}
	q.candidate(f, c)
	columns, order := `0, c.task`, `c.task`
	if f.DueBeforeMs != 0 {
		columns, order = `c.due_ms, c.task`, `c.due_ms, c.task`
	}
	err = r.c.Query(`SELECT `+columns+` FROM human_candidate c WHERE `+strings.Join(q.where, ` AND `)+` ORDER BY `+order+` LIMIT `+q.arg(int64(limit)), func(row Row) error {
		keys = append(keys, TaskKey{row.Int(0), row.Int(1)})
		return nil
	}, q.args...)
	if err != nil {
		return nil, fmt.Errorf("read the human tasks of a candidate: %w", err)
	}
	return keys, nil
}
