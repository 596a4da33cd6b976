import { yamlLanguage } from "@codemirror/lang-yaml";
import { expect, test } from "vitest";
import { aboutAt, offersAt } from "./complete.ts";
import type { Schema } from "./schema.ts";
import { partsOf, taskFrom, taskSnippets } from "./snippets.ts";

/** What the schema of definitions is made of, in short. */
const root: Schema = {
  type: "object",
  properties: {
    document: { $ref: "#/$defs/document", description: "What it is." },
    do: { $ref: "#/$defs/tasks" },
  },
  $defs: {
    document: { type: "object", properties: { dsl: { type: "string", default: "1.0.3" }, name: { type: "string" } } },
    tasks: { type: "array", items: { type: "object", additionalProperties: { $ref: "#/$defs/task" } } },
    task: {
      type: "object",
      properties: {
        call: { type: "string", examples: ["http"] },
        with: { type: "object" },
        do: { $ref: "#/$defs/tasks" },
        then: { anyOf: [{ enum: ["continue", "exit", "end"] }, { type: "string" }] },
        for: { type: "object", properties: { each: { type: "string" } } },
      },
      allOf: [
        {
          if: { properties: { call: { const: "http" } }, required: ["call"] },
          then: { properties: { with: { type: "object", properties: { method: { enum: ["get", "post"] } } } } },
        },
      ],
    },
  },
};

/** Names that are offered where | is. */
function offered(text: string): string[] {
  const at = text.indexOf("|");
  return offersAt(root, [["$context", ""]], text.replace("|", ""), at).offers.map((offer) => offer.name);
}

test("keys are offered where keys come, without those that are there", () => {
  expect(offered("|")).toEqual(["document", "do"]);
  expect(offered("document:\n  name: x\n  |\ndo: []")).toEqual(["dsl"]);
  expect(offered("document:\n  d|")).toEqual(["dsl", "name"]);
  expect(offered("do:\n  - first:\n      |")).toContain("call");
  expect(offered("do:\n  - first:\n      call: http\n      |\n  - next:\n      call: http")).not.toContain("call");
});

test("what else a task has decides what is offered", () => {
  expect(offered("do:\n  - a:\n      call: http\n      with:\n        |")).toEqual(["method"]);
  expect(offered("do:\n  - a:\n      call: http\n      with: { | }")).toEqual(["method"]);
  expect(offered("do:\n  - a:\n      call: grpc\n      with:\n        |")).toEqual([]);
  expect(offered("do:\n  - a:\n      call: http\n      with:\n        method: |")).toEqual(["get", "post"]);
});

test("values are names of tasks, of parts, and those that the schema has", () => {
  expect(offered("do:\n  - a:\n      call: |")).toEqual(["http"]);
  expect(offered("use:\n  functions:\n    f: {}\ndo:\n  - a:\n      call: |")).toEqual(["f", "http"]);
  const then = "do:\n  - a:\n      then: |\n  - b:\n      do:\n        - inner: {}\n";
  expect(offered(then)).toEqual(["b", "continue", "exit", "end"]);
});

test("expressions are offered names of the language and of the loops around them", () => {
  const text = "do:\n  - a:\n      for: { each: file }\n      do:\n        - b:\n            with: ${ $| }";
  expect(offered(text)).toEqual(["$file", "$index", "$context"]);
});

test("keys and variables say what they stand for", () => {
  const text = "document:\n  name: x\ndo:\n  - a:\n      set: ${ $context.$input }\n";
  const about = (part: string) => {
    const found = aboutAt(
      root,
      [["$context", "What was exported"]],
      yamlLanguage.parser.parse(text),
      text,
      text.indexOf(part) + 1,
    );
    return found && [text.slice(found.from, found.to), found.text, found.page];
  };
  expect(about("document")).toEqual(["document", "What it is.", "document"]);
  expect(about("$context")).toEqual(["$context", "What was exported", "expressions"]);
  expect(about("$input")).toBeUndefined();
  expect(about("x\n")).toBeUndefined();
});

test("whole tasks are offered where a list gets another one, under names that it does not have", () => {
  const all = Object.keys(taskSnippets);
  expect(offered("do:\n  - |")).toEqual(all);
  expect(offered("do:\n  - a:\n      do:\n        - s|")).toEqual(all);
  expect(offered("do:\n  - a:\n      switch:\n        - |")).toEqual([]);
  expect(offered("do:\n  - a: {}\n    |")).toEqual([]);
  const text = "do:\n  - pause:\n      wait: PT1S\n  - ";
  const { offers } = offersAt(root, [], text, text.length);
  expect(offers.find(({ name }) => name === "wait")?.written).toBe("pause2:\n      wait: PT10S");
});

test("of a whole task, its name and its examples are written anew", () => {
  for (const snippet of Object.values(taskSnippets)) {
    const written = taskFrom(snippet, 4, [snippet.name]);
    const parts = partsOf(written, snippet).map(({ from, to }) => written.slice(from, to));
    expect(parts).toEqual([`${snippet.name}2`, ...snippet.examples]);
  }
});
