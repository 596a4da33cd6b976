package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"math/big"
	"strings"
)

func fnToJSON(r *evaluation, v Value, _ []Value) (Value, error) { return wrapText(r.toJSON(v)) }

// toJSON writes v as jq does: like Append, but whole floats without a point.
func (r *evaluation) toJSON(v Value) (string, error) {
	w := jsonWriter{run: r}
	if err := w.value(v); err != nil {
		return "", err
	}
	if err := r.text(len(w.text)); err != nil {
		return "", err
	}
	return string(w.text), nil
}

// jsonWriter writes JSON within the bounds.
type jsonWriter struct {
	run  *evaluation
	text []byte
}

// grow accounts for n further bytes.
func (w *jsonWriter) grow(n int) error {
	if len(w.text)+n > cap(w.text) {
		size := max(64, 2*(len(w.text)+n))
		if err := w.run.alloc(size); err != nil {
			return err
		}
		w.text = append(make([]byte, 0, size), w.text...)
	}
	if len(w.text) > MaxValueBytes {
		return w.run.text(len(w.text))
	}
	return w.run.work(1 + n/bytesPerStep)
}

func (w *jsonWriter) value(v Value) error {
	switch v := v.(type) {
	case string:
		size := len(v) + 2
		if len(v) > 4096 {
			size += 5 * value.Escapes(v) // short ones do not matter
		}
		if err := w.grow(size); err != nil {
			return err
		}
		w.text = value.AppendString(w.text, v)
		return nil
	case float64:
		if err := w.grow(32); err != nil {
			return err
		}
		w.text = appendNumberText(w.text, v)
		return nil
	case []any:
		return w.list(v)
	case map[string]any:
		return w.object(v)
	}
	if n, ok := v.(*big.Int); ok {
		if err := w.run.work(bigTextCost(n)); err != nil {
			return err
		}
	}
	if err := w.grow(value.Size(v) + 8); err != nil {
		return err
	}
	w.text = value.Append(w.text, v)
	return nil
}

func (w *jsonWriter) list(list []any) error {
	if err := w.run.push(1); err != nil {
		return err
	}
	defer w.run.pop(1)
	w.text = append(w.text, '[')
	for i, v := range list {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.value(v); err != nil {
			return err
		}
	}
	if err := w.grow(2); err != nil {
		return err
	}
	w.text = append(w.text, ']')
	return nil
}

func (w *jsonWriter) object(object map[string]any) error {
	if err := w.run.push(1); err != nil {
		return err
	}
	defer w.run.pop(1)
	if err := w.run.keys(len(object)); err != nil {
		return err
	}
	w.text = append(w.text, '{')
	for i, k := range value.SortedKeys(object) {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.value(k); err != nil {
			return err
		}
		w.text = append(w.text, ':')
		if err := w.value(object[k]); err != nil {
			return err
		}
	}
	if err := w.grow(2); err != nil {
		return err
	}
	w.text = append(w.text, '}')
	return nil
}

// fnFromJSON is stricter than jq: what Parse refuses is refused here too.
func fnFromJSON(r *evaluation, v Value, _ []Value) (Value, error) {
	s, ok := v.(string)
	if !ok {
		return nil, cannotApply0("fromjson", v)
	}
	if err := r.work(len(s) / 4); err != nil {
		return nil, err
	}
	memory := 2*len(s) + 380*strings.Count(s, "{") + 56*strings.Count(s, "[") + 32*strings.Count(s, ",")
	if err := r.alloc(memory); err != nil {
		return nil, err
	}
	w, err := value.Parse([]byte(s), value.Limits{Depth: value.MaxDepth, Bytes: MaxValueBytes, Values: 2 * MaxEntries})
	if err != nil {
		return nil, because0("fromjson", v, failText(err.Error()))
	}
	return w, nil
}
