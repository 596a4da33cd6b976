package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
)

// settingGroups sort the settings of serve and worker by what they are about. A setting that is in no group
// is listed last, so none is missing.
var settingGroups = []struct {
	title string
	names []string
}{
	{"Where things are", []string{"config", "data-dir", "database-url", "master-key-file", "files-url", "files-redirect", "encrypt", "workflows"}},
	{"The server", []string{"listen", "public-url", "trusted-proxy", "rate-limit", "max-connections", "log-level", "log-format", "debug-listen"}},
	{"How persons sign in", []string{"auth-password", "oidc", "oidc-client", "oidc-secret", "oidc-secret-file", "oidc-title", "oidc-provision"}},
	{"Mail", []string{"smtp-url", "smtp-password-file", "mail-from"}},
	{"What workflows may do", []string{"allow-run", "container-volume", "container-capability", "allow-egress", "connect-to", "trusted-ca", "resource-root"}},
	{"What runs at once", []string{"max-running", "max-calls", "max-streams", "max-processes", "max-scripts", "script-timeout",
		"max-running-per-workflow", "max-calls-per-workflow", "max-processes-per-workflow",
		"max-running-per-key", "max-calls-per-key", "max-processes-per-key"}},
	{"How long things are kept", []string{"retention-live", "retention-test", "retention-events", "retention-audit", "execution-log-size"}},
	{"Quotas", []string{"quota-storage", "quota-key-storage", "quota-executions", "quota-queued", "quota-events", "quota-events-per-second", "quota-users"}},
	{"Schedules and events", []string{"time-zone", "schedule-on-default", "event-sink", "lifecycle-events", "lifecycle-prefix"}},
	{"More than one machine", []string{"engine", "workers", "temporal-address", "temporal-namespace", "temporal-task-queue", "temporal-api-key", "temporal-tls",
		"temporal-tls-ca-path", "temporal-tls-cert-path", "temporal-tls-key-path", "temporal-tls-server-name", "temporal-tls-disable-host-verification"}},
}

