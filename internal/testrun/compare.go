package testrun

import (
	"strconv"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// maxDifferences bounds what is shown of one expectation.
const maxDifferences = 20

// difference is a place where a value is not as expected.
type difference struct {
	path            []string // keys and indexes
	want, got       value.Value
	hasWant, hasGot bool
}

// subset lists where got lacks what want has: of objects, the keys of want; lists must be as long, item by item.
func subset(want, got value.Value) []difference {
	var d differ
	d.compare(nil, want, got)
	return d.found
}

// exact lists where two values differ.
func exact(want, got value.Value) []difference {
	d := differ{whole: true}
	d.compare(nil, want, got)
	return d.found
}

type differ struct {
	whole bool
	found []difference
}

func (d *differ) add(path []string, one difference) {
	if len(d.found) < maxDifferences {
		one.path = append([]string(nil), path...)
		d.found = append(d.found, one)
	}
}

func (d *differ) compare(path []string, want, got value.Value) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range value.SortedKeys(w) {
			at := append(path, key)
			inner, has := g[key]
			if !has {
				d.add(at, difference{want: w[key], hasWant: true})
				continue
			}
			d.compare(at, w[key], inner)
		}
		if d.whole {
			for _, key := range value.SortedKeys(g) {
				if _, has := w[key]; !has {
					d.add(append(path, key), difference{got: g[key], hasGot: true})
				}
			}
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			d.compare(append(path, strconv.Itoa(i)), w[i], g[i])
		}
		return
	default:
		if value.Equal(want, got) {
			return
		}
	}
	d.add(path, difference{want: want, got: got, hasWant: true, hasGot: true})
}

// failures are those of an expectation whose value has a position in the test file.
func (o *outcome) failures(name string, at testfile.Position, found []difference) (all []Failure) {
	for _, d := range found {
		expectation, pointer := name, at.Pointer
		for _, token := range d.path {
			if _, err := strconv.Atoi(token); err == nil {
				expectation += "[" + token + "]"
			} else {
				expectation += "." + token
			}
			pointer += "/" + jsonpointer.Escape(token)
		}
		position := at
		if at.Pointer != "" {
			position = o.suite.file.Position(pointer)
		}
		all = append(all, Failure{Expectation: expectation, At: position, Want: d.want, Got: d.got, HasWant: d.hasWant, HasGot: d.hasGot})
	}
	return all
}

func mismatch(name string, at testfile.Position, want, got value.Value, note string) Failure {
	return Failure{Expectation: name, At: at, Want: want, Got: got, HasWant: true, HasGot: true, Note: note}
}
