package api

import (
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

const (
	// maxLogPage is the largest page of a log, defaultLogPage the one without limit.
	maxLogPage     = 10_000
	defaultLogPage = 1_000
	// maxLogTasks bounds the tasks that a log is asked for, maxLogText the text.
	maxLogTasks = 100
	maxLogText  = 200
	// logComplete is the header that says whether a log is complete.
	logComplete = "Chargehand-Log-Complete"
)

var (
	logLevels  = []any{"trace", "debug", "info", "warning", "error", "critical"}
	logStreams = []any{"stdout", "stderr", "log"}
)

// logLine is a line of the answer.
type logLine struct {
	Line   int64  `json:"line" minimum:"1" doc:"Number of the line in the log, from 1 without gaps."`
	At     moment `json:"at" doc:"When it was written."`
	Seq    *int64 `json:"seq" nullable:"true" doc:"Number of the entry in the timeline whose task wrote it; null: of none."`
	Level  string `json:"level" enum:"trace,debug,info,warning,error,critical" doc:"Lines of stdout and stderr are info."`
	Stream string `json:"stream" enum:"stdout,stderr,log" doc:"stdout and stderr of a process or script; log: the function log, attempts of calls, and remarks in square brackets about what is missing."`
	Text   string `json:"text" doc:"The line without its line break, and without the secrets of the execution."`
}

var logParameters = []*parameter{
	{
		name: "after", in: "query", about: "Only lines behind this one: the number of the last line of the previous answer.",
		schema: huma.Schema{Type: "integer", Format: "int64", Minimum: number(0)}, example: 1000,
		read: func(c *call, value string) string {
			after, err := strconv.ParseInt(value, 10, 64)
			if err != nil || after < 0 {
				return "must be a whole number, at least 0."
			}
			c.args.log.After = after
			return ""
		},
	},
	{
		name: "seq", in: "query", many: true, about: "Only lines of the task with this number in the timeline. Repeat it for several.", example: 3,
		schema: huma.Schema{Type: "integer", Format: "int64", Minimum: number(1)},
		read: func(c *call, value string) string {
			seq, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil || seq < 1:
				return "must be a whole number, at least 1."
			case len(c.args.log.Seqs) == maxLogTasks:
				return "must not be there more than " + strconv.Itoa(maxLogTasks) + " times."
			}
			c.args.log.Seqs = append(c.args.log.Seqs, seq)
			return ""
		},
	},
	{
		name: "level", in: "query", about: "Only lines of this level, and more urgent ones.", example: "warning",
		schema: huma.Schema{Type: "string", Enum: logLevels},
		read: func(c *call, value string) string {
			level, ok := chargehand.ParseLogLevel(value)
			if !ok {
				return "must be one of " + listed(logLevels) + "."
			}
			c.args.log.Level = level
			return ""
		},
	},
	{
		name: "stream", in: "query", many: true, about: "Only lines of this stream. Repeat it for several.", example: "stderr",
		schema: huma.Schema{Type: "string", Enum: logStreams},
		read: func(c *call, value string) string {
			stream, ok := chargehand.ParseLogStream(value)
			if !ok {
				return "must be one of " + listed(logStreams) + "."
			}
			c.args.log.Streams = append(c.args.log.Streams, stream)
			return ""
		},
	},
	{
		name: "q", in: "query", about: "Only lines with this text, in upper or lower case.", example: "failed",
		schema: huma.Schema{Type: "string", MinLength: count(1), MaxLength: count(maxLogText)},
		read: func(c *call, value string) string {
			if value == "" || !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxLogText {
				return "must have 1 to 200 characters of UTF-8."
			}
			c.args.log.Text = value
			return ""
		},
	},
	{
		name: "limit", in: "query", about: "Maximum number of lines: a whole number from 1 to 10000.",
		schema: huma.Schema{Type: "integer", Default: defaultLogPage, Minimum: number(1), Maximum: number(maxLogPage)},
		read: func(c *call, value string) string {
			limit, err := strconv.Atoi(value)
			if err != nil || limit < 1 || limit > maxLogPage {
				return "must be a whole number from 1 to 10000."
			}
			c.args.log.Limit = limit
			return ""
		},
	},
	waitParameter, preferParameter,
}

// logEndpoint is the route of a log below an execution.
func logEndpoint(execution, id, summary string, serve func(*call) error) endpoint {
	return endpoint{
		method: get, path: execution + "/log", id: id, tag: "Executions", summary: summary,
		about: "JSON Lines, oldest first: what processes and scripts write while they run, what the function log gives, and a line for each attempt of a call. " +
			"Ask again with after for what follows; with wait, the answer comes when there is a line that is asked for. " +
			"The header " + logComplete + " says true when the execution has ended: if the answer then has fewer lines than limit, nothing follows.",
		scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, parameters: logParameters,
		answers: []answer{{
			status: 200, about: "Lines of the log", media: linesMedia, line: logLine{}, headers: []string{logComplete, "Preference-Applied"},
		}},
		serve: serve,
	}
}

func (c *call) getLog() error {
	ctx, done := c.waiting()
	defer done()
	q := c.args.log
	q.Wait = c.args.wait
	if q.Limit == 0 {
		q.Limit = defaultLogPage
	}
	log, err := c.server.service.Log(ctx, c.principal, c.workflow, c.execution, q)
	if err != nil {
		return err
	}
	c.w.Header().Set(logComplete, strconv.FormatBool(log.Complete))
	s := c.stream(http.StatusOK)
	s.media = linesValue
	err = log.Lines(c.r.Context(), func(l *service.LogLine) error {
		text, err := encode(viewLogLine(l))
		if err != nil {
			return err
		}
		s.dst = append(append(s.dst, text...), '\n')
		return s.flow()
	})
	if err != nil {
		return err
	}
	return s.close()
}

func viewLogLine(l *service.LogLine) logLine {
	v := logLine{Line: l.Line, At: at(l.At), Level: l.Level.String(), Stream: l.Stream.String(), Text: l.Text}
	if l.Seq != 0 {
		v.Seq = &l.Seq
	}
	return v
}
