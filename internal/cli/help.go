package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help of the program.
const (
	groupWork    = "work"
	groupAuthor  = "author"
	groupPeople  = "people"
	groupOperate = "operate"
)

// helpWidth is how wide help texts are.
const helpWidth = 80

// describe completes the tree of commands: examples, aliases, help in one layout, completion of
// values, names for the values of flags.
func describe(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { writeHelp(cmd.ErrOrStderr(), cmd); return nil })
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.DisableFlagsInUseLine = true
		if text := commandExamples[cmd.CommandPath()]; text != "" {
			cmd.Example = text
		}
		cmd.Aliases = append(cmd.Aliases, aliases[cmd.Name()]...)
		nameValues(cmd)
		completeValues(cmd)
	})
}

var aliases = map[string][]string{
	"workflows": {"workflow", "wf"}, "executions": {"execution", "exec"}, "batches": {}, "files": {"file"}, "secrets": {"secret"},
	"keys": {"key"}, "users": {"user"}, "groups": {"group"}, "grants": {"grant"}, "accounts": {"account"}, "persons": {"person"}, "context": {"contexts"},
	"events": {"event"}, "tasks": {"task"}, "list": {"ls"}, "delete": {"rm"},
}

// eachCommand visits cmd and everything below it.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, child := range cmd.Commands() {
		eachCommand(child, visit)
	}
}

// newHelp is `chargehand help`, with topics beside commands.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Explain a command or a topic (chargehand help topics)",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			target, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var words []string
			for _, child := range target.Commands() {
				if child.IsAvailableCommand() {
					words = append(words, child.Name()+"\t"+child.Short)
				}
			}
			if len(args) == 0 {
				words = append(words, slices.Sorted(maps.Keys(topics))...)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 && args[0] == "topics" {
				fmt.Fprintln(out, "Topics (chargehand help TOPIC):")
				for _, name := range slices.Sorted(maps.Keys(topics)) {
					fmt.Fprintf(out, "  %-12s  %s\n", name, topics[name].short)
				}
				return nil
			}
			if len(args) == 1 && topics[args[0]].text != "" {
				_, err := io.WriteString(out, topics[args[0]].text)
				return err
			}
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 && target.HasSubCommands() {
				if target == nil {
					target = cmd.Root()
				}
				if err := unknownSubcommand(target, rest); err != nil {
					return err
				}
				return usage("there is no command or topic %q (see chargehand help topics)", strings.Join(args, " "))
			}
			return target.Help()
		},
	}
}

// writeHelp writes the help of a command: what it does, how it is used, examples, what is below
// it, flags.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	text := firstOf(cmd.Long, cmd.Short)
	fmt.Fprintf(w, "%s\n\nUsage:\n", strings.Join(wrap(text, helpWidth), "\n"))
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s\n", usageLine(cmd))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
	}
	if names := slices.Sorted(slices.Values(cmd.Aliases)); len(names) > 0 {
		fmt.Fprintf(w, "\nAlso called: %s\n", strings.Join(names, ", "))
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(w, cmd)
	if flags := flagLines(cmd, helpWidth); len(flags) > 0 {
		fmt.Fprintf(w, "\nFlags:\n%s\n", strings.Join(flags, "\n"))
	}
	if cmd.HasAvailableSubCommands() {
		more := cmd.CommandPath() + " COMMAND --help says more about a command, chargehand help topics about the rest."
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrap(more, helpWidth), "\n"))
	}
}

func usageLine(cmd *cobra.Command) string {
	line := cmd.UseLine()
	if cmd.HasAvailableLocalFlags() {
		line += " [flags]"
	}
	return line
}

func writeCommands(w io.Writer, cmd *cobra.Command) {
	width := 0
	for _, child := range cmd.Commands() {
		width = max(width, len(child.Name()))
	}
	list := func(title, group string) {
		first := true
		for _, child := range cmd.Commands() {
			if !child.IsAvailableCommand() && child.Name() != "help" || child.GroupID != group {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s:\n", title)
				first = false
			}
			lines := wrap(child.Short, helpWidth-width-4)
			fmt.Fprintf(w, "  %-*s  %s\n", width, child.Name(), strings.Join(lines, "\n"+strings.Repeat(" ", width+4)))
		}
	}
	for _, group := range cmd.Groups() {
		list(group.Title, group.ID)
	}
	title := "Commands"
	if len(cmd.Groups()) > 0 {
		title = "More"
	}
	list(title, "")
}

// flagColumn is where the descriptions of flags begin.
const flagColumn = 26

// flagLines describes the flags of a command within width columns.
func flagLines(cmd *cobra.Command, width int) []string {
	var lines []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := "      --" + f.Name
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --" + f.Name
		}
		if kind := f.Value.Type(); kind != "bool" {
			head += " " + kind
		}
		text := wrap(flagText(f), width-flagColumn)
		if runewidth.StringWidth(head) > flagColumn-2 {
			lines = append(lines, head)
			head = ""
		}
		for i, line := range text {
			if i > 0 {
				head = ""
			}
			lines = append(lines, head+strings.Repeat(" ", flagColumn-runewidth.StringWidth(head))+line)
		}
	})
	return lines
}

// flagText is the description of a flag with its default.
func flagText(f *pflag.Flag) string {
	text := f.Usage
	switch f.DefValue {
	case "", "false", "0", "[]", "[1000,10000]":
		return text
	}
	if strings.Contains(text, "default") {
		return text
	}
	return text + " (default " + f.DefValue + ")"
}

// wrap breaks text into lines of at most width columns; its own line breaks between paragraphs
// and before indented lines stay.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	flush := func() {
		if current != "" {
			lines = append(lines, current)
			current = ""
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			lines = append(lines, line)
			continue
		}
		for _, word := range strings.Fields(line) {
			if current != "" && runewidth.StringWidth(current)+1+runewidth.StringWidth(word) > width {
				flush()
			}
			if current != "" {
				current += " "
			}
			current += word
		}
	}
	flush()
	return lines
}
