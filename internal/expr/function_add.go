package expr

func fnAdd(r *evaluation, v Value, _ []Value) (Value, error) {
	list, ok, err := r.entries(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, cannotApply0("add", v)
	}
	s := sum{run: r}
	for _, w := range list {
		if err := s.add(w); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

// sum adds values up. Texts, arrays and objects grow in place as long as they are its own.
type sum struct {
	run    *evaluation
	value  Value
	text   []byte
	list   []any
	object map[string]any
}

func (s *sum) result() Value {
	switch {
	case s.text != nil:
		return string(s.text)
	case s.list != nil:
		return s.list
	case s.object != nil:
		return s.object
	}
	return s.value
}

func (s *sum) add(v Value) error {
	if err := s.run.step(); err != nil {
		return err
	}
	if s.value == nil && s.text == nil && s.list == nil && s.object == nil {
		return s.start(v)
	}
	switch w := v.(type) {
	case nil:
		return nil
	case string:
		if s.text != nil {
			return s.appendText(w)
		}
	case []any:
		if s.list != nil {
			return s.appendList(w)
		}
	case map[string]any:
		if s.object != nil {
			return s.copyObject(w)
		}
	}
	w, err := opAdd(s.run, s.result(), v)
	s.value, s.text, s.list, s.object = w, nil, nil, nil
	return err
}

func (s *sum) start(v Value) error {
	switch v := v.(type) {
	case string:
		s.text = []byte{}
		return s.appendText(v)
	case []any:
		s.list = []any{}
		return s.appendList(v)
	case map[string]any:
		s.object = map[string]any{}
		return s.copyObject(v)
	}
	s.value = v
	return nil
}

func (s *sum) appendText(w string) error {
	if len(s.text)+len(w) > cap(s.text) {
		size := max(64, 2*(len(s.text)+len(w)))
		if err := s.run.text(min(size, MaxValueBytes)); err != nil {
			return err
		}
	}
	if len(s.text)+len(w) > MaxValueBytes {
		return s.run.text(len(s.text) + len(w))
	}
	s.text = append(s.text, w...)
	return s.run.scan(len(w))
}

func (s *sum) appendList(w []any) error {
	if len(s.list)+len(w) > MaxEntries {
		return s.run.list(len(s.list) + len(w))
	}
	if len(s.list)+len(w) > cap(s.list) {
		if err := s.run.list(min(2*(len(s.list)+len(w)), MaxEntries)); err != nil {
			return err
		}
	}
	s.list = append(s.list, w...)
	return s.run.work(len(w))
}

func (s *sum) copyObject(w map[string]any) error {
	if len(s.object)+len(w) > MaxEntries {
		return s.run.object(len(s.object) + len(w))
	}
	if err := s.run.alloc(128 * len(w)); err != nil {
		return err
	}
	for k, v := range w {
		s.object[k] = v
	}
	return s.run.work(2 * len(w))
}
