package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func (c *connection) executionsDownload() *cobra.Command {
	var path string
	var clobber bool
	cmd := c.verb("download EXECUTION", "Save all that is kept of an execution as a zip file", exactArgs(1),
		c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
			to := path
			if to == "" {
				to = "execution-" + e.ID + ".zip"
			}
			return c.saveArchive(ctx, api, e, to, clobber)
		}))
	cmd.Long = "Save all that is kept of an execution as a zip file: the execution with its input and output, its definition, its\n" +
		"timeline, its log, its results and the other files of its tasks. files.json names the files, and says what is missing.\n" +
		"Of an execution that has not ended, it has what there is so far. A file that is not whole is not kept."
	cmd.Flags().StringVarP(&path, "to", "O", "", "the file; - is standard output (default: execution-ID.zip)")
	cmd.Flags().BoolVar(&clobber, "clobber", false, "replace a file that exists")
	return cmd
}

// saveArchive writes an archive to a file, and says where, or to standard output.
func (c *connection) saveArchive(ctx context.Context, api *client.Client, e *client.Execution, path string, clobber bool) error {
	if path == "-" {
		if terminal(c.out) {
			return usage("a zip file is not for a terminal: name a file with --to, or send it on, as in --to - | bsdtar -tf -")
		}
		_, err := api.Archive(ctx, e.WorkflowID, e.ID, c.out)
		return err
	}
	err := writeWhole(path, clobber, func(to io.Writer) error {
		_, err := api.Archive(ctx, e.WorkflowID, e.ID, to)
		return err
	})
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: --clobber replaces it, --to FILE writes another one", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, path)
	return nil
}
