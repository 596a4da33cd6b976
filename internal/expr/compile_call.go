package expr

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// refused are the functions and variables of the language that would reach outside of the
// expression, with the reason (T14, T76).
var refused = map[string]string{
	"env": "the environment of the server", "$ENV": "the environment of the server",
	"input": "further inputs", "inputs": "further inputs",
	"input_filename": "the name of an input file", "input_line_number": "the place in an input file",
	"debug": "the log of the server", "stderr": "the log of the server",
	"halt": "the end of the program", "halt_error": "the end of the program",
	"builtins": "the version of the language", "modulemeta": "modules",
	"get_search_list": "modules", "$__loc__": "the place in the source", "$__prog_args": "the command line",
}

// call compiles a variable or a call of a function.
func (c *compiler) call(f *gojq.Func, p location) (node, error) {
	if f.Name[0] == '$' {
		return c.variable(f.Name, p)
	}
	arity := len(f.Args)
	b := p.find(func(b *binding) bool {
		return b.name == f.Name && b.arity == arity && (b.kind == functionBinding || b.kind == closureBinding || b.kind == argumentBinding)
	})
	if b != nil {
		return c.callBound(b, f, p)
	}
	name := signature(f.Name, arity)
	if n, err := c.special(name, f.Args, p.inner()); n != nil || err != nil {
		return n, err
	}
	if def := definitions()[name]; def != nil {
		return c.inline(def, f.Args, p)
	}
	call := natives[name]
	if call == nil {
		call = mathFunction(f.Name, arity)
	}
	if call == nil || strings.HasPrefix(f.Name, "_") && !c.inPrelude {
		return nil, c.unknownFunction(f.Name, arity, p)
	}
	args, single, err := c.arguments(f.Args, p.inner())
	return &nativeNode{sometimes{single}, call, args}, err
}

func (c *compiler) arguments(queries []*gojq.Query, p location) (args []node, single bool, err error) {
	single = true
	for _, q := range queries {
		n, err := c.query(q, p)
		if err != nil {
			return nil, false, err
		}
		args, single = append(args, n), single && n.single()
	}
	return args, single, nil
}

func (c *compiler) variable(name string, p location) (node, error) {
	b := p.find(func(b *binding) bool { return b.kind == variableBinding && b.name == name })
	if b != nil {
		return &localNode{hops: p.hops(b)}, nil
	}
	if slices.Contains(languageNames, name[1:]) || slices.Contains(c.locals, name[1:]) {
		i := slices.Index(c.names, name[1:])
		if i < 0 {
			i = len(c.names)
			c.names = append(c.names, name[1:])
		}
		return &globalNode{index: i}, nil
	}
	if reason, ok := refused[name]; ok {
		return nil, c.fail(name, name+" is not available in expressions: it would show "+reason+".", "")
	}
	known := []string{}
	for _, name := range languageNames {
		known = append(known, "$"+name)
	}
	for _, name := range c.locals {
		known = append(known, "$"+name)
	}
	for b := p.names; b != nil; b = b.up {
		if b.kind == variableBinding {
			known = append(known, b.name)
		}
	}
	return nil, c.fail(name, "The variable "+name+" is not defined here.", closest(name, known))
}

// callBound calls what a name of the expression itself stands for.
func (c *compiler) callBound(b *binding, f *gojq.Func, p location) (node, error) {
	switch b.kind {
	case closureBinding:
		b.function.byName[b.index] = true
		return &closureNode{hops: p.hops(b)}, nil
	case argumentBinding:
		hops := p.level - b.level
		if hops == 0 {
			return b.argument, nil
		}
		return &argumentNode{sometimes{b.argument.single()}, hops, b.argument}, nil
	}
	n := &callNode{function: b.function, hops: p.level - b.level, tail: p.tail}
	for _, q := range f.Args {
		arg, stack, err := c.measure(func() (node, error) { return c.query(q, p.inner()) })
		if err != nil {
			return nil, err
		}
		n.args, n.stacks = append(n.args, arg), append(n.stacks, stack)
	}
	for _, i := range b.function.values {
		n.tail = n.tail && n.args[i].single()
	}
	return n, nil
}

