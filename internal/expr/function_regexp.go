package expr

import (
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/excerpt"
)

type regexpKey struct{ source, flags string }

// regexpProgram is a compiled regular expression.
type regexpProgram struct {
	key     regexpKey
	first   *regexp.Regexp
	size    int    // instructions
	literal string // what it matches, if it is nothing but a literal text
	plain   bool   // whether it is
	// rest finds a match behind the first character of a text, so that ^ and \b see what
	// stands before. Its groups are one further on.
	rest func() (*regexp.Regexp, error)
}

// regexpCache keeps the programs of an expression from one evaluation to the next.
type regexpCache struct {
	mu       sync.Mutex
	programs map[regexpKey]*regexpProgram
}

const regexpCacheSize = 32

func (c *regexpCache) get(key regexpKey) *regexpProgram {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.programs[key]
}

func (c *regexpCache) put(key regexpKey, p *regexpProgram) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.programs == nil {
		c.programs = map[regexpKey]*regexpProgram{}
	}
	if len(c.programs) < regexpCacheSize {
		c.programs[key] = p
	}
}

// program returns a compiled regular expression. Its price is paid once per evaluation, and
// is the same whether it was kept from an earlier one or not.
func (r *evaluation) program(source, flags string) (*regexpProgram, error) {
	key := regexpKey{source, flags}
	if r.regexp != nil && r.regexp.key == key {
		return r.regexp, nil
	}
	if p, ok := r.regexps[key]; ok {
		return p, nil
	}
	if err := r.work(20 * len(source)); err != nil {
		return nil, err
	}
	p := r.cache.get(key)
	if p == nil {
		var err error
		if p, err = compileRegexp(source, flags); err != nil {
			return nil, err
		}
		r.cache.put(key, p)
	}
	if err := r.work(20 * p.size); err != nil {
		return nil, err
	}
	if err := r.alloc(200 * p.size); err != nil {
		return nil, err
	}
	if r.regexp == nil { // most evaluations have no more than one
		r.regexp = p
		return p, nil
	}
	if r.regexps == nil {
		r.regexps = map[regexpKey]*regexpProgram{}
	}
	r.regexps[key] = p
	return p, nil
}

func compileRegexp(source, flags string) (*regexpProgram, error) {
	if strings.Trim(flags, "gim") != "" {
		return nil, failText("unsupported regular expression flag: " + excerpt.Quote(flags))
	}
	if len(source) > maxRegexpBytes {
		return nil, limit("A regular expression has %d bytes; at most %d are allowed.", len(source), maxRegexpBytes)
	}
	full := source
	if strings.Contains(flags, "i") {
		full = "(?i)" + full
	}
	if strings.Contains(flags, "m") {
		full = "(?s)" + full
	}
	invalid := func(err error) error {
		return failText(fmt.Sprintf("invalid regular expression %q: %s", full, err))
	}
	tree, err := syntax.Parse(full, syntax.Perl)
	if err != nil {
		return nil, invalid(err)
	}
	size := ProgramSize(tree)
	if size > maxRegexpProgram {
		return nil, limit("The repetitions of a regular expression make %d instructions of it; at most %d are allowed.", size, maxRegexpProgram)
	}
	first, err := regexp.Compile(full)
	if err != nil {
		return nil, invalid(err)
	}
	p := &regexpProgram{key: regexpKey{source, flags}, first: first, size: size}
	p.literal, p.plain = first.LiteralPrefix()
	p.plain = p.plain && first.NumSubexp() == 0
	p.rest = sync.OnceValues(func() (*regexp.Regexp, error) {
		rest, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + full + `)`)
		if err != nil {
			return nil, invalid(err)
		}
		return rest, nil
	})
	return p, nil
}

// ProgramSize estimates the instructions of a regular expression before it is compiled.
func ProgramSize(re *syntax.Regexp) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCharClass:
		size += len(re.Rune) / 16
	}
	for _, sub := range re.Sub {
		size += ProgramSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, 1<<30)
}

// fnMatch is _match(regexp; flags; test).
func fnMatch(r *evaluation, v Value, args []Value) (Value, error) {
	test := args[2] == true
	name := "match"
	if test {
		name = "test"
	}
	program, s, all, err := r.matchArguments(name, v, args[0], args[1])
	if err != nil {
		return nil, err
	}
	if test {
		if err := r.work(program.cost(len(s))); err != nil {
			return nil, err
		}
		return program.first.MatchString(s), nil
	}
	matches := []any{}
	counter := runeCounter{text: s}
	err = r.eachMatch(program, s, all, func(match []int) error {
		if len(matches) == MaxEntries {
			return r.list(MaxEntries + 1)
		}
		m, err := r.matchObject(program, s, match, &counter)
		matches = append(matches, m)
		return err
	})
	return matches, err
}

