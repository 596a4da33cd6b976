import { expect, test } from "vitest";
import { readSeparated } from "./separated.ts";

const rows = (text: string, separator: "," | "\t" = ",", partial = false) => {
  const table = readSeparated(text, separator, partial);
  return table && [table.names, ...table.rows];
};

test("values are between commas or tabs, and lines end in three ways", () => {
  expect(rows("a,b\r\n1,2\r\n3,4")).toEqual([
    ["a", "b"],
    ["1", "2"],
    ["3", "4"],
  ]);
  expect(rows("a\tb,c\n1\t2\n", "\t")).toEqual([
    ["a", "b,c"],
    ["1", "2"],
  ]);
  expect(rows("\uFEFFa,b\r1,\r")).toEqual([
    ["a", "b"],
    ["1", ""],
  ]);
  expect(rows("a,b\n,\n1,")).toEqual([
    ["a", "b"],
    ["", ""],
    ["1", ""],
  ]);
});

test("a value in quotes holds commas, line breaks and quotes", () => {
  expect(rows('name,say\n"lamp, red","a\r\n""b"""\n')).toEqual([
    ["name", "say"],
    ["lamp, red", 'a\r\n"b"'],
  ]);
});

test("lines that are empty are none, and neither is an empty text", () => {
  expect(rows("")).toBeUndefined();
  expect(rows("\n\n")).toBeUndefined();
  expect(rows("a\n\n1\n")).toEqual([["a"], ["1"]]);
});

test("what is not well formed is shown as it is", () => {
  expect(rows('a,b\n"x" y,2\n3,4')).toEqual([
    ["a", "b"],
    ['"x" y', "2"],
    ["3", "4"],
  ]);
  expect(rows('a\n"open')).toEqual([["a"], ['"open']]);
});

test("the last line of a text that is cut off is left out", () => {
  expect(rows("a,b\n1,2\n3,", ",", true)).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
});

test("a line that ends where the text is cut off is whole", () => {
  expect(rows("a,b\n1,2\n", ",", true)).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
});

test("rows, columns and cells are bounded, and it is known that others are left out", () => {
  const long = readSeparated(`n\n${"1\n".repeat(1001)}`, ",", false);
  expect([long?.rows.length, long?.cut]).toEqual([1000, true]);
  const whole = readSeparated(`n\n${"1\n".repeat(1000)}`, ",", false);
  expect([whole?.rows.length, whole?.cut]).toEqual([1000, false]);
  const wide = readSeparated(`${"n,".repeat(150)}\n${`${"1,".repeat(150)}\n`.repeat(300)}`, ",", false);
  expect([wide?.names.length, wide?.rows[0]?.length, wide?.rows.length, wide?.cut]).toEqual([100, 100, 200, true]);
});

test("a mebibyte is read in no time, however it is made", () => {
  for (const text of [
    `"${"a".repeat(1 << 20)}"`,
    '"'.repeat(1 << 20),
    '"a'.repeat(1 << 19),
    `a\n${'"",'.repeat(300_000)}`,
    ",".repeat(1 << 20),
  ]) {
    const begun = performance.now();
    readSeparated(text, ",", true);
    expect(performance.now() - begun).toBeLessThan(2000);
  }
});
