package cli

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsOfferValues: a flag that names something of a server, or takes few words, completes its value in every
// command that has it.
func TestFlagsOfferValues(t *testing.T) {
	offered := slices.Concat(slices.Collect(maps.Keys(completers)), []string{"WORD", "WORD,…"})
	seen := map[string]bool{}
	everyCommand(t, func(t *testing.T, cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			names := namesOf(cmd, f)
			few := slices.ContainsFunc(names, func(name string) bool { return flagWords[name] != nil || flagCompleters[name] != nil })
			for _, name := range names {
				seen[name] = true
			}
			complete, _ := cmd.GetFlagCompletionFunc(f.Name)
			if (few || slices.Contains(offered, f.Value.Type())) && complete == nil {
				t.Errorf("--%s %s completes nothing", f.Name, f.Value.Type())
			}
		})
	})
	for _, name := range slices.Concat(slices.Collect(maps.Keys(flagWords)), slices.Collect(maps.Keys(flagCompleters)), slices.Collect(maps.Keys(metavariables))) {
		if !seen[name] {
			t.Errorf("no command has a flag %s", name)
		}
	}
}
