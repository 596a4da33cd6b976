/** How programs use a key. They read it from the environment: it is in no snippet. */
export const snippets = (origin: string): { name: string; text: string }[] => [
  {
    name: "curl",
    text: `curl -sSf ${origin}/api/v1/workflows -H "x-api-key: $CHARGEHAND_API_KEY"`,
  },
  {
    name: "Python",
    text: `import json, os, urllib.request

request = urllib.request.Request(
    "${origin}/api/v1/workflows",
    headers={"x-api-key": os.environ["CHARGEHAND_API_KEY"]},
)
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))`,
  },
  {
    name: "TypeScript",
    text: `const answer = await fetch("${origin}/api/v1/workflows", {
  headers: { "x-api-key": process.env.CHARGEHAND_API_KEY ?? "" },
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`,
  },
  {
    name: "CLI",
    text: `chargehand workflows list --url ${origin}`,
  },
];
