package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/value"
)

// answering is what the command line says of an answer.
type answering struct {
	outcome, data, comment, onBehalfOf string
	files                              []string // paths
}

func (c *connection) tasksAnswer() *cobra.Command {
	var a answering
	cmd := c.verb("answer TASK", "Answer a human task", exactArgs(1), c.onTask(func(ctx context.Context, api *client.Client, t *client.HumanTask) error {
		if a.outcome == "" && a.data == "" && c.asksPeople() {
			return c.answerByForm(ctx, api, t, &a)
		}
		return c.answerWith(ctx, api, t, &a)
	}))
	cmd.Long = `Answer a human task, with which its execution continues.

On a terminal, without --outcome and --data, it asks: for each field of the form of the task, for a comment, and for
the decision. What the server refuses is asked again, and nothing that was entered is lost. Ctrl-C sends nothing. With
NO_COLOR or TERM=dumb it asks line by line, in plain text.

--outcome is one of the outcomes that tasks show lists; it can be left out where there is one. --data is what the form
of the task asks for; what the task was filled with before is not added to it. The same answer of the same person again
changes nothing, so it can be sent again when the connection breaks.

An answer that does not fit the form ends with exit code 2, and says what is wrong where. The task stays open.`
	f := cmd.Flags()
	f.StringVar(&a.outcome, "outcome", "", "the decision: the name of an outcome")
	f.StringVar(&a.data, "data", "", "what the form asks for: JSON, @FILE, or - for standard input")
	f.StringVar(&a.comment, "comment", "", "a comment, which the workflow gets with the answer")
	f.StringArrayVar(&a.files, "file", nil, "a file to give with the answer, where the task asks for files; give it several times for several files")
	f.StringVar(&a.onBehalfOf, "on-behalf-of", "", "e-mail address of the person whose answer it is; needs the scope tasks:impersonate")
	return cmd
}

// answerWith answers a task with what the command line says.
func (c *connection) answerWith(ctx context.Context, api *client.Client, t *client.HumanTask, a *answering) error {
	answer := client.HumanTaskAnswer{Outcome: a.outcome, Comment: a.comment, OnBehalfOf: a.onBehalfOf}
	if answer.Outcome == "" {
		if len(t.Outcomes) != 1 {
			return usage("--outcome is missing: it is one of %s", printable(outcomesText(t.Outcomes)))
		}
		answer.Outcome = t.Outcomes[0].Name
	}
	if a.data != "" {
		data, err := c.readJSON("--data", a.data)
		if err != nil {
			return err
		}
		answer.Data = data
	}
	if err := uploadAnswerFiles(ctx, api, a.files, &answer); err != nil {
		return err
	}
	t, err := api.AnswerHumanTask(ctx, t.ID, answer)
	if err != nil {
		return err
	}
	return c.answered(t)
}

// answered says what was answered, and shows the task.
func (c *connection) answered(t *client.HumanTask) error {
	if t.Answer != nil {
		fmt.Fprintf(c.err, "answered %s with %s\n", printable(t.Title), printable(t.Answer.Outcome))
	}
	return c.showTask(t)
}

// readJSON reads the JSON that a flag gives. Its numbers stay as they are written.
func (c *connection) readJSON(flag, text string) (json.RawMessage, error) {
	v, err := c.readValue(flag, text)
	if err != nil {
		if text != "-" && !strings.HasPrefix(text, "@") {
			return nil, usage("%w (a file is read with an @ before its name: %s @FILE)", err, flag)
		}
		return nil, err
	}
	return value.Marshal(v), nil
}

// uploadAnswerFiles stores files for an answer.
func uploadAnswerFiles(ctx context.Context, api *client.Client, paths []string, answer *client.HumanTaskAnswer) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil { // before anything is uploaded
			return usage("--file: %w", unreadable(err))
		}
	}
	for _, path := range paths {
		file, err := upload(ctx, api, path)
		if err != nil {
			return err
		}
		answer.Files = append(answer.Files, file.ID)
	}
	return nil
}
