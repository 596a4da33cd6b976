package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
)

// flagWords are the values of flags that take few and are no choice: a server or a later check says what is wrong.
var flagWords = map[string]func() []string{
	"cause":               app.CauseKinds,
	"waiting-for":         app.WaitKinds,
	"audit --action":      app.AuditActions,
	"engine":              words(installation.EngineEmbedded, installation.EngineTemporal),
	"log-level":           words("debug", "info", "warn", "error"),
	"log-format":          words("text", "json"),
	"allow-run":           words("shell", "python", "container"),
	"encrypt":             words(installation.EncryptSecrets, installation.EncryptAll, installation.EncryptOnly),
	"schedule-on-default": words("data", "envelope"),
	"lifecycle-events":    words("none", "workflow", "task"),
}

func words(list ...string) func() []string { return func() []string { return list } }

// alternatives are words as a sentence has them: a, b or c.
func alternatives(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// flagCompleters are the flags whose values a server has, and whose names for these values do not say which.
var flagCompleters = map[string]completer{
	"namespace": completeNamespaces, "namespaces": completeNamespaces, "assignee": completeUsers, "actor": completeUsers, "on-behalf-of": completeUsers,
	"error-code": completeErrorCodes, "keys create --workflows": completeWorkflows, "secrets set --workflows": completeWorkflows,
	"executions retry --version": completeRetries,
}

// completeFlags wires the completion of the values of flags: by the words that they take, by the name that the help has
// for the value, as arguments are, or by the name of the flag.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if complete := flagCompletion(cmd, f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
		}
	})
}

// allowRepetition lets every flag be set again: for a completion, cobra parses what was typed twice.
func allowRepetition(root *cobra.Command) {
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if n, ok := f.Value.(*named); ok {
				n.once = false
			}
		})
	})
}

func flagCompletion(cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	value := f.Value
	if n, ok := value.(*named); ok {
		value = n.Value
	}
	switch c := value.(type) {
	case *choice:
		return completeWords(c.allowed, false)
	case *choices:
		return completeWords(c.allowed, true)
	}
	list := value.Type() == "stringSlice"
	for _, name := range namesOf(cmd, f) {
		if allowed := flagWords[name]; allowed != nil {
			return completeWords(allowed(), list)
		}
		if complete := flagCompleters[name]; complete != nil {
			return completeWith(complete, list)
		}
	}
	switch complete := completers[f.Value.Type()]; {
	case f.Name == "context":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return contextNames(), cobra.ShellCompDirectiveNoFileComp
		}
	case f.Name == "workflow-version": // of the workflow that another flag names
		return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeWith(complete, list)(cmd, []string{cmd.Flags().Lookup("workflow").Value.String()}, typed)
		}
	case complete != nil:
		return completeWith(complete, list)
	}
	return nil
}

// namesOf are the names by which tables have a flag, the one that counts first: of one command, of all commands with
// its last word, of all.
func namesOf(cmd *cobra.Command, f *pflag.Flag) []string {
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return []string{path + " --" + f.Name, cmd.Name() + " --" + f.Name, f.Name}
}

// completeWords offers the words that a flag takes, one or a list of them.
func completeWords(allowed []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return fitting(allowed, typed, list), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// fitting are the words that begin with what is typed; of a list, with what is typed after its last comma, without
// those before it.
func fitting(words []string, typed string, list bool) []string {
	before := ""
	if comma := strings.LastIndex(typed, ","); list && comma >= 0 {
		before = typed[:comma+1]
	}
	given := strings.Split(before, ",")
	var fit []string
	for _, word := range words {
		value, _, _ := strings.Cut(word, "\t")
		if strings.HasPrefix(before+value, typed) && !slices.Contains(given, value) {
			fit = append(fit, before+word)
		}
	}
	return fit
}
