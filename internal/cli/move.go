package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/move"
	"github.com/spf13/cobra"
)

func newStore(con console) *cobra.Command {
	return group("store", "Move an installation to another database", newStoreMove(con))
}

func newStoreMove(con console) *cobra.Command {
	var what move.Request
	var undo bool
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "move --from DIR --to postgres://…",
		Short: "Take a stopped installation to PostgreSQL, and its files to S3",
		Long: "Take an installation whose server is stopped from its data directory to an empty PostgreSQL database,\n" +
			"and its files to S3 or another folder. Every table and file is compared before the old installation is\n" +
			"marked as moved; nothing else in it is changed. A move that was cut off continues when it is run again.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			if undo {
				return undoMove(cmd.Context(), con, what)
			}
			log, err := newLog(con, logs.level, logs.format)
			if err != nil {
				return err
			}
			what.Log = log
			return runMove(cmd.Context(), con, what)
		},
	}
	f := cmd.Flags()
	f.StringVar(&what.From, "from", "", "data directory of the installation to move")
	f.StringVar(&what.FromMasterKeyFile, "from-master-key-file", "", "its master key (default: master.key in the data directory)")
	f.StringVar(&what.FromFilesURL, "from-files", "", "where its files are, as --files-url of serve (default: in the data directory)")
	f.StringVar(&what.To, "to", "", "PostgreSQL database to fill: postgres://user@host/name (with a password, better set as CHARGEHAND_TO)")
	f.StringVar(&what.ToFilesURL, "to-files", "", "where the files go: s3://bucket?… or file:///path (default: they are left where they are)")
	f.StringVar(&what.MasterKeyFile, "master-key-file", "", "where the new installation has the key: it is copied there, or must be the same (default: left where it is)")
	f.BoolVar(&undo, "undo", false, "let the data directory be served again after it was moved; it does not have what has happened in the new database since")
	logs.register(f)
	return cmd
}

func undoMove(ctx context.Context, con console, what move.Request) error {
	if what.From == "" {
		return usage("--from is missing: the data directory that was moved")
	}
	to, err := move.Undo(ctx, what.From)
	if err != nil {
		return fmt.Errorf("undo the move: %w", err)
	}
	fmt.Fprintf(con.err, "%s can be served again, as it was when it was moved to %s\ndo not let both run: executions would be carried out twice\n", what.From, to)
	return nil
}

func runMove(ctx context.Context, con console, what move.Request) error {
	p := &moveProgress{console: con}
	what.Progress = p.show
	report, err := move.Run(ctx, what)
	p.end()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted; run the same command again to continue")
		}
		return fmt.Errorf("move: %w", err)
	}
	fmt.Fprintf(con.err, "%d tables with %d rows are the same on both sides", report.Tables, report.Compared)
	if seconds := report.CopyTime.Seconds(); report.Rows > 0 && seconds > 0 {
		fmt.Fprintf(con.err, " (%d copied in %.1f s, %.0f/s; compared in %.1f s)", report.Rows, seconds, float64(report.Rows)/seconds, report.CompareTime.Seconds())
	}
	where := fmt.Sprintf("are in the new store (%.1f s)", report.FilesTime.Seconds())
	if report.FilesLeft {
		where = "were left where they are"
	}
	fmt.Fprintf(con.err, "\n%d contents of files (%d bytes) %s\n", report.Files, report.FileBytes, where)
	ok := printFindings(con, report.Findings)
	var flags []string
	for _, flag := range report.Serve {
		flags = append(flags, quoteShell(flag))
	}
	fmt.Fprintln(con.out, "chargehand serve "+strings.Join(flags, " "))
	if strings.Contains(strings.Join(report.Serve[:2], ""), "xxxxx") {
		fmt.Fprintln(con.err, "write the password instead of xxxxx, or better set CHARGEHAND_DATABASE_URL")
	}
	if report.FilesLeft {
		fmt.Fprintln(con.err, "keep the old folder of files: the new installation uses it")
	}
	if !ok {
		return &exitError{code: ExitFailed}
	}
	return nil
}

// quoteShell quotes what a shell would take apart.
func quoteShell(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// moveProgress tells how far a move is: one line that is written anew on a terminal, a line
// for each part and every few seconds elsewhere.
type moveProgress struct {
	console
	part string
	last time.Time
	open bool // the line on the terminal
}

const moveLineEvery = 100 * time.Millisecond

func (p *moveProgress) show(s move.Step) {
	verb, part := "copy", s.Part
	if s.Compare {
		verb = "compare"
	}
	part = verb + " " + part
	ended := s.Done >= s.Total
	if s.Total == 0 && ended && !p.open {
		return // nothing to tell about an empty table
	}
	every := plainLineEvery
	if terminal(p.err) {
		every = moveLineEvery
	}
	now := time.Now()
	if !ended && p.part == part && now.Sub(p.last) < every {
		return
	}
	if p.part != part && !ended && !terminal(p.err) {
		p.part, p.last = part, now // the first line comes after a while, or with the end
		return
	}
	p.part, p.last = part, now
	text := fmt.Sprintf("%-24s %d of %d", part, s.Done, s.Total)
	if s.Total > 0 {
		text += fmt.Sprintf(" (%d %%)", 100*s.Done/s.Total)
	}
	if !terminal(p.err) {
		fmt.Fprintln(p.err, text)
		return
	}
	fmt.Fprint(p.err, "\r\x1b[K"+text)
	if p.open = !ended; ended {
		fmt.Fprintln(p.err)
	}
}

// end leaves a line that is being written anew.
func (p *moveProgress) end() {
	if p.open {
		fmt.Fprintln(p.err)
		p.open = false
	}
}
