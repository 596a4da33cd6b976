package draft

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxTexts bounds the texts that Decode reads.
const MaxTexts = 4 * MaxControls

// The tokens of keys that are no names of properties: in a JSON pointer only 0 and 1 may follow a tilde.
const (
	entryToken       = "/~e" // and the number of the entry
	alternativeToken = "/~o" // and the number of the alternative
	nameToken        = "/~name"
)

// ErrTooMany is returned for more texts or entries than a form may have.
var ErrTooMany = errors.New("the form has too many fields or entries")

// Decode is what a person has entered into a form, from texts by the keys of its controls (Control.Values), such as
// those of a form that a browser sends. Of several texts of one key the last one counts, but of choices and files all
// do. A field without any text is as it is in base. Texts that belong to no field are left out.
// Errors: ErrTooMany.
func Decode(whole *form.Field, texts map[string][]string, base *Draft) (Draft, error) {
	root, count := &node{}, 0
	for key, values := range texts {
		if count += max(1, len(values)); count > MaxTexts {
			return Draft{}, ErrTooMany
		}
		if key == "" || key[0] == '/' {
			root.put(key, values)
		}
	}
	dec := decoder{fill: filler{left: maxDrafts}}
	d := dec.field(whole, root, base)
	if dec.fill.left < 0 {
		return Draft{}, ErrTooMany
	}
	return d, nil
}

// node is a tree of keys.
type node struct {
	values []string
	inside map[string]*node
}

// put adds texts. Keys that are deeper than any form are left out.
func (n *node) put(key string, values []string) {
	tokens := strings.Split(key, "/")[1:]
	if len(tokens) > 4*(form.MaxDepth+2) {
		return
	}
	for _, token := range tokens {
		next := n.inside[token]
		if next == nil {
			next = &node{}
			if n.inside == nil {
				n.inside = map[string]*node{}
			}
			n.inside[token] = next
		}
		n = next
	}
	n.values = append(n.values, values...)
}

// under is the node of a token; it may be nil, which has no texts.
func (n *node) under(token string) *node {
	if n == nil {
		return nil
	}
	return n.inside[token]
}

// last is the text that counts.
func (n *node) last() (string, bool) {
	if n == nil || len(n.values) == 0 {
		return "", false
	}
	return n.values[len(n.values)-1], true
}

type decoder struct{ fill filler }

func (dec *decoder) field(f *form.Field, n *node, base *Draft) Draft {
	if dec.fill.left--; dec.fill.left < 0 {
		return Draft{}
	}
	if n == nil {
		return *base
	}
	d := *base
	text, there := n.last()
	switch f.Kind {
	case form.Choice, form.Choices:
		if there {
			d.Chosen = dec.numbers(f, n)
		}
	case form.File, form.Files:
		if there {
			d.Files = files(f, n)
		}
	case form.Object, form.Tuple, form.List, form.Map:
		d.Inside = dec.inside(f, n, base, "")
		if entries := n.entries(); f.Items != nil && (there || len(entries) > 0) {
			d.Entries = dec.entries(f, n, entries)
		}
	case form.OneOf:
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(f.Fields) {
			d.Chosen = []int{i}
		}
		d.Inside = dec.inside(f, n, base, alternativeToken[1:])
	default:
		if there {
			d.Text = strings.ReplaceAll(text, "\r\n", "\n") // as browsers send it
		}
	}
	return d
}

// inside are the drafts of Fields. Those of alternatives have a token with their number, others their own.
func (dec *decoder) inside(f *form.Field, n *node, base *Draft, numbered string) []Draft {
	list := make([]Draft, 0, len(f.Fields))
	for i := range f.Fields {
		token := jsonpointer.Escape(lastToken(f.Fields[i].Pointer))
		if numbered != "" {
			token = numbered + strconv.Itoa(i)
		}
		before := Draft{}
		if i < len(base.Inside) {
			before = base.Inside[i]
		} else {
			before = dec.fill.start(&f.Fields[i])
		}
		list = append(list, dec.field(&f.Fields[i], n.under(token), &before))
	}
	return list
}

// entries are the numbers of entries that have texts, in order.
func (n *node) entries() (numbers []int) {
	for token := range n.inside {
		if text, ok := strings.CutPrefix(token, entryToken[1:]); ok {
			if i, err := strconv.Atoi(text); err == nil && i >= 0 && strconv.Itoa(i) == text {
				numbers = append(numbers, i)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (dec *decoder) entries(f *form.Field, n *node, numbers []int) []Entry {
	list := make([]Entry, 0, len(numbers))
	for _, i := range numbers {
		if dec.fill.left < 0 {
			return nil
		}
		inner := n.under(entryToken[1:] + strconv.Itoa(i))
		name, _ := inner.under(nameToken[1:]).last()
		start := dec.fill.start(f.Items)
		list = append(list, Entry{Name: name, Draft: dec.field(f.Items, inner, &start)})
	}
	return list
}

// numbers are those of options, each once. Empty texts only say that the field is there.
func (dec *decoder) numbers(f *form.Field, n *node) (numbers []int) {
	for _, text := range n.values {
		i, err := strconv.Atoi(text)
		if err == nil && i >= 0 && i < len(f.Options) && !slices.Contains(numbers, i) {
			numbers = append(numbers, i)
		}
	}
	if f.Kind == form.Choice && len(numbers) > 1 {
		return numbers[len(numbers)-1:]
	}
	return numbers
}

// files are references to files, as JSON. The server checks whether the person may read them.
func files(f *form.Field, n *node) (list []value.Value) {
	for _, text := range n.values {
		v, err := value.Parse([]byte(text), value.Limits{Bytes: 1 + len(text)})
		if _, isObject := v.(map[string]any); err == nil && isObject {
			list = append(list, v)
		}
	}
	if f.Kind == form.File && len(list) > 1 {
		return list[len(list)-1:]
	}
	return list
}
