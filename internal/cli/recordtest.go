package cli

import (
	"context"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrecord"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

func (c *connection) executionsRecordTest() *cobra.Command {
	var o testrecord.Options
	var withFiles bool
	cmd := c.verb("record-test EXECUTION", "Write a test of a workflow from what really happened", exactArgs(1),
		func(ctx context.Context, api *client.Client, args []string) error {
			e, err := findExecution(ctx, api, args[0])
			if err != nil {
				return err
			}
			return c.recordTest(ctx, api, e, o, withFiles)
		})
	cmd.Long = "Write a test file, which chargehand test runs, from what an execution that has ended received: the ends of its calls\n" +
		"and processes, the answers of people and the events, each with its time, and what it came to. The file is run before\n" +
		"it is written; standard error says if the test does not come to the same, and why. The test names its definition as\n" +
		"NAME.yaml beside it. Values of secrets are never in it: others stand for them. When the execution was suspended is not\n" +
		"in it either: its virtual time is shorter then."
	cmd.Flags().StringVar(&o.Name, "name", "", "name of the test (default: it names the execution)")
	cmd.Flags().BoolVar(&withFiles, "with-files", false, "save the contents of files that came from outside in the folder "+fixtures+", under names that follow from their contents")
	cmd.Flags().BoolVar(&o.Anonymise, "anonymise", false, "write person1@example.org and so on for e-mail addresses, and leave the names of files out of those of fixtures")
	return cmd
}

func (c *connection) recordTest(ctx context.Context, api *client.Client, e *client.Execution, o testrecord.Options, withFiles bool) error {
	g, err := api.Recording(ctx, e.WorkflowID, e.ID)
	if err != nil {
		return err
	}
	version, err := api.GetVersion(ctx, e.WorkflowID, g.WorkflowVersion, int(g.Revision))
	if err != nil {
		return err
	}
	o.Source = []byte(version.Source)
	o.Workflow = "./" + path.Base(g.WorkflowName) + ".yaml"
	o.Schema = api.Address() + "/schemas/test.json"
	read := testrecord.NoFiles
	if withFiles {
		if o.Files, err = c.saveRecorded(ctx, api, g, o.Anonymise); err != nil {
			return err
		}
		read = testrun.ReadFile
	}
	f, err := testrecord.Record(ctx, g, o, read)
	if err != nil {
		return err
	}
	c.sayRecorded(f)
	_, err = c.out.Write(f.Text)
	return err
}

// sayRecorded says how the test does that was written.
func (c *connection) sayRecorded(f *testrecord.File) {
	switch {
	case f.Passed():
		return
	case f.Test == nil:
		fmt.Fprintln(c.err, "The test was not tried:")
		for _, p := range f.Problems {
			fmt.Fprintf(c.err, "  %s\n", printable(p.Detail))
		}
		return
	}
	fmt.Fprintln(c.err, "The test does not come to the same as the execution; change it before you rely on it:")
	if f.Test.Error != nil {
		fmt.Fprintf(c.err, "  %s\n", printable(f.Test.Error.Detail))
	}
	for _, one := range f.Test.Failures {
		fmt.Fprintf(c.err, "  %s: %s instead of %s\n", printable(one.Expectation), recordedValue(one.Got, one.HasGot), recordedValue(one.Want, one.HasWant))
	}
}

func recordedValue(v value.Value, has bool) string {
	if !has {
		return "nothing"
	}
	const most = 200
	text := string(value.Marshal(v))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return printable(text)
}
