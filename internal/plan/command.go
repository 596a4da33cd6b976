package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// command compiles a command or the code of a script. As a whole it may be an expression; then
// data becomes what is run, which is hardly ever meant (T48).
func (c *compiler) command(s dsl.Operand, what string, at location) *Operand {
	operand := c.literal(s, at)
	if operand == nil || operand.isConstant {
		return operand
	}
	hint := "Write the command itself, and hand data in by `arguments`, `environment` or `stdin`."
	if what == "code" {
		hint = "Write the code itself, and hand data in by `arguments`, `environment` or `stdin`."
	}
	c.warn(s.Pointer, CodeEvaluatedCommand,
		fmt.Sprintf("The %s is an expression: its data decides which command is run.", what), hint)
	return operand
}

// plainCommand matches a command that is one plain word and gets all its arguments (T48).
var plainCommand = regexp.MustCompile(`^\s*[A-Za-z0-9_./+:@%-]+\s*$`)

// readsArguments matches a shell line that reads a parameter: $1, ${2:-x}, $@, $#, or by one of
// the commands that take them without naming one.
var readsArguments = regexp.MustCompile(`\$\{?#?[1-9@*#]|\b(shift|getopts)\b|\bfor\s+[A-Za-z_][A-Za-z0-9_]*\s*(;|\n)?\s*do\b`)

// unusedArguments warns of arguments that a shell line does not read (T48).
func (c *compiler) unusedArguments(s *dsl.Shell) {
	line, ok := s.Command.Value.(string)
	if !ok || plainCommand.MatchString(line) || readsArguments.MatchString(line) {
		return
	}
	if _, isExpression := expr.Unwrap(line); isExpression {
		return
	}
	switch arguments := s.Arguments.Value.(type) {
	case nil:
		return
	case []any:
		if len(arguments) == 0 {
			return
		}
	case map[string]any:
		if len(arguments) == 0 {
			return
		}
	}
	c.warn(s.Arguments.Pointer, CodeUnusedArguments, "The command reads none of its arguments.",
		`Write "$1", "$2" or "$@" where they belong in the command.`)
}

// secretArguments warns of secrets on a command line, which other processes may see (T48).
func (c *compiler) secretArguments(s dsl.Operand) {
	if pointer, ok := secretIn(s.Pointer, s.Value); ok {
		c.warn(pointer, CodeSecretArgument, "The command line of a process can be seen by other processes, with this secret on it.",
			"Hand it in by `environment` or `stdin`.")
	}
}

// secretIn finds the first text that reads a secret.
func secretIn(pointer string, v value.Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return pointer, strings.Contains(v, "$secrets")
	case []any:
		for i, item := range v {
			if at, ok := secretIn(fmt.Sprintf("%s/%d", pointer, i), item); ok {
				return at, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if at, ok := secretIn(pointer+pointerTo(key), v[key]); ok {
				return at, true
			}
		}
	}
	return "", false
}
