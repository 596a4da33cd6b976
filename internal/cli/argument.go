package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exactArgs, minArgs and atMostArgs make a wrong number of arguments a usage error that names them.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return countArgs(cmd, args, n, n) }
}

func minArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return countArgs(cmd, args, n, 1<<30) }
}

func atMostArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return countArgs(cmd, args, 0, n) }
}

func countArgs(cmd *cobra.Command, args []string, least, most int) error {
	wanted := argumentNames(cmd)
	switch {
	case len(args) < least:
		missing := "an argument is"
		if len(args) < len(wanted) {
			missing = strings.Join(wanted[len(args):min(least, len(wanted))], " and ") + " is"
		}
		if least-len(args) > 1 {
			missing = strings.TrimSuffix(missing, " is") + " are"
		}
		return usage("%s missing: %s", missing, hint(cmd))
	case len(args) > most && most == 0:
		return usage("%q is not expected: %s takes no argument: %s", args[0], cmd.CommandPath(), hint(cmd))
	case len(args) > most:
		return usage("%q is one argument too many: %s", args[most], hint(cmd))
	}
	return nil
}

// hint says how a command is used.
func hint(cmd *cobra.Command) string {
	return fmt.Sprintf("%s (see %s --help)", strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.CommandPath())
}

// argumentNames are the names of the arguments in the usage line of a command.
func argumentNames(cmd *cobra.Command) []string {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		word = strings.Trim(word, "[]")
		if strings.HasPrefix(word, "-") {
			break
		}
		names = append(names, strings.TrimSuffix(word, "…"))
	}
	return names
}

// unknownSubcommand refuses what is no command of a group, and names one that is alike.
func unknownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	for cmd.SuggestionsMinimumDistance = 1; cmd.SuggestionsMinimumDistance <= 2; cmd.SuggestionsMinimumDistance++ {
		if alike := cmd.SuggestionsFor(args[0]); len(alike) > 0 {
			text += fmt.Sprintf("; did you mean %q?", alike[0])
			break
		}
	}
	return usage("%s (see %s --help)", text, cmd.CommandPath())
}

// choice is a flag with few values.
type choice struct {
	value   *string
	allowed []string
}

func choiceVarP(f *pflag.FlagSet, value *string, name, short, preset, text string, allowed ...string) {
	*value = preset
	f.VarP(&choice{value, allowed}, name, short, text+": "+strings.Join(allowed, ", "))
}

func choiceVar(f *pflag.FlagSet, value *string, name, preset, text string, allowed ...string) {
	choiceVarP(f, value, name, "", preset, text, allowed...)
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "WORD" }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return errors.New("must be one of " + strings.Join(c.allowed, ", "))
	}
	*c.value = text
	return nil
}

// choices is a flag with a list of few values.
type choices struct {
	values  *[]string
	allowed []string
	hints   map[string]string // values of another flag, and how to give them
}

func choicesVar(f *pflag.FlagSet, values *[]string, name, text string, allowed ...string) {
	f.Var(&choices{values, allowed, nil}, name, text+": "+strings.Join(allowed, ", "))
}

// statesVar adds --status and --phase. Tables show a cancelled execution as such, so each flag says
// of the other's values where they belong.
func statesVar(f *pflag.FlagSet, statusValues, phaseValues *[]string, what string) {
	ofStatus, ofPhase := map[string]string{}, map[string]string{}
	for _, phase := range phases {
		ofStatus[phase] = phase + " is a phase: --phase " + phase
	}
	for _, status := range statuses {
		ofPhase[status] = status + " is a status: --status " + status
	}
	f.Var(&choices{statusValues, statuses, ofStatus}, "status", "only "+what+" with one of these statuses: "+strings.Join(statuses, ", "))
	f.Var(&choices{phaseValues, phases, ofPhase}, "phase", "only "+what+" in one of these phases: "+strings.Join(phases, ", "))
}

func (c *choices) String() string { return strings.Join(*c.values, ",") }
func (c *choices) Type() string   { return "WORD,…" }

func (c *choices) Set(text string) error {
	for value := range strings.SplitSeq(text, ",") {
		if !slices.Contains(c.allowed, value) {
			text := "must be one of " + strings.Join(c.allowed, ", ")
			if hint := c.hints[value]; hint != "" {
				text += "; " + hint
			}
			return errors.New(text)
		}
		*c.values = append(*c.values, value)
	}
	return nil
}

