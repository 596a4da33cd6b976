package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrun"
)

// What became of a definition that was applied.
const (
	applyCreated   = "created"
	applyUpdated   = "updated"
	applyPublished = "published"
	applyUnchanged = "unchanged"
)

// appliedFile is what apply prints for a file.
type appliedFile struct {
	File   string `json:"file"`
	Result string `json:"result"` // created, updated, published, unchanged
	// PreviousRevision is the revision of the version before; 0: there was none.
	PreviousRevision int `json:"previous_revision,omitempty"`
	*client.Applied
}

func (c *connection) workflowsApply() *cobra.Command {
	var o client.ApplyOptions
	cmd := c.verb("apply FILE…", "Create or update workflows from YAML or JSON files", minArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		files, err := definitionFiles(args)
		if err != nil {
			return err
		}
		list := []*appliedFile{}
		var failed error
		for _, file := range files {
			a, err := c.apply(ctx, api, file, o)
			if err == nil {
				list = append(list, a)
				continue
			}
			if exit := (*exitError)(nil); !errors.As(err, &exit) || exit.code != ExitUsage || len(files) == 1 {
				return err // the server, not the file
			}
			fmt.Fprintf(c.err, "%s\n", err)
			failed = &exitError{code: ExitUsage}
		}
		return errors.Join(encodeList(c.console, c.output, list), failed)
	})
	cmd.Long = `Create or update workflows from YAML or JSON files, by the namespace, name and version that they state, and publish them.

FILE is a file, - for standard input, or a folder, of which every .yaml, .yml and .json file is applied. Files of tests
(NAME.test.yaml, NAME.snap.yaml) are left out.
Another content under a version that exists makes a new revision of that version and replaces the one before.`
	cmd.Flags().BoolVar(&o.Draft, "draft", false, "do not publish")
	cmd.Flags().StringVarP(&o.Message, "message", "m", "", "what the new revisions are for; their versions show it")
	return cmd
}

// encodeList prints a list in the one shape of lists; a table was printed line by line.
func encodeList[T any](con console, output string, list []T) error {
	c := connection{console: con, output: output}
	switch {
	case c.tables():
		return nil
	case output == formatJSONL:
		for i := range list {
			if err := c.encode(list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return c.encode(listed[T]{Data: list})
}

// definitionFiles are the files that the arguments name; of a folder those with definitions. Files of tests are left
// out, which a pattern of the shell names, too.
func definitionFiles(args []string) ([]string, error) {
	args, err := withoutTests(args)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if arg == "-" || err != nil || !info.IsDir() {
			files = append(files, arg) // the error for a file that does not exist comes when it is read
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, usage("%w", unreadable(err))
		}
		before := len(files)
		for _, entry := range entries {
			if slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(entry.Name()))) && !entry.IsDir() && !testrun.BelongsToTests(entry.Name()) {
				files = append(files, filepath.Join(arg, entry.Name()))
			}
		}
		if len(files) == before {
			return nil, usage("%s holds no .yaml, .yml or .json file with a definition", arg)
		}
	}
	return files, nil
}

// withoutTests leaves out the files of tests, unless there are no others.
func withoutTests(args []string) ([]string, error) {
	files := slices.DeleteFunc(slices.Clone(args), testrun.BelongsToTests)
	if len(files) == 0 {
		return nil, usage("%s holds tests and no definition; run them: chargehand test", args[0])
	}
	return files, nil
}

// apply applies one file and tells what became of it.
func (c *connection) apply(ctx context.Context, api *client.Client, file string, o client.ApplyOptions) (*appliedFile, error) {
	definition, err := c.readFile(file)
	if err != nil {
		return nil, err
	}
	before, err := appliedBefore(ctx, api, definition)
	if err != nil {
		return nil, err
	}
	a, err := api.ApplyWorkflow(ctx, definition, o)
	if err != nil {
		return nil, located(file, err)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(c.err, "%s:%d:%d: warning: %s\n", file, max(warning.Line, 1), max(warning.Column, 1), printable(warning.Detail))
	}
	applied := &appliedFile{File: file, Result: applyCreated, Applied: a}
	text := applyCreated
	if before != nil {
		applied.PreviousRevision = before.Revision
		switch {
		case before.Revision != a.Revision:
			applied.Result = applyUpdated
			text = fmt.Sprintf("updated, revision %d → %d", before.Revision, a.Revision)
		case before.Draft && !a.Draft:
			applied.Result, text = applyPublished, applyPublished
		default:
			applied.Result, text = applyUnchanged, applyUnchanged
		}
	} else if !a.Created {
		applied.Result, text = applyUpdated, "updated, new version"
	}
	if a.Draft {
		text += ", draft"
	}
	if o.Message != "" && before != nil && before.Revision == a.Revision {
		fmt.Fprintf(c.err, "%s: no new revision was made, so the message is not kept\n", file)
	}
	if a.Draft && !o.Draft {
		fmt.Fprintf(c.err, "%s: stored as a draft, because this key does not publish; use a key of live with the scope workflows:publish\n", file)
	}
	if before != nil && before.Published && applied.Result == applyUpdated && !a.Draft {
		fmt.Fprintf(c.err, "%s: %s: %s: version %s was published with another content, which is replaced: new starts run the new one; "+
			"to go back, apply the older definition again (chargehand workflows show %s --version %s --revision %d -o yaml)\n",
			file, c.paint("33", "warning"), a.Namespace+"/"+a.Name, a.Version, a.Namespace+"/"+a.Name, a.Version, before.PublishedRevision)
	}
	if c.tables() {
		fmt.Fprintf(c.out, "%s  %s/%s  %s  %s\n", a.ID, a.Namespace, a.Name, a.Version, text)
	}
	return applied, nil
}

