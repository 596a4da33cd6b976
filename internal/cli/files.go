package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newFiles(con console) *cobra.Command {
	c := &connection{console: con}
	return group("files", "Upload, describe, download and delete files", c.filesUpload(), c.filesGet(), c.filesDownload(), c.filesDelete())
}

func (c *connection) filesUpload() *cobra.Command {
	return c.verb("upload FILE…", "Store files; -o json prints references for inputs", minArgs(1), func(ctx context.Context, api *client.Client, paths []string) error {
		references := []map[string]any{}
		var rows [][]string
		for _, path := range paths {
			file, err := upload(ctx, api, path)
			if err != nil {
				return err
			}
			references = append(references, file.Reference())
			rows = append(rows, []string{file.ID, file.Name, fmt.Sprint(file.Size), file.SHA256})
		}
		if !c.tables() {
			return c.encode(references)
		}
		return c.table(columns("ID NAME~ SIZE> SHA256*"), rows, true)
	})
}

func (c *connection) filesGet() *cobra.Command {
	return c.verb("get ID", "Describe a file", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		f, err := api.GetFile(ctx, args[0])
		if err != nil {
			return err
		}
		return c.show(f, []field{
			{"id", f.ID}, {"name", f.Name}, {"type", f.ContentType}, {"size", fmt.Sprintf("%d bytes", f.Size)}, {"sha256", f.SHA256},
			{"created", exactly(&f.CreatedAt)}, {"reference", f.URI},
		})
	})
}

func (c *connection) filesDownload() *cobra.Command {
	var save saving
	cmd := c.verb("download ID DIR", "Save the content of a file in a folder", exactArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		save.dir = args[1]
		if err := save.check(); err != nil {
			return err
		}
		f, err := api.GetFile(ctx, args[0])
		if err != nil {
			return err
		}
		path, err := c.save(ctx, api, client.Result{Filename: f.Name, URL: f.ID}, save, map[string]bool{})
		if err != nil || path == "" {
			return err
		}
		fmt.Fprintln(c.out, path)
		return nil
	})
	save.registerRules(cmd.Flags())
	return cmd
}

func (c *connection) filesDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete ID", "Delete a file; executions that have not ended keep theirs", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		name := args[0]
		if !yes {
			f, err := api.GetFile(ctx, args[0])
			if err != nil {
				return err
			}
			name = f.Name
		}
		if err := c.confirm(ctx, yes, fmt.Sprintf("delete the file %s: links to it and results that name it end", printable(name))); err != nil {
			return err
		}
		if err := api.DeleteFile(ctx, args[0]); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", printable(name))
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}
