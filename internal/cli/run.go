package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

// exitInterrupted is what shells expect of a command that Ctrl-C ended.
const exitInterrupted = 130

// pollTime is how long one question about progress waits for the end.
const pollTime = 2 * time.Second

func newRun(con console) *cobra.Command {
	c := &connection{console: con}
	var input, version, download string
	var files []string
	var noWait, noPeople bool
	cmd := &cobra.Command{
		Use:   "run WORKFLOW",
		Short: "Start one execution and follow it to its end",
		Long: "Start one execution and follow it to its end. WORKFLOW is an id or namespace/name. Progress goes to standard\n" +
			"error, the final execution as JSON to standard output. Ctrl-C stops following; the execution goes on.",
		Args: exactArgs(1),
		RunE: c.run(func(ctx context.Context, api *client.Client, args []string) error {
			data, err := con.readInput(input)
			if err != nil {
				return err
			}
			workflow, err := api.FindWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			if err := addFiles(ctx, api, data, files); err != nil {
				return err
			}
			body, err := json.Marshal(data)
			if err != nil {
				return err
			}
			e, err := api.Start(ctx, workflow.ID, body, client.StartOptions{Version: version})
			if err != nil {
				return err
			}
			if noWait {
				return printJSON(con.out, e)
			}
			return c.follow(ctx, api, e, noPeople, download)
		}),
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "input object: JSON, @FILE, or - for standard input")
	f.StringArrayVar(&files, "file", nil, "NAME=PATH: upload the file and pass its reference as input NAME (repeatable)")
	f.StringVar(&version, "version", "", "run this version instead of the published one")
	f.BoolVar(&noWait, "no-wait", false, "print the accepted execution and return")
	f.BoolVar(&noPeople, "no-wait-for-people", false, "return with exit code 3 when a person is needed")
	f.StringVar(&download, "download", "", "save the result files in this folder")
	return cmd
}

// follow waits for the end of an execution, tells its progress, prints it and returns the
// exit code that its end asks for.
func (c *connection) follow(ctx context.Context, api *client.Client, e *client.Execution, noPeople bool, download string) error {
	progress := newProgress(c.console, api, e)
	defer progress.stop()
	for {
		var err error
		workflow, id := e.WorkflowID, e.ID
		if e, err = api.GetExecution(ctx, workflow, id, pollTime); err != nil {
			if errors.Is(err, context.Canceled) {
				progress.stop()
				fmt.Fprintf(c.err, "no longer following; the execution goes on: chargehand executions get %s %s --wait\n", workflow, id)
				return &exitError{code: exitInterrupted}
			}
			return err
		}
		progress.show(ctx, e)
		if e.Final() {
			break
		}
		if noPeople && e.Status == "human_in_the_loop" {
			break
		}
	}
	progress.stop()
	if err := printJSON(c.out, e); err != nil {
		return err
	}
	switch {
	case e.Status == "error":
		if e.Error != nil {
			fmt.Fprintf(c.err, "%s: %s\n", c.paint("31", "error"), printable(strings.TrimSpace(e.Error.Title+": "+e.Error.Detail)))
		}
		return &exitError{code: ExitFailed}
	case !e.Final():
		fmt.Fprintln(c.err, "a person is needed")
		return &exitError{code: ExitPerson}
	}
	if download != "" {
		return c.download(ctx, api, e, download)
	}
	return nil
}

// download saves the result files under their names; a name that is taken gets a number.
func (c *connection) download(ctx context.Context, api *client.Client, e *client.Execution, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, result := range e.Results {
		path, err := c.save(ctx, api, result, dir)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.err, "saved", path)
	}
	return nil
}

func (c *connection) save(ctx context.Context, api *client.Client, result client.Result, dir string) (string, error) {
	f, err := createFresh(dir, safeName(result.Filename))
	if err != nil {
		return "", err
	}
	if _, err = api.Download(ctx, result.URL, f); err == nil {
		err = f.Close()
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return "", fmt.Errorf("save %s: %w", result.Filename, err)
	}
	return f.Name(), nil
}

// createFresh creates name, or name with a number, never over an existing file.
func createFresh(dir, name string) (*os.File, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	const mostNumbers = 10_000
	for i := 1; i < mostNumbers; i++ {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
		name = fmt.Sprintf("%s (%d)%s", stem, i+1, ext)
	}
	return nil, fmt.Errorf("%s holds too many files named %s", dir, stem+ext)
}

// safeName makes a name from the server a plain file name.
func safeName(name string) string {
	name = strings.TrimLeft(filepath.Base(printable(strings.ReplaceAll(name, `\`, "/"))), "-")
	if name == "." || name == ".." || name == "/" || strings.TrimSpace(name) == "" {
		return "result"
	}
	return name
}
