import { expect, test } from "vitest";
import { after, differ } from "./rows.ts";

const rows = (ids: string) => ids.split("").map((id) => ({ id }));
const differs = (known: string, fresh: string, last: boolean) => {
  const { newer, gone } = differ(rows(known), rows(fresh), last);
  return [newer, [...gone].join("")];
};

test("what is new and what is gone is found, as far as the first page reaches", () => {
  expect(differs("abc", "abc", true)).toEqual([0, ""]);
  expect(differs("abc", "xabc", true)).toEqual([1, ""]);
  expect(differs("abc", "ac", true)).toEqual([0, "b"]);
  expect(differs("abc", "ab", true)).toEqual([0, "c"]);
  expect(differs("abc", "ab", false)).toEqual([0, ""]);
  expect(differs("abcdef", "axc", false)).toEqual([1, "b"]);
  expect(differs("abc", "", true)).toEqual([0, "abc"]);
  expect(differs("abc", "xyz", false)).toEqual([3, ""]);
  expect(differs("", "x", true)).toEqual([1, ""]);
});

const next = (id: string, there = "abcd") => after(rows("abcd"), id, (row) => there.includes(row.id))?.id;

test("after a row comes the next one of those left, after the last one the one before", () => {
  expect(next("a")).toBe("b");
  expect(next("a", "ad")).toBe("d");
  expect(next("d")).toBe("c");
  expect(next("d", "a")).toBe("a");
  expect(next("a", "a")).toBeUndefined();
  expect(next("unknown")).toBe("a");
});