// named gives the value of a flag a name that people read, and refuses a second value: the first
// would be lost without a word.
type named struct {
	pflag.Value
	name string
	once bool
	set  bool
}

func (n *named) Type() string { return n.name }

func (n *named) Set(text string) error {
	if n.set && n.once {
		return errors.New("the flag is given twice, and counts once")
	}
	n.set = true
	return n.Value.Set(text)
}

// timeFlag is a flag whose value resolveTime understands.
type timeFlag struct{ value *string }

const timeKind = "TIME"

func timeVar(f *pflag.FlagSet, value *string, name, text string) {
	f.Var(timeFlag{value}, name, text)
}

func (t timeFlag) String() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}
func (t timeFlag) Type() string { return timeKind }

func (t timeFlag) Set(text string) error {
	*t.value = text
	return nil
}

// metavariables are what stands for the value of a flag in help texts, where its type does not
// say enough.
var metavariables = map[string]string{
	"data-dir": "DIR", "download": "DIR", "workflows": "DIR", "resource-root": "DIR", "from": "DIR",
	"trusted-proxy": "CIDR", "url": "URL", "public-url": "URL", "database-url": "URL", "files-url": "URL", "to": "URL", "to-files": "URL", "from-files": "URL", "event-sink": "[TYPE,…=]URL",
	"config": "FILE", "master-key-file": "FILE", "from-master-key-file": "FILE", "trusted-ca": "FILE", "items": "FILE", "from-file": "FILE",
	"temporal-tls-cert-path": "FILE", "temporal-tls-key-path": "FILE", "temporal-tls-ca-path": "FILE",
	"listen": "HOST:PORT", "debug-listen": "HOST:PORT", "temporal-address": "HOST:PORT", "connect-to": "HOST:PORT:HOST2:PORT2",
	"oidc": "NAME=ISSUER", "oidc-client": "NAME=ID", "oidc-secret": "NAME=SECRET", "oidc-secret-file": "NAME=PATH", "oidc-title": "NAME=TEXT", "oidc-provision": "NAME=RULE,…",
	"input": "JSON|@FILE|-", "file": "NAME=PATH", "files": "NAME=PATTERN", "version": "VERSION", "workflow-version": "VERSION", "container-volume": "PATH[:ro]",
	"batch": "BATCH", "root": "EXECUTION", "retry-of": "EXECUTION", "execution": "EXECUTION", "failure": "FAILURE", "label": "NAME:VALUE", "variable": "NAME=JSON", "delay": "DURATION",
	"user": "USER", "group": "GROUP", "workflow": "WORKFLOW", "email": "EMAIL", "account": "ACCOUNT",

	// Flags that mean something else in one command.
	"answer --file": "PATH", "retry --from": "REFERENCE", "download --to": "FILE", "test --run": "REGEX", "test --junit": "FILE", "test --coverage-out": "FILE", "test --coverage": "PERCENT",
	"test --replay": "EXECUTION|FILE", "test --definition": "FILE", "test --recorded-definition": "FILE",
}

// nameValues gives every flag of cmd a readable name for its value.
func nameValues(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		kind := f.Value.Type()
		if _, done := f.Value.(*named); done || kind == "bool" {
			return
		}
		name := ""
		for _, key := range namesOf(cmd, f) {
			name = firstOf(name, metavariables[key])
		}
		many := strings.HasSuffix(kind, "Array") || strings.HasSuffix(kind, "Slice") || strings.HasSuffix(kind, "…")
		switch {
		case many && name == "DIR":
			name = "LIST"
		case strings.HasPrefix(kind, "WORD") || kind == timeKind:
			name = kind
		case name != "":
		case many:
			name = "LIST"
		case kind == "int" || kind == "int64" || kind == "float64":
			name = "N"
		case kind == "duration":
			name = "DURATION"
		default:
			name = "TEXT"
		}
		if f.DefValue == "[]" || f.DefValue == "0s" {
			f.DefValue = ""
		}
		f.Value = &named{Value: f.Value, name: name, once: !many}
	})
}
