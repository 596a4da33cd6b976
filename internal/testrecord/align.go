package testrecord

import (
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// listOf is the pointer of the list that a task is in: all of its pointer but index and name. A task of no list, such
// as a function, has a list of its own.
func listOf(reference string) string {
	name := strings.LastIndexByte(reference, '/')
	if name <= 0 {
		return reference
	}
	index := strings.LastIndexByte(reference[:name], '/')
	if index < 0 {
		return reference
	}
	if _, err := strconv.Atoi(reference[index+1 : name]); err != nil {
		return reference
	}
	return reference[:index]
}

// lists are the tasks of a plan by the pointers of their lists, in their order.
func lists(p *plan.Plan) (byList map[string][]*plan.Task, order []string) {
	byList = map[string][]*plan.Task{}
	seen := map[string]bool{}
	for _, t := range p.Tasks {
		if seen[t.Reference] || t.Remote {
			continue
		}
		seen[t.Reference] = true
		list := listOf(t.Reference)
		if byList[list] == nil {
			order = append(order, list)
		}
		byList[list] = append(byList[list], t)
	}
	return byList, order
}

// align finds which tasks of the recorded definition those of this one are: in lists that belong together, those with
// the same name, and of the others those that are written alike, in their order.
func (r *revision) align(was *revision) {
	oldLists, oldOrder := lists(was.plan)
	newLists, _ := lists(r.plan)
	r.toOld = map[string]string{}
	mapped := map[string]string{}   // tasks of this definition, by those of the recorded one
	for _, list := range oldOrder { // those around a list come before it
		mine := list
		for around := list; around != ""; {
			at := strings.LastIndexByte(around, '/')
			if at < 0 {
				break
			}
			if now, known := mapped[around]; known {
				mine = now + list[len(around):]
				break
			}
			around = around[:at]
		}
		for _, pair := range pairs(oldLists[list], newLists[mine]) {
			r.toOld[pair[1].Reference] = pair[0].Reference
			mapped[pair[0].Reference] = pair[1].Reference
			if pair[0].Name != pair[1].Name {
				r.renamed = append(r.renamed, Rename{*was.location(pair[0].Reference), *r.location(pair[1].Reference)})
			}
		}
	}
}

// pairs are the tasks of two lists that are the same.
func pairs(was, now []*plan.Task) (found [][2]*plan.Task) {
	named := map[string]*plan.Task{}
	for _, t := range now {
		named[nameOf(t)] = t
	}
	used := map[*plan.Task]bool{}
	var left []*plan.Task
	for _, t := range was {
		if same := named[nameOf(t)]; same != nil && !used[same] {
			used[same] = true
			found = append(found, [2]*plan.Task{t, same})
		} else {
			left = append(left, t)
		}
	}
	for _, t := range left {
		for _, other := range now {
			if !used[other] && t.Definition != nil && value.Equal(t.Definition, other.Definition) {
				used[other] = true
				found = append(found, [2]*plan.Task{t, other})
				break
			}
		}
	}
	return found
}

// nameOf is the last part of the pointer of a task: the name, or what a function is called.
func nameOf(t *plan.Task) string {
	return jsonpointer.Unescape(t.Reference[strings.LastIndexByte(t.Reference, '/')+1:])
}
