/** How a string is written in a shell: as it is, whatever it has. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A string of Go that has the text as it is: its escapes are those of JSON. Go refuses a byte order mark in a source. */
const goString = (text: string): string => JSON.stringify(text).replaceAll("\ufeff", "\\ufeff");

/**
 * How programs start a workflow and wait for its end. They read their key from the environment: it is in no snippet. The
 * input is text of JSON, which strings of Python and TypeScript write the same.
 */
export function workflowSnippets(
  origin: string,
  workflow: { namespace: string; name: string },
  input: unknown,
): { name: string; text: string }[] {
  const { namespace, name } = workflow;
  const path = `${origin}/api/v1/workflows/${namespace}.${name}/executions?wait=30s`;
  const body = JSON.stringify({ input });
  return [
    ...requests(path, body),
    {
      name: "Go",
      text: goProgram(
        origin,
        `	input := json.RawMessage(${goString(JSON.stringify(input))})
	execution, err := c.Start(ctx, "${namespace}.${name}", input, client.StartOptions{Wait: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(execution.Status, string(execution.Output))`,
      ),
    },
    {
      name: "CLI",
      text: `chargehand run ${namespace}/${name} --url ${origin} --input ${quoted(JSON.stringify(input))}`,
    },
  ];
}

/** A command that starts a workflow as an execution was started. The environment is that of the key. */
export function startAgain(
  origin: string,
  { workflow, input, labels = {} }: { workflow: string; input?: unknown; labels?: Record<string, string> },
): string {
  const path = `${origin}/api/v1/workflows/${workflow.replace("/", ".")}/executions`;
  const body = { input: input ?? {}, ...(Object.keys(labels).length > 0 && { labels }) };
  return curl(path, JSON.stringify(body));
}

/** How programs start a batch of two items, each with the input, and wait for its end. */
export function batchSnippets(
  origin: string,
  workflow: { namespace: string; name: string },
  input: unknown,
): { name: string; text: string }[] {
  const { namespace, name } = workflow;
  const path = `${origin}/api/v1/workflows/${namespace}.${name}/batch?wait=30s`;
  const items = JSON.stringify([input, input]);
  return [
    ...requests(path, JSON.stringify({ items: [input, input], concurrency: 2 })),
    {
      name: "Go",
      text: goProgram(
        origin,
        `	input := json.RawMessage(${goString(JSON.stringify(input))})
	items := []json.RawMessage{input, input}
	options := client.BatchOptions{Concurrency: 2, Wait: 30 * time.Second}
	batch, err := c.StartBatch(ctx, "${namespace}.${name}", items, options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Status, batch.Completed, "of", batch.Total)`,
      ),
    },
    {
      name: "CLI",
      text: `printf '%s' ${quoted(items)} > items.json
chargehand batch ${namespace}/${name} --url ${origin} --items items.json --concurrency 2`,
    },
  ];
}

/** A whole program of Go, with the lines of its function. */
const goProgram = (origin: string, lines: string) => `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/chargehand/chargehand/client"
)

func main() {
	ctx := context.Background()
	c := client.New("${origin}", os.Getenv("CHARGEHAND_API_KEY"))
${lines}
}
`;

const curl = (path: string, body: string): string => `curl -sSf '${path}' \\
  -H "x-api-key: $CHARGEHAND_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`;

/** How a request with a body of JSON is sent. */
function requests(path: string, body: string): { name: string; text: string }[] {
  return [
    {
      name: "curl",
      text: curl(path, body),
    },
    {
      name: "Python",
      text: `import json, os, urllib.request, uuid

request = urllib.request.Request(
    "${path}",
    data=json.dumps(json.loads(${JSON.stringify(body)})).encode(),
    headers={
        "x-api-key": os.environ["CHARGEHAND_API_KEY"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),
    },
)
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))`,
    },
    {
      name: "TypeScript",
      text: `const answer = await fetch("${path}", {
  method: "POST",
  headers: {
    "x-api-key": process.env.CHARGEHAND_API_KEY ?? "",
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(),
  },
  body: JSON.stringify(${body}),
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`,
    },
  ];
}
