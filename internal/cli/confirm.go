package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// confirm asks before something that cannot be undone. Without a terminal to ask on, --yes is needed.
func (c console) confirm(ctx context.Context, yes bool, what string) error {
	if yes {
		return nil
	}
	f, ok := c.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usage("this would %s; say --yes if you mean it", what)
	}
	fmt.Fprintf(c.err, "This will %s.\nContinue? [y/N] ", what)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f).ReadString('\n') // no answer is no
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done(): // Ctrl-C
		fmt.Fprintln(c.err)
		return &exitError{code: exitInterrupted}
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return &exitError{ExitFailed, errors.New("nothing was changed")}
}
