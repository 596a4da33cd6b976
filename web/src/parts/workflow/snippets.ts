/** How a string is written in a shell: as it is, whatever it has. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

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
    {
      name: "curl",
      text: `curl -sSf '${path}' \\
  -H "x-api-key: $CHARGEHAND_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`,
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
    {
      name: "CLI",
      text: `chargehand run ${namespace}/${name} --url ${origin} --input ${quoted(JSON.stringify(input))}`,
    },
  ];
}