// writeSettings writes docs/reference/settings.md.
func writeSettings(w io.Writer, root *cobra.Command) error {
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		return err
	}
	worker, _, err := root.Find([]string{"worker"})
	if err != nil {
		return err
	}
	out := &strings.Builder{}
	out.WriteString(`# Settings

For operators: every setting of ` + "`chargehand serve` and `chargehand worker`" + `. A setting is given

1. as a flag: ` + "`--data-dir /var/lib/chargehand`" + `;
2. else as a variable of the environment, in capitals and with ` + "`CHARGEHAND_`" + ` in front:
   ` + "`CHARGEHAND_DATA_DIR=/var/lib/chargehand`" + `;
3. else in the YAML file that ` + "`--config`" + ` names: ` + "`data-dir: /var/lib/chargehand`" + `. A setting that may be repeated is
   a list there.

` + "`CHARGEHAND_CONFIG`" + ` can name the file, too. One file can serve the server and the commands beside it, such as
` + "`backup` and `doctor`" + `: each takes the settings that it has. ` + "`restore` and `store move`" + ` read no file: they make
something new. Give passwords and keys in the environment or in the file, because every user of a machine can read the
arguments of programs. Durations are written like ` + "`30d`, `12h` or `30s`" + `. A worker takes the settings that are marked.
`)
	listed := map[string]bool{"help": true}
	group := func(title string, names []string) {
		fmt.Fprintf(out, "\n## %s\n\n| Setting | Worker | Meaning |\n|---|---|---|\n", title)
		for _, name := range names {
			f := serve.Flags().Lookup(name)
			if f == nil {
				continue // TestReference finds it
			}
			listed[name] = true
			mark, meaning := "", flagText(f)
			if w := worker.Flags().Lookup(name); w != nil {
				mark = "yes"
				if w.DefValue != f.DefValue {
					meaning = fmt.Sprintf("%s (default %s, of a worker %s)", f.Usage, f.DefValue, w.DefValue)
				}
			}
			kind := ""
			if f.Value.Type() != "bool" {
				kind = " " + f.Value.Type()
			}
			fmt.Fprintf(out, "| `--%s%s` | %s | %s |\n", name, kind, mark, strings.ReplaceAll(meaning, "|", `\\|`))
		}
	}
	for _, g := range settingGroups {
		group(g.title, g.names)
	}
	var others []string
	serve.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !listed[f.Name] && !f.Hidden {
			others = append(others, f.Name)
		}
	})
	if len(others) > 0 {
		slices.Sort(others)
		group("Others", others)
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// writeLimits writes docs/reference/limits.md.
func writeLimits(w io.Writer, _ *cobra.Command) error {
	out := &strings.Builder{}
	out.WriteString(`# Limits

For authors, clients and operators: the limits of an installation with default settings. ` + "`chargehand limits` and\n`GET /api/v1/limits`" + ` show those of yours. The limits of one task or setting are on its page. A limit that is hit is
a clear error, never a silent cut.

A name ends in its unit; without one it is a number of things. Names with ` + "`_of_test`" + ` bound the environment
` + "`test`" + `, those with ` + "`_of_workflow`" + ` a single workflow, those with ` + "`_of_key`" + ` what one API key or person has
started ([what runs at once](../how-to/share-capacity.md)).

| Limit | Value | Meaning | [Setting](settings.md) |
|---|---|---|---|
`)
	for _, limit := range app.DefaultLimits() {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", limit.Name, digits(limit.Value), cell(limit.Description), flagCell(limit.Setting))
	}
	out.WriteString(`
## Connections

At most ` + "`--max-connections`" + ` clients are connected at once (default 10,000, or half of the files that the process may
have open, ` + "`ulimit -n`" + `). For the next one, the connection that has waited longest for a request is closed; while all
of them are being answered, it gets 503 ` + "`unavailable`" + ` at once. A header must arrive within 10 seconds and a body of up
to 1 MiB within 30; a longer one has 30 seconds, and another one for every 8 KiB that have arrived. What signs in has 10
seconds in place of 30. The body of a request that is refused has at most two seconds, or one from a client that has
shown no valid key. If it announces at most 256 KiB, it is read before the answer; when the time is over, the answer is
sent, and the rest has as long again. If it is larger or comes in chunks, the answer is sent at once, and the time
counts from there. Then the connection is closed; it is kept only if the body came before the answer
([more](api.md#errors)). A request asks for at most 16 ranges of a file.

## Queues

More than 10,000 queued executions of one workflow in one environment (` + "`--quota-queued`" + `) are refused with 429
` + "`queue_full`" + `; items of batches and executions that other executions start do not count. Of executions that
workflows start, 10,000 at once may come from one start.

## Quotas

` + "`storage_bytes`, `key_storage_bytes`, `kept_executions`, `queued_executions`, `kept_events`, `events_per_second` and\n`users`" + ` are quotas, whose current use the list shows as ` + "`used`" + `: [quotas and storage](../how-to/quotas-and-storage.md).
`)
	_, err := io.WriteString(w, out.String())
	return err
}

// flagCell is the cell of a setting, which may be none.
func flagCell(name string) string {
	if name == "" {
		return ""
	}
	return "`--" + name + "`"
}

// writeErrors writes docs/reference/errors.md.
func writeErrors(w io.Writer, _ *cobra.Command) error {
	out := &strings.Builder{}
	out.WriteString(`# Error codes of the API

For clients. Every error answer has one of these codes in ` + "`code`; `GET /api/v1/problems/{code}`" + ` explains each.
[Errors](api.md#errors) says what else an error answer holds. 400: the request is malformed. 422: it is well-formed, but
its content is invalid. 404: not found, or hidden from this key. 401 comes with ` + "`WWW-Authenticate`, 405 with `Allow`,\n429 and 503 with `Retry-After`" + `.

Errors of executions are another matter: [errors](../language/errors.md) lists those of the language,
[codes of executions](../language/errors.md#codes-of-executions) their codes, and [problems](../language/problems.md)
what is wrong with a definition.

| Status | Code | Meaning |
|---|---|---|
`)
	for _, p := range app.Problems() {
		fmt.Fprintf(out, "| %d | `%s` | %s. %s |\n", p.Status, p.Code, p.Title, cell(p.About))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// cell is a text as a cell of a Markdown table.
func cell(text string) string {
	return upperFirst(strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`))
}

// digits writes a number with a comma before each three digits.
func digits(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
