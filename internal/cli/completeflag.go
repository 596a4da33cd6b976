package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
)

// The words that filters of executions take.
var (
	causeKinds = []string{"api", "batch", "schedule", "event", "parent", "retry"}
	waitKinds  = []string{"person", "child", "event", "retry", "timer", "slot"}
)

// flagWords are the values of flags that take few and are no choice: a server or a later check says what is wrong.
var flagWords = map[string]func() []string{
	"cause":               words(causeKinds...),
	"waiting-for":         words(waitKinds...),
	"audit --action":      app.AuditActions,
	"users list --status": words("invited", "active", "disabled"),
	"retry --version":     words("published", "same"),
	"level":               words("trace", "debug", "info", "warning", "error", "critical"),
	"stream":              words("stdout", "stderr", "log"),
	"engine":              words(installation.EngineEmbedded, installation.EngineTemporal),
	"log-level":           words("debug", "info", "warn", "error"),
	"log-format":          words("text", "json"),
	"allow-run":           words("shell", "python", "container"),
	"encrypt":             words(installation.EncryptSecrets, installation.EncryptAll, installation.EncryptOnly),
	"schedule-on-default": words("data", "envelope"),
	"lifecycle-events":    words("none", "workflow", "task"),
	"real":                words(app.RealKinds...),
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
	"error-code": completeErrorCodes,
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
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	for _, name := range []string{path + " --" + f.Name, cmd.Name() + " --" + f.Name, f.Name} {
		if list := flagWords[name]; list != nil {
			return completeWords(list(), value.Type() == "stringSlice")
		}
	}
	switch {
	case f.Name == "context":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return contextNames(), cobra.ShellCompDirectiveNoFileComp
		}
	case f.Name == "workflow-version": // of the workflow that another flag names
		return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeWith(completeVersions)(cmd, []string{cmd.Flags().Lookup("workflow").Value.String()}, typed)
		}
	case f.Value.Type() == "VERSION":
		return completeWith(completeVersions)
	case completers[f.Value.Type()] != nil:
		return completeWith(completers[f.Value.Type()])
	case flagCompleters[f.Name] != nil:
		return completeWith(flagCompleters[f.Name])
	}
	return nil
}

// completeWords offers the words that a flag takes; of a list, those that it does not have yet, after the last comma.
func completeWords(allowed []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if comma := strings.LastIndex(typed, ","); list && comma >= 0 {
			before = typed[:comma+1]
		}
		given := strings.Split(before, ",")
		var fitting []string
		for _, word := range allowed {
			if word = before + word; strings.HasPrefix(word, typed) && !slices.Contains(given, strings.TrimPrefix(word, before)) {
				fitting = append(fitting, word)
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
