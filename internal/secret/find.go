package secret

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

// anchorBytes is how much of a form is looked for. Longer forms are compared from there on,
// so that the index stays small whatever the secrets are.
const anchorBytes = 32

// wordBytes is the length of the shortest part of base64 that is looked for inside of longer
// data: shorter ones are found there by chance.
const wordBytes = 8

// forms lists what texts look like in data. Decoding shows more (decoded), but not where a
// stray mark stands before an escape, so the usual escapes are here too.
func forms(texts []string) []string {
	var list []string
	for _, text := range texts {
		quoted := value.Append(nil, text)
		list = append(list, text, url.QueryEscape(text), url.PathEscape(text), string(quoted[1:len(quoted)-1]))
		for _, encoding := range [...]*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			list = append(list, encoding.EncodeToString([]byte(text)))
		}
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for shift := range 3 {
				if word := inner(encoding, text, shift); len(word) >= wordBytes {
					list = append(list, word)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// inner is what base64 makes of a text that begins shift bytes behind a multiple of three: the
// characters that depend on nothing but the text.
func inner(encoding *base64.Encoding, text string, shift int) string {
	word := encoding.EncodeToString(append(make([]byte, shift), text...))
	word = word[(8*shift+5)/6:]
	if (shift+len(text))%3 != 0 {
		word = word[:len(word)-1]
	}
	return word
}

// index finds forms in a text in one pass: the automaton of Aho and Corasick over their
// anchors. It is immutable.
type index struct {
	forms  []string
	nodes  []indexNode
	edges  map[uint64]int32 // by node and byte
	starts [1 << 16 / 64]uint64
}

type indexNode struct {
	fail  int32 // longest proper suffix of this node that is a node
	found int32 // nearest node on the way along fail, this one included, with forms; 0: none
	depth int32
	forms []int32 // those whose anchor ends here
}

func newIndex(forms []string) *index {
	x := &index{forms: forms, nodes: make([]indexNode, 1), edges: map[uint64]int32{}}
	for i, form := range forms {
		x.insert(int32(i), form[:min(len(form), anchorBytes)])
	}
	x.link()
	return x
}

func (x *index) insert(form int32, anchor string) {
	pair := uint(anchor[0])<<8 | uint(anchor[1])
	x.starts[pair/64] |= 1 << (pair % 64)
	at := int32(0)
	for i := range len(anchor) {
		edge := uint64(at)<<8 | uint64(anchor[i])
		next, ok := x.edges[edge]
		if !ok {
			next = int32(len(x.nodes))
			x.nodes = append(x.nodes, indexNode{depth: int32(i) + 1})
			x.edges[edge] = next
		}
		at = next
	}
	x.nodes[at].forms = append(x.nodes[at].forms, form)
}

// link sets fail and found, shallow nodes first, because deeper ones refer to them.
func (x *index) link() {
	type step struct {
		edge uint64
		node int32
	}
	steps := make([]step, 0, len(x.edges))
	for edge, node := range x.edges {
		steps = append(steps, step{edge, node})
	}
	slices.SortFunc(steps, func(a, b step) int { return int(x.nodes[a.node].depth - x.nodes[b.node].depth) })
	for _, s := range steps {
		parent, n := int32(s.edge>>8), &x.nodes[s.node]
		if parent != 0 {
			n.fail = x.next(x.nodes[parent].fail, byte(s.edge))
		}
		if n.found = x.nodes[n.fail].found; n.forms != nil {
			n.found = s.node
		}
	}
}

// next is the node after a byte.
func (x *index) next(at int32, b byte) int32 {
	for {
		if next, ok := x.edges[uint64(at)<<8|uint64(b)]; ok {
			return next
		}
		if at == 0 {
			return 0
		}
		at = x.nodes[at].fail
	}
}

// scan adds to found where forms are in text. It returns how many bytes at the end of the text are the beginning of a
// form, as far as an anchor tells.
func (x *index) scan(text string, found *cover) (open int) {
	var ends []int // of each form: how far it was compared
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 {
			for ; i+1 < len(text); i++ {
				if pair := uint(text[i])<<8 | uint(text[i+1]); x.starts[pair/64]&(1<<(pair%64)) != 0 {
					break
				}
			}
		}
		if depth := int(x.nodes[at].depth); depth >= MinTextBytes && cut(text[i:]) {
			found.add(i-depth, i)
		}
		at = x.next(at, text[i])
		for n := x.nodes[at].found; n != 0; n = x.nodes[x.nodes[n].fail].found {
			from := i + 1 - int(x.nodes[n].depth)
			for _, form := range x.nodes[n].forms {
				to := i + 1
				if whole := x.forms[form]; len(whole) > anchorBytes {
					if ends == nil {
						ends = make([]int, len(x.forms))
					}
					// Where an earlier comparison went further this one continues there: at worst
					// it covers too much, and no byte is compared twice with the same form.
					to = max(to, min(ends[form], from+len(whole)))
					for to < len(text) && to-from < len(whole) && text[to] == whole[to-from] {
						to++
					}
					ends[form] = max(ends[form], to)
				}
				found.add(from, to)
			}
		}
	}
	return int(x.nodes[at].depth)
}

// cut reports whether text begins with an ellipsis, as previews of long values end.
func cut(text string) bool {
	switch text[0] {
	case '.', ' ':
		return strings.HasPrefix(text, "...") || strings.HasPrefix(text, " ...")
	case 0xe2:
		return strings.HasPrefix(text, "…")
	}
	return false
}

type span struct{ from, to int }

// cover is a set of disjoint spans, ascending. Spans are added in the order of where they are found to
// end or begin, not of both.
type cover struct{ spans []span }

func (c *cover) add(from, to int) {
	for n := len(c.spans); n > 0; n-- {
		last := c.spans[n-1]
		if last.to < from {
			break
		}
		from, to = min(from, last.from), max(to, last.to)
		c.spans = c.spans[:n-1]
	}
	c.spans = append(c.spans, span{from, to})
}
