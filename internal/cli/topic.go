package cli

// topic is a page of help that belongs to no single command.
type topic struct{ short, text string }

var topics = map[string]topic{
	"environment": {"the variables that commands read", `Variables of the environment:

  CHARGEHAND_URL         address of the server (default http://127.0.0.1:8080)
  CHARGEHAND_API_KEY     the API key of commands that talk to a server
  CHARGEHAND_CONTEXT     the context to use instead of the current one
  CHARGEHAND_ENVIRONMENT live or test: which key of the context commands use
  CHARGEHAND_DATA_DIR …  every flag of serve, worker, keys create, backup, restore,
                         doctor, store and temporal: --data-dir is
                         CHARGEHAND_DATA_DIR, --allow-run is CHARGEHAND_ALLOW_RUN
  CHARGEHAND_CONFIG      the file of settings, as --config names it
  NO_COLOR               set to anything: no colours

A flag wins over its variable, the variable over the file that --config names, and that
over a context (chargehand help contexts). A key belongs to one environment of the
server, live or test, and commands work in the environment of their key.
`},
	"contexts": {"saved servers and keys, and which one a command uses", `A context is a server with a key for each of its environments. chargehand login makes one.

  chargehand context list       the contexts; the current one is marked
  chargehand context use NAME   make another one current
  --context NAME                use another one for a single command; nothing else counts then
  --environment test            use the key of test for a single command

Without --context a command takes the address from --url, CHARGEHAND_URL, the context that
CHARGEHAND_CONTEXT names, or the current one, in this order; and the key from
CHARGEHAND_API_KEY, or from that context. A key of a context is sent to the server of the
context alone: with another address, CHARGEHAND_API_KEY must be set.

Contexts are in chargehand/contexts.json in the user's folder of configuration ($XDG_CONFIG_HOME,
or ~/.config), which its owner alone can read.
`},
	"exit-codes": {"what the exit codes mean", `Exit codes:

  0    done
  1    the execution or some item ended in error, an operation failed on some
       execution or did not complete, or the command failed
  2    wrong usage: an unknown flag, a bad value, an input that the workflow refuses
  3    a person is needed (run --no-wait-for-people)
  4    the server is not reachable, or the key is missing or may not do this
  130  interrupted (Ctrl-C); the execution, batch or operation on the server continues
`},
	"output": {"formats and where output goes", `Data goes to standard output; progress and messages for people go to standard error.
Colours are used on a terminal only.

  -o table   columns for people, within the width of the terminal
  -o wide    more columns, whole ids, exact times (UTC)
  -o json    what the API answers; every list is {"data": […], "cursor": …}
  -o jsonl   one line of JSON for each row
  -o yaml    the same as json, as YAML

On a terminal that is too narrow for a table, texts are cut (…), the reason why a task failed
and the meaning of a limit go below their rows, and some columns are left out. Written to a
file or a pipe, a table is not cut; whole ids, exact times and all columns are in -o wide.

run and batch print JSON unless -o says otherwise. Lists take --limit, --cursor, --all
(every row) and --watch.
`},
	"ids": {"how workflows, executions and batches are named", `WORKFLOW is namespace/name (examples/hello) or an id. EXECUTION, BATCH and OPERATION are
ids.

Tables show the last 8 digits of an id. Commands take these 8 digits, a prefix that only
one id has, or the whole id, which -o wide and -o json show. Short ids are looked for in
the newest 10,000 executions or batches.
`},
}
