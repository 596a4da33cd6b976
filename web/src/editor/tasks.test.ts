import { yamlLanguage } from "@codemirror/lang-yaml";
import { expect, test } from "vitest";
import { lengthOfTask, namesBeside, renamed, tasksIn, type Change } from "./tasks.ts";

const parse = (text: string) => yamlLanguage.parser.parse(text);
const apply = (text: string, changes: readonly Change[]) =>
  changes.toReversed().reduce((rest, { from, to, insert }) => rest.slice(0, from) + insert + rest.slice(to), text);

const yaml = `do:
  - decide:
      switch:
        - large: { when: .total > 1, then: ask }
        - other: { then: "ask" }
  - each:
      for: { each: x }
      do:
        - ask: # another one, of another list
            set: { then: ask }
            then: ask
  - ask:
      try:
        - inner: { wait: { seconds: 1 }, then: exit }
      catch:
        do:
          - ask: { set: {} }
  - last: { set: { ask: 1 }, then: ask }
`;

test("tasks of all lists are found, and nothing else", () => {
  const found = tasksIn(parse(yaml), yaml);
  expect(found.map((task) => task.path.join("/"))).toEqual([
    "do/0/decide",
    "do/1/each",
    "do/1/each/do/0/ask",
    "do/2/ask",
    "do/2/ask/try/0/inner",
    "do/2/ask/catch/do/0/ask",
    "do/3/last",
  ]);
  expect(found.every((task) => yaml.startsWith(task.name, task.from))).toBe(true);
  expect(lengthOfTask(["do", 0, "decide", "switch", 1, "other"])).toBe(3);
  expect(lengthOfTask(["document", "name"])).toBe(0);
});

test("a new name reaches what leads to the task, and no other of its name", () => {
  const tree = parse(yaml);
  expect(namesBeside(tree, yaml, ["do", 2, "ask"])).toEqual(["decide", "each", "last"]);
  const after = apply(yaml, renamed(tree, yaml, ["do", 2, "ask"], "question"));
  expect(after.split("\n").filter((line, i) => line !== yaml.split("\n")[i])).toEqual([
    "        - large: { when: .total > 1, then: question }",
    "        - other: { then: question }",
    "  - question:",
    "  - last: { set: { ask: 1 }, then: question }",
  ]);
  const inner = apply(yaml, renamed(tree, yaml, ["do", 1, "each", "do", 0, "ask"], "no"));
  expect(inner).toContain('- "no": # another one');
  expect(inner).toContain('            then: "no"\n  - ask:');
  expect(renamed(tree, yaml, ["do", 9, "gone"], "x")).toEqual([]);
});

test("in JSON names stay in quotes", () => {
  const json = '{"do":[{"a":{"set":{},"then":"b"}},{"b":{"set":{}}}]}';
  expect(apply(json, renamed(parse(json), json, ["do", 1, "b"], "c"))).toBe(
    '{"do":[{"a":{"set":{},"then":"c"}},{"c":{"set":{}}}]}',
  );
});
