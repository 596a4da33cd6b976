package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Operands lists the values that may be references: arguments (a list or a map), environment
// values and stdin.
func Operands(arguments, environment, stdin value.Value) []value.Value {
	operands := []value.Value{stdin}
	for _, value := range []value.Value{arguments, environment} {
		switch value := value.(type) {
		case []any:
			operands = append(operands, value...)
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				operands = append(operands, value[key])
			}
		}
	}
	return operands
}

// Local is v, or the local path if v is a reference that was staged.
func (w *Workspace) Local(v value.Value) value.Value {
	if w == nil {
		return v
	}
	if uri, ok := referenceOf(v); ok {
		if path, staged := w.paths[uri]; staged {
			return path
		}
	}
	return v
}

// Text is v as a process sees it: a text as it is, null as nothing, anything else as JSON.
func (w *Workspace) Text(v value.Value) string {
	switch v := w.Local(v).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return string(value.Marshal(v))
	}
}

// List is a list of arguments as argv.
func (w *Workspace) List(arguments []any) ([]string, *machine.Fault) {
	argv := make([]string, len(arguments))
	for i, value := range arguments {
		argv[i] = w.Text(value)
		if fault := CheckNUL(fmt.Sprintf("argument %d", i+1), argv[i]); fault != nil {
			return nil, fault
		}
	}
	return argv, nil
}

// Flags is a map of arguments as options (T46): --key value. A key that begins with a dash stays as
// it is, and one whose value is null is passed alone. order has the keys as the definition wrote
// them; what it does not have, such as all that an expression yielded, follows sorted.
func (w *Workspace) Flags(arguments map[string]any, order []any) ([]string, *machine.Fault) {
	argv := make([]string, 0, 2*len(arguments))
	for _, key := range ordered(arguments, order) {
		if arguments[key] == nil {
			if fault := CheckNUL(fmt.Sprintf("argument %q", key), key); fault != nil {
				return nil, fault
			}
			argv = append(argv, key)
			continue
		}
		text := w.Text(arguments[key])
		if fault := CheckNUL(fmt.Sprintf("argument %q", key), key+text); fault != nil {
			return nil, fault
		}
		option := key
		if !strings.HasPrefix(key, "-") {
			option = "--" + key
		}
		argv = append(argv, option, text)
	}
	return argv, nil
}

// ordered are the keys of a map: those of order first, in that order, then the others, sorted.
func ordered(arguments map[string]any, order []any) []string {
	keys := slices.Sorted(maps.Keys(arguments))
	rank := make(map[string]int, len(order))
	for i, key := range order {
		if name, ok := key.(string); ok {
			rank[name] = i - len(order)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank[a] - rank[b] })
	return keys
}

// Arguments is a list as argv, or a map as flags in an order (Flags).
func (w *Workspace) Arguments(arguments value.Value, order []any) ([]string, *machine.Fault) {
	switch arguments := arguments.(type) {
	case nil:
		return nil, nil
	case []any:
		return w.List(arguments)
	case map[string]any:
		return w.Flags(arguments, order)
	}
	return nil, validationFault("arguments must be a list or an object")
}

// Variables are the environment variables that the task gives, by name. A null leaves a name out.
func (w *Workspace) Variables(environment value.Value) (map[string]string, *machine.Fault) {
	if environment == nil {
		return nil, nil
	}
	object, ok := environment.(map[string]any)
	if !ok {
		return nil, validationFault("environment must be an object")
	}
	variables := make(map[string]string, len(object))
	for name, value := range object {
		if value == nil {
			continue
		}
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, validationFault(fmt.Sprintf("%q is no name of an environment variable: it must not be empty nor hold = or NUL", name))
		}
		variables[name] = w.Text(value)
		if fault := CheckNUL(fmt.Sprintf("environment variable %s", name), variables[name]); fault != nil {
			return nil, fault
		}
	}
	return variables, nil
}

// Environ is the whole environment of a process: that of every process, overridden by what
// the task names.
func (w *Workspace) Environ(variables map[string]string) []string {
	environ := slices.DeleteFunc(w.Environment(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, overridden := variables[name]
		return overridden
	})
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		environ = append(environ, name+"="+variables[name])
	}
	return environ
}

// CheckNUL refuses what the kernel cannot pass on.
func CheckNUL(what, text string) *machine.Fault {
	if strings.Contains(text, "\x00") {
		return validationFault(what + " holds a NUL character, which no process can be given; pass it by stdin or a file")
	}
	return nil
}
