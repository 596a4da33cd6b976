package expr

// subNode is sub(regexp; replacement; flags). A replacement with several results gives
// several texts, the n-th of them made of the n-th results.
type subNode struct {
	never
	source, replacement, flags node
}

func (n *subNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.source, r, f, v, func(source Value) error {
		return eachValue(n.flags, r, f, v, func(flags Value) error {
			return n.substitute(r, f, v, source, flags, func(text Value) error { return yield(text, p) })
		})
	})
}

func (n *subNode) substitute(r *evaluation, f *frame, v, source, flags Value, yield func(Value) error) error {
	program, s, all, err := r.matchArguments("match", v, source, flags)
	if err != nil {
		return err
	}
	var texts []*sum
	next := 0
	err = r.eachMatch(program, s, all, func(match []int) error {
		captures, err := r.captureObject(program, s, match)
		if err != nil {
			return err
		}
		between, i := s[next:match[0]], 0
		err = eachValue(n.replacement, r, f, captures, func(w Value) error {
			if i == len(texts) {
				if err := r.alloc(256); err != nil {
					return err
				}
				texts = append(texts, &sum{run: r, text: []byte{}})
			}
			text := texts[i]
			i++
			if err := text.appendText(between); err != nil {
				return err
			}
			switch w := w.(type) {
			case nil:
				return nil
			case string:
				return text.appendText(w)
			}
			_, err := opAdd(r, between, w) // fails
			return err
		})
		next = match[1]
		return err
	})
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		return yield(s)
	}
	for _, text := range texts {
		if err := text.appendText(s[next:]); err != nil {
			return err
		}
		if err := yield(text.result()); err != nil {
			return err
		}
	}
	return nil
}

// noCaptures is what a replacement sees where the regular expression has no groups.
var noCaptures Value = map[string]any{}

// captureObject is what a replacement sees: the named captures of a match.
func (r *evaluation) captureObject(p *regexpProgram, s string, match []int) (Value, error) {
	names := p.first.SubexpNames()
	if len(names) == 1 {
		return noCaptures, nil
	}
	if err := r.object(len(names) - 1); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(names)-1)
	for i, name := range names {
		if name == "" {
			continue
		}
		object[name] = nil
		if match[2*i] >= 0 {
			object[name] = s[match[2*i]:match[2*i+1]]
		}
	}
	return object, nil
}

// splitsNode is splits(regexp; flags): what stands between the matches.
type splitsNode struct {
	never
	source, flags node
}

func (n *splitsNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.source, r, f, v, func(source Value) error {
		return eachValue(n.flags, r, f, v, func(flags Value) error {
			program, s, all, err := r.matchArguments("match", v, source, flags)
			if err != nil {
				return err
			}
			next := 0
			err = r.eachMatch(program, s, all, func(match []int) error {
				part := s[next:match[0]]
				next = match[1]
				if err := r.alloc(16); err != nil {
					return err
				}
				return yield(part, p)
			})
			if err != nil {
				return err
			}
			return yield(s[next:], p)
		})
	})
}
