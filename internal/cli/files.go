package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newFiles(con console) *cobra.Command {
	c := &connection{console: con}
	return group("files", "Upload, describe and download files", c.filesUpload(), c.filesGet(), c.filesDownload())
}

func (c *connection) filesUpload() *cobra.Command {
	return c.verb("upload PATH…", "Store files; prints a reference for inputs with -o json", minArgs(1), func(ctx context.Context, api *client.Client, paths []string) error {
		var references []map[string]any
		var rows [][]string
		for _, path := range paths {
			file, err := upload(ctx, api, path)
			if err != nil {
				return err
			}
			references = append(references, file.Reference())
			rows = append(rows, []string{file.ID, file.Name, fmt.Sprint(file.Size), file.SHA256})
		}
		return c.print(references, "ID NAME SIZE SHA256", rows)
	})
}

func (c *connection) filesGet() *cobra.Command {
	return c.verb("get FILE", "Describe a file", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		f, err := api.GetFile(ctx, args[0])
		if err != nil {
			return err
		}
		return printJSON(c.out, f)
	})
}

func (c *connection) filesDownload() *cobra.Command {
	return c.verb("download FILE DIR", "Save the content of a file in a folder", exactArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		f, err := api.GetFile(ctx, args[0])
		if err != nil {
			return err
		}
		if err := os.MkdirAll(args[1], 0o755); err != nil {
			return err
		}
		path, err := c.save(ctx, api, client.Result{Filename: f.Name, URL: f.ID}, args[1])
		if err != nil {
			return err
		}
		fmt.Fprintln(c.out, path)
		return nil
	})
}
