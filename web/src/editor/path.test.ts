import { yamlLanguage } from "@codemirror/lang-yaml";
import { expect, test } from "vitest";
import { fieldsOf, find, namedIn, pathAt, pathOf, pointerOf, positionOf, tasksOf } from "./path.ts";

const yaml = `# a comment
document:
  dsl: '1.0.3'
  namespace: shop
  name: "order"
  version: 1.0.0
do:
  - first:
      set: { a: 1, b: 'it''s' }
  - a/b:
      for: { each: x }
      do:
        - inner: &x
            wait: { seconds: 1 }
`;
const json = '{"document":{"namespace":"shop","name":"order","version":"1"},"do":[{"first":{"set":{"a":1}}}]}';
const parse = (text: string) => yamlLanguage.parser.parse(text);

test("a position has a place, and a place a position", () => {
  const tree = parse(yaml);
  const at = (part: string) => pointerOf(pathAt(tree, yaml, yaml.indexOf(part)));
  expect(at("order")).toBe("/document/name");
  expect(at("b: 'it")).toBe("/do/0/first/set/b");
  expect(at("seconds")).toBe("/do/1/a~1b/do/0/inner/wait/seconds");
  expect(at("  - a/b")).toBe("/do/1/a~1b");
  const found = find(tree, yaml, pathOf("/do/1/a~1b/do/0/inner"));
  expect(yaml.slice(found?.key?.from, found?.key?.to)).toBe("inner");
  expect(find(tree, yaml, ["do", 7])).toBeUndefined();
});

test("JSON is read as YAML is", () => {
  const tree = parse(json);
  expect(pointerOf(pathAt(tree, json, json.indexOf('"a"')))).toBe("/do/0/first/set/a");
  expect(namedIn(tree, json)).toEqual({ namespace: "shop", name: "order", version: "1" });
});

test("names, fields and tasks are read as far as they are written", () => {
  const tree = parse(yaml);
  expect(namedIn(tree, yaml)).toEqual({ namespace: "shop", name: "order", version: "1.0.0" });
  expect(tasksOf(find(tree, yaml, ["do"])?.value, yaml)).toEqual(["first", "a/b"]);
  expect([...fieldsOf(find(tree, yaml, ["do", 0, "first", "set"])?.value, yaml)]).toEqual([
    ["a", "1"],
    ["b", "it's"],
  ]);
  expect(namedIn(parse("document:\n  name:"), "document:\n  name:")).toEqual({ namespace: "", name: "", version: "" });
});

test("lines and columns count characters from 1", () => {
  const text = "a: 1\n🙂b: 2\nc";
  expect(positionOf(text, 1, 4)).toBe(3);
  expect(positionOf(text, 2, 2)).toBe(7);
  expect(positionOf(text, 2, 99)).toBe(11);
  expect(positionOf(text, 9, 1)).toBe(12);
});
