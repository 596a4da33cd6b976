import { expect, test } from "vitest";
import { find, jqOf, pointerOf } from "./jsonpath.ts";

test("a place is written as an expression of jq and as a pointer", () => {
  const cases: [path: (string | number)[], jq: string, pointer: string][] = [
    [[], ".", ""],
    [["a", "b_1"], ".a.b_1", "/a/b_1"],
    [["rows", 0, "x"], ".rows[0].x", "/rows/0/x"],
    [[0], ".[0]", "/0"],
    [["a b", "c"], '.["a b"].c', "/a b/c"],
    [["a", 'say "x"'], '.a["say \\"x\\""]', '/a/say "x"'],
    [["a/b", "~"], '.["a/b"]["~"]', "/a~1b/~0"],
    [["1"], '.["1"]', "/1"],
  ];
  for (const [path, jq, pointer] of cases) {
    expect(jqOf(path)).toBe(jq);
    expect(pointerOf(path)).toBe(pointer);
  }
});

test("keys and values are found in the order in which they are shown, and not too many", () => {
  const value = { Name: "Ada", rows: [{ name: 1 }, { other: "no NAME" }, null], n: 12 };
  expect(find(value, "name", 10)).toEqual([["Name"], ["rows", 0, "name"], ["rows", 1, "other"]]);
  expect(find(value, "name", 2)).toHaveLength(2);
  expect(find(value, "12", 10)).toEqual([["n"]]);
  // An index is no key that a person has written.
  expect(find(["x", "y"], "1", 10)).toEqual([]);
  expect(find("only", "ONLY", 10)).toEqual([[]]);
});

test("a value of any depth is searched", () => {
  let deep: unknown = "end";
  for (let n = 0; n < 5000; n++) {
    deep = [deep];
  }
  expect(find(deep, "end", 10)).toHaveLength(1);
});