// document is what a definition says about itself.
type document struct {
	Document struct{ Namespace, Name, Version string }
}

// appliedBefore is the version of the workflow that a definition would replace; nil: none. What
// is no definition is for the server to judge.
func appliedBefore(ctx context.Context, api *client.Client, definition []byte) (*client.WorkflowVersion, error) {
	var d document
	if yaml.Unmarshal(definition, &d) != nil || d.Document.Name == "" || d.Document.Version == "" {
		return nil, nil
	}
	v, err := listedVersion(ctx, api, firstOf(d.Document.Namespace, "default"), d.Document.Name, d.Document.Version)
	if isMissing(err) {
		return nil, nil
	}
	return v, err
}

// listedVersion looks for a version of a workflow in lists, because the server logs a request for what is not there
// as failed, and nothing has failed where a definition is new. Nil: it is not there.
func listedVersion(ctx context.Context, api *client.Client, namespace, name, version string) (*client.WorkflowVersion, error) {
	found, err := api.ListWorkflows(ctx, client.WorkflowFilter{Namespace: namespace, Name: name}, 1, "")
	if err != nil || len(found.Data) == 0 {
		return nil, err
	}
	for cursor := ""; ; {
		page, err := api.ListVersions(ctx, found.Data[0].ID, maxPage, cursor)
		if err != nil {
			return nil, err
		}
		for i := range page.Data {
			if page.Data[i].Version == version {
				return &page.Data[i], nil
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return nil, nil
		}
	}
}

// isMissing reports whether the server says that there is no such thing, or not for this key.
func isMissing(err error) bool {
	var answer *client.Error
	return errors.As(err, &answer) && (answer.Status == http.StatusNotFound || answer.Status == http.StatusForbidden)
}

func (c *connection) workflowsDiff() *cobra.Command {
	var failing bool
	cmd := c.verb("diff FILE…", "Compare definitions with what the server has under their names", minArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		files, err := definitionFiles(args)
		if err != nil {
			return err
		}
		differs := false
		for _, file := range files {
			definition, err := c.readFile(file)
			if err != nil {
				return err
			}
			old, name, err := sourceBefore(ctx, api, file, definition)
			if err != nil {
				return err
			}
			text := diff.Diff(name, []byte(old), file, definition)
			differs = differs || len(text) > 0
			if _, err := c.out.Write(text); err != nil {
				return err
			}
		}
		if differs && failing {
			return &exitError{code: ExitFailed}
		}
		return nil
	})
	cmd.Long = `Compare definitions with what the server has under their names: the same version, or if it is new the published one.

Nothing is printed where they are the same.`
	cmd.Flags().BoolVar(&failing, "exit-code", false, "exit with 1 if there is a difference")
	return cmd
}

// sourceBefore is the source that a definition is compared with, and its name.
func sourceBefore(ctx context.Context, api *client.Client, file string, definition []byte) (source, name string, err error) {
	var d document
	if err := yaml.Unmarshal(definition, &d); err != nil || d.Document.Name == "" {
		return "", "", usage("%s: this is no definition: it has no document.name (chargehand workflows validate %s says more)", file, file)
	}
	name = firstOf(d.Document.Namespace, "default") + "/" + d.Document.Name
	w, err := api.FindWorkflow(ctx, name)
	if isMissing(err) {
		return "", name + " (not on the server)", nil
	}
	if err != nil {
		return "", "", err
	}
	v, err := api.GetVersion(ctx, w.ID, d.Document.Version, 0)
	if err == nil {
		return v.Source, fmt.Sprintf("%s %s revision %d", name, v.Version, v.Revision), nil
	}
	if !isMissing(err) {
		return "", "", err
	}
	if w, err = api.GetWorkflow(ctx, w.ID); err != nil {
		return "", "", err
	}
	return w.Source, fmt.Sprintf("%s %s revision %d", name, w.Version, w.Revision), nil
}
