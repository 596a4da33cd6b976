import { expect, test } from "vitest";
import { csvLines, jsonLines } from "./csv.ts";

test("a cell with a comma, a quote or a line break is quoted", () => {
  expect(
    csvLines([
      ["a", "b"],
      ["1,5", 'say "yes"'],
      ["x\ny", "x\r\ny"],
    ]),
  ).toBe('a,b\r\n"1,5","say ""yes"""\r\n"x\ny","x\r\ny"\r\n');
});

test("what begins like a formula is text in a spreadsheet", () => {
  for (const text of ["=1+1", "+1", "-1", "@a", "\ta", "-"]) {
    expect(csvLines([[text]])).toBe(`'${text}\r\n`);
  }
  expect(csvLines([["\r=1"]])).toBe(`"'\r=1"\r\n`);
  expect(csvLines([["=A1,B1"]])).toBe(`"'=A1,B1"\r\n`);
  expect(csvLines([["a=1", "a-b"]])).toBe("a=1,a-b\r\n");
});

test("numbers stay numbers, and nothing is an empty cell", () => {
  expect(csvLines([[-1.5, 0, false, undefined, ""]])).toBe("-1.5,0,false,,\r\n");
});

test("a line of JSON has no line break of its own", () => {
  expect(jsonLines([{ text: "a\nb" }, null])).toBe('{"text":"a\\nb"}\nnull\n');
});