// define compiles a function and makes its name known.
func (c *compiler) define(def *gojq.FuncDef, p location) (location, error) {
	fn := &function{level: p.level}
	p = p.bind(binding{kind: functionBinding, name: def.Name, arity: len(def.Args), level: p.level, function: fn})
	inside := p
	fn.byName = make([]bool, len(def.Args))
	for i, arg := range def.Args {
		inside = inside.bindFrame(closureBinding, strings.TrimPrefix(arg, "$"))
		inside.names.function, inside.names.index = fn, i
		if arg[0] == '$' {
			fn.values = append(fn.values, i)
		}
	}
	for _, i := range fn.values {
		inside = inside.bindFrame(variableBinding, def.Args[i])
	}
	inside.tail = true
	var err error
	fn.body, fn.stack, err = c.measure(func() (node, error) { return c.query(def.Body, inside) })
	return p, err
}

// inlineLevels is more than the levels of evaluation that a definition of the prelude puts
// around its arguments.
const inlineLevels = 8

// inline compiles the definition of a built-in function into the place of a call.
func (c *compiler) inline(def *gojq.FuncDef, queries []*gojq.Query, p location) (node, error) {
	c.depth += inlineLevels
	args, _, err := c.arguments(queries, p.inner())
	c.depth -= inlineLevels
	if err != nil {
		return nil, err
	}
	inside := location{level: p.level, tail: p.tail}
	values := &valuesNode{sometimes: sometimes{true}}
	for i, name := range def.Args {
		if name[0] != '$' {
			inside = inside.bind(binding{kind: argumentBinding, name: name, level: p.level, argument: args[i]})
			continue
		}
		inside.tail = inside.tail && args[i].single()
		values.isSingle = values.isSingle && args[i].single()
		values.args = append(values.args, args[i])
		inside = inside.bindFrame(variableBinding, name)
	}
	outer := c.inPrelude
	c.inPrelude = true
	values.body, err = c.query(def.Body, inside)
	c.inPrelude = outer
	if err != nil || len(values.args) == 0 {
		return values.body, err
	}
	values.isSingle = values.isSingle && values.body.single()
	return values, nil
}

// special compiles the functions that are nodes of their own.
func (c *compiler) special(name string, queries []*gojq.Query, p location) (node, error) {
	switch name {
	case "empty/0":
		return nothing, nil
	case "recurse/0":
		return &recurseNode{}, nil
	case "path/1", "getpath/1":
	case "_range/3", "_sub/3", "_splits/2", "_last/1":
		if !c.inPrelude {
			return nil, nil
		}
	default:
		return nil, nil
	}
	args, single, err := c.arguments(queries, p)
	if err != nil {
		return nil, err
	}
	switch name {
	case "path/1":
		return &pathNode{body: args[0]}, nil
	case "getpath/1":
		return &getpathNode{sometimes{single}, args[0]}, nil
	case "_range/3":
		return &rangeNode{start: args[0], end: args[1], step: args[2]}, nil
	case "_sub/3":
		return &subNode{source: args[0], replacement: args[1], flags: args[2]}, nil
	case "_splits/2":
		return &splitsNode{source: args[0], flags: args[1]}, nil
	}
	return &lastNode{body: args[0]}, nil
}

func (c *compiler) unknownFunction(name string, arity int, p location) error {
	if reason, ok := refused[name]; ok {
		return c.fail(name, name+" is not available in expressions: it would reach "+reason+".", "")
	}
	var known, arities []string
	for b := p.names; b != nil; b = b.up {
		if b.kind == functionBinding || b.kind == closureBinding {
			known = append(known, signature(b.name, b.arity))
		}
	}
	known = slices.Concat(known, keysOf(natives), keysOf(definitions()), mathSignatures(),
		[]string{"empty/0", "recurse/0", "path/1", "getpath/1"})
	var names []string
	for _, s := range known {
		other, n, _ := strings.Cut(s, "/")
		if other == name {
			arities = append(arities, n)
		}
		if !strings.HasPrefix(other, "_") {
			names = append(names, other)
		}
	}
	hint := closest(name, names)
	if len(arities) > 0 {
		slices.Sort(arities)
		hint = name + " takes " + strings.Join(slices.Compact(arities), " or ") + " arguments"
	}
	return c.fail(name, "The function "+signature(name, arity)+" is not defined.", hint)
}

func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// closest suggests the known name that differs least from name, if it is close enough.
func closest(name string, known []string) string {
	best, distance := "", max(1, len(name)/3)+1
	for _, candidate := range known {
		if d := editDistance(name, candidate, distance); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// editDistance counts the letters to insert, delete or change, up to a bound.
func editDistance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
