package plan

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// instructionsPerStep is how many instructions of patterns take as long as a step of a validation: each takes 15 to 50
// ns, those of long texts and long patterns the most.
const instructionsPerStep = 32

// pattern is a regular expression that is compiled when it is first needed. Whether a text is one is known before.
type pattern struct {
	text    string
	budget  *budget
	prepare func() (*regexp.Regexp, patternCost)
}

// readPattern implements jsonschema.RegexpEngine. While a validation is under way the text is a value, of the format
// regex, and to read it costs steps.
func (b *budget) readPattern(text string) (jsonschema.Regexp, error) {
	if b.isValidating {
		// A class of Unicode has hundreds of ranges.
		b.spend(len(text) + 32*(strings.Count(text, `\p`)+strings.Count(text, `\P`)))
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return nil, err
	}
	return &pattern{text, b, sync.OnceValues(func() (*regexp.Regexp, patternCost) {
		return regexp.MustCompile(text), costOf(text)
	})}, nil
}

// String implements jsonschema.Regexp.
func (p *pattern) String() string { return p.text }

// MatchString implements jsonschema.Regexp. A match that costs more than is left of the budget does not begin.
func (p *pattern) MatchString(text string) bool {
	compiled, cost := p.prepare()
	p.budget.match(8 + cost.of(len(text)))
	return compiled.MatchString(text)
}

// patternCost is how many instructions a match goes through at most: at index n those of a text of n bytes. Behind its
// end, what the last period bytes have added is added again and again.
//
// A match follows all ways through the pattern at once, and goes through an instruction once for each character at
// most. All instructions for all characters are the most that is possible, but far more than what is common:
// `^[a-z]{1,255}$` has 512 instructions, of which three matter at a time. So the ways are followed that a text of any
// characters could take.
type patternCost struct {
	upTo   []int
	period int
}

func (c patternCost) of(bytes int) int {
	last := len(c.upTo) - 1
	if bytes <= last {
		return c.upTo[bytes]
	}
	before := last - c.period
	rounds, rest := (bytes-last)/c.period, (bytes-last)%c.period
	return c.upTo[last] + rounds*(c.upTo[last]-c.upTo[before]) + c.upTo[before+rest] - c.upTo[before]
}

// costOf is the cost of a text that is a pattern. It takes less time than to compile it: when the ways do not soon
// repeat, all instructions count.
func costOf(text string) patternCost {
	const most = 8 // of each instruction
	parsed, _ := syntax.Parse(text, syntax.Perl)
	program, _ := syntax.Compile(parsed.Simplify())
	w := &ways{program: program, seenAt: make([]int, len(program.Inst))}
	w.next()
	cost := patternCost{[]int{len(w.now)}, 0}
	// The ways repeat when they are the same as at an earlier character. One is compared with, a later one each time
	// that twice as many have followed (Brent's algorithm).
	known, power := append([]uint32(nil), w.now...), 1
	for {
		w.next()
		last := cost.upTo[len(cost.upTo)-1]
		cost.upTo, cost.period = append(cost.upTo, last+len(w.now)), cost.period+1
		if w.same(known) {
			return cost
		}
		if last > most*len(program.Inst) {
			return patternCost{append(cost.upTo, last+len(w.now)+len(program.Inst)), 1}
		}
		if cost.period == power {
			known, power, cost.period = append(known[:0], w.now...), 2*power, 0
		}
	}
}

// ways are the instructions that a match may have come to after some characters, whatever they are.
type ways struct {
	program *syntax.Prog
	now     []uint32
	seenAt  []int // by instruction: the character, from 1, at which it is in now
	at      int
	pending []uint32
}

// next moves on by one character. A match may begin at each.
func (w *ways) next() {
	w.pending = w.pending[:0]
	for _, i := range w.now {
		switch in := &w.program.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			w.pending = append(w.pending, in.Out)
		}
	}
	w.pending, w.now, w.at = append(w.pending, uint32(w.program.Start)), w.now[:0], w.at+1
	for len(w.pending) > 0 {
		i := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		if w.seenAt[i] == w.at {
			continue
		}
		w.seenAt[i], w.now = w.at, append(w.now, i)
		switch in := &w.program.Inst[i]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			w.pending = append(w.pending, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			w.pending = append(w.pending, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&syntax.EmptyBeginText == 0 || w.at == 1 {
				w.pending = append(w.pending, in.Out)
			}
		}
	}
}

// same reports whether the ways are the given ones.
func (w *ways) same(others []uint32) bool {
	if len(w.now) != len(others) {
		return false
	}
	for _, i := range others {
		if w.seenAt[i] != w.at {
			return false
		}
	}
	return true
}
