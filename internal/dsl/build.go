package dsl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// builder is what the readers of JSON and YAML share: the path to the node being built, and
// the problems found on the way.
type builder struct {
	report *report
	path   []step
}

// step is one token of the path: a key, or an index if key is nil.
type step struct {
	key   *string
	index int
}

func (b *builder) enterKey(key *string) { b.path = append(b.path, step{key: key}) }
func (b *builder) enterIndex(index int) { b.path = append(b.path, step{index: index}) }
func (b *builder) leave()               { b.path = b.path[:len(b.path)-1] }

// pointer renders the path. It is only called for problems; a path with an overlong name ends
// above that name, as it does for tasks.
func (b *builder) pointer() string {
	var text strings.Builder
	for _, s := range b.path {
		token := strconv.Itoa(s.index)
		if s.key != nil {
			if len(*s.key) > maxNameBytes {
				break
			}
			token = jsonpointer.Escape(*s.key)
		}
		if text.Len()+len(token) >= maxPointerBytes {
			break
		}
		text.WriteByte('/')
		text.WriteString(token)
	}
	return text.String()
}

func (b *builder) problem(line, column int32, code, detail, hint string) {
	if b.report.full() {
		return
	}
	b.report.add(Problem{
		Pointer: b.pointer(), Line: int(line), Column: int(column),
		Code: code, Detail: detail, Hint: hint,
	})
}

// duplicateKey reports the second member of that key. Looking for the first is linear in the
// size of the object, so it ends with the hundredth problem.
func (b *builder) duplicateKey(n *node, m *member) {
	if b.report.full() {
		return
	}
	_, firstLine, _ := n.child(m.key)
	b.problem(m.line, m.column, CodeDuplicateKey,
		fmt.Sprintf("The key %s occurs twice; the first is in line %d.", quote(m.key), firstLine),
		"Remove or rename one of them.")
}

func (b *builder) tooDeep(line, column int32) {
	b.problem(line, column, CodeTooDeep,
		fmt.Sprintf("The text has more than %s levels of nesting here.", thousands(MaxLevels)), tooDeepHint)
}

const tooDeepHint = "Move inner tasks into functions of `use.functions` or into a workflow of their own, and make values flatter."

func (b *builder) badNumber(text string, line, column int32) {
	detail := fmt.Sprintf("The number %s is out of range: integers have at most %s digits, other numbers are 64-bit floating point.",
		quote(text), thousands(maxIntegerDigits))
	if strings.Contains(text, ".") && strings.ContainsAny(text, "iInN") {
		detail = fmt.Sprintf("%s is no JSON value.", quote(text))
	}
	b.problem(line, column, CodeNumber, detail, "Quote it if it is meant as text.")
}