// matchArguments checks the arguments of a match; all means every match and not only the first.
func (r *evaluation) matchArguments(name string, v, source, flags Value) (p *regexpProgram, s string, all bool, err error) {
	f, ok := flags.(string)
	s, ok2 := v.(string)
	expression, ok3 := source.(string)
	if !ok && flags != nil || !ok2 || !ok3 {
		return nil, "", false, cannotApply2(name, v, source, flags)
	}
	p, err = r.program(expression, f)
	return p, s, strings.Contains(f, "g"), err
}

// cost is the price of running the program over n bytes, at the speed of the slowest of the
// ways in which the library can do it.
func (p *regexpProgram) cost(n int) int { return 8 + (n+1)*p.bytePrice() }

func (p *regexpProgram) bytePrice() int { return 1 + p.size/4 }

// eachMatch calls found with the offsets of each match. After an empty match the search continues
// one character later.
func (r *evaluation) eachMatch(p *regexpProgram, s string, all bool, found func([]int) error) error {
	match, err := r.nextMatch(p, s, 0)
	for err == nil && match != nil {
		if err = found(match); err != nil || !all {
			return err
		}
		at := match[1]
		if match[0] == match[1] {
			if at == len(s) {
				return nil
			}
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
		}
		match, err = r.nextMatch(p, s, at)
	}
	return err
}

// nextMatch finds the first match that starts at offset at or later. A search may read far
// beyond its match, again and again, so the characters that it really reads are counted.
func (r *evaluation) nextMatch(p *regexpProgram, s string, at int) ([]int, error) {
	if p.plain {
		i := strings.Index(s[at:], p.literal)
		if i < 0 {
			return nil, r.work(8 + (len(s)-at)/8)
		}
		return []int{at + i, at + i + len(p.literal)}, r.work(8 + i/8)
	}
	if at == 0 {
		if err := r.work(p.cost(len(s))); err != nil {
			return nil, err
		}
		return p.first.FindStringSubmatchIndex(s), nil
	}
	rest, err := p.rest()
	if err != nil {
		return nil, err
	}
	_, size := utf8.DecodeLastRuneInString(s[:at])
	start := at - size
	reader := matchReader{run: r, text: s[start:], price: p.bytePrice()}
	r.charge(8)
	match := rest.FindReaderSubmatchIndex(&reader)
	if r.exhausted() {
		return nil, errSteps
	}
	if match == nil {
		return nil, nil
	}
	match = match[2:]
	for i := range match {
		if match[i] >= 0 {
			match[i] += start
		}
	}
	return match, nil
}

// matchReader hands out a text and ends early when the steps are exhausted.
type matchReader struct {
	run   *evaluation
	text  string
	price int
	at    int
}

func (m *matchReader) ReadRune() (rune, int, error) {
	m.run.charge(m.price)
	if m.at == len(m.text) || m.run.exhausted() {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(m.text[m.at:])
	m.at += size
	return c, size, nil
}

// runeCounter turns growing byte offsets into places in characters.
type runeCounter struct {
	text          string
	offset, index int
}

func (c *runeCounter) at(offset int) int {
	if offset < c.offset {
		return c.index - utf8.RuneCountInString(c.text[offset:c.offset])
	}
	c.index += utf8.RuneCountInString(c.text[c.offset:offset])
	c.offset = offset
	return c.index
}

func (r *evaluation) matchObject(p *regexpProgram, s string, match []int, counter *runeCounter) (Value, error) {
	groups := len(match)/2 - 1
	if err := r.alloc(480*(groups+1) + 64); err != nil {
		return nil, err
	}
	if err := r.work(8*groups + 2*(match[1]-match[0])/bytesPerStep*(groups+1)); err != nil {
		return nil, err
	}
	part := func(i int) map[string]any {
		start, end := match[2*i], match[2*i+1]
		if start < 0 {
			return map[string]any{"offset": -1, "length": 0, "string": nil}
		}
		return map[string]any{
			"offset": counter.at(start),
			"length": utf8.RuneCountInString(s[start:end]),
			"string": s[start:end],
		}
	}
	whole := part(0)
	captures := make([]any, groups)
	for i := range captures {
		capture := part(i + 1)
		capture["name"] = nil
		if name := p.first.SubexpNames()[i+1]; name != "" {
			capture["name"] = name
		}
		captures[i] = capture
	}
	whole["captures"] = captures
	return whole, nil
}

// fnCaptures makes an object of the named captures of a match.
func fnCaptures(r *evaluation, v Value, _ []Value) (Value, error) {
	captures, ok := v.([]any)
	if !ok {
		return nil, notArray(v)
	}
	if err := r.object(len(captures)); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(captures))
	for _, capture := range captures {
		if capture, ok := capture.(map[string]any); ok {
			if name, ok := capture["name"].(string); ok {
				object[name] = capture["string"]
			}
		}
	}
	return object, nil
}
