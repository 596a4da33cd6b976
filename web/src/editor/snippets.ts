/** A task to begin with: its name, the lines below it, and what in them is an example, in its order. */
interface Snippet {
  name: string;
  lines: readonly string[];
  examples: readonly string[];
}

const fetches = ["call: http", "with:", "  method: get", "  endpoint: https://example.com/orders"];
const below = (lines: readonly string[]) => lines.map((line) => `      ${line}`);

/** Tasks of each kind, which can be run as they are. They are offered where a list of tasks gets another one. */
export const taskSnippets: Readonly<Record<string, Snippet>> = {
  set: {
    name: "prepare",
    lines: ["set:", "  total: '${ .price * .count }'"],
    examples: ["total", ".price * .count"],
  },
  "call http": { name: "fetch", lines: fetches, examples: ["get", "https://example.com/orders"] },
  "call human": {
    name: "ask",
    lines: [
      "call: human:1.0.0@default",
      "with:",
      "  title: Approve the order",
      "  due: P1D",
      "  outcomes: [approve, { name: reject, style: danger }]",
    ],
    examples: ["Approve the order", "P1D", "approve", "reject"],
  },
  switch: {
    name: "decide",
    lines: [
      "switch:",
      "  - large:",
      "      when: .total > 1000",
      "      then: end",
      "  - other:",
      "      then: continue",
    ],
    examples: ["large", ".total > 1000", "end"],
  },
  for: {
    name: "each",
    lines: ["for:", "  each: item", "  in: '${ .items }'", "do:", "  - fetch:", ...below(fetches)],
    examples: ["item", ".items", "fetch", "get", "https://example.com/orders"],
  },
  fork: {
    name: "both",
    lines: [
      "fork:",
      "  branches:",
      "    - left:",
      "        set: { side: left }",
      "    - right:",
      "        set: { side: right }",
    ],
    examples: ["left", "right"],
  },
  try: {
    name: "attempt",
    lines: [
      "try:",
      "  - fetch:",
      ...below(fetches),
      "catch:",
      "  retry:",
      "    delay: PT1S",
      "    backoff: { exponential: {} }",
      "    limit: { attempt: { count: 5 } }",
    ],
    examples: ["fetch", "get", "https://example.com/orders", "PT1S", "5"],
  },
  wait: { name: "pause", lines: ["wait: PT10S"], examples: ["PT10S"] },
  listen: {
    name: "await",
    lines: ["listen:", "  to:", "    one:", "      with:", "        type: com.example.order.paid"],
    examples: ["com.example.order.paid"],
  },
  emit: {
    name: "tell",
    lines: [
      "emit:",
      "  event:",
      "    with:",
      "      source: https://example.com",
      "      type: com.example.order.placed",
    ],
    examples: ["https://example.com", "com.example.order.placed"],
  },
  "run shell": {
    name: "convert",
    lines: ["run:", "  shell:", "    command: echo done"],
    examples: ["echo done"],
  },
  raise: {
    name: "refuse",
    lines: ["raise:", "  error:", "    type: https://example.com/refused", "    status: 422", "    title: Refused"],
    examples: ["https://example.com/refused", "422", "Refused"],
  },
};

/** A task as it is written after "- " in a column, under a name that its list does not have yet. */
export function taskFrom({ name, lines }: Snippet, column: number, taken: readonly string[]): string {
  let own = name;
  for (let n = 2; taken.includes(own); n++) {
    own = `${name}${n}`;
  }
  return [`${own}:`, ...lines.map((line) => " ".repeat(column + 2) + line)].join("\n");
}

/** A part of a text. */
export interface Part {
  from: number;
  to: number;
}

/** Where a task that was written has its name, and what is an example in it: what its author writes anew. */
export function partsOf(written: string, { examples }: Snippet): Part[] {
  const parts = [{ from: 0, to: written.indexOf(":") }];
  for (const example of examples) {
    const from = written.indexOf(example, parts.at(-1)?.to);
    parts.push({ from, to: from + example.length });
  }
  return parts;
}
