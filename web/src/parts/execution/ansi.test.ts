import { expect, test } from "vitest";
import { plainLine, spansOf } from "./ansi.ts";

test("what terminals understand is taken out, and text stays", () => {
  expect(plainLine("\u001b[1;31mred\u001b[0m and \u001b]0;title\u0007plain\u001b[2K")).toBe("red and plain");
  expect(plainLine("a\tb <b>[0m] ü")).toBe("a\tb <b>[0m] ü");
  expect(plainLine("50 %\r100 %\u0007")).toBe("50 %100 %");
});

/** The parts of a line, each with its look. */
const look = (line: string) =>
  spansOf(line).map(({ text, colour, bold }) => [text, colour, bold].filter((each) => each !== undefined));

test("colours and weight of terminals are kept", () => {
  expect(look("plain")).toEqual([["plain"]]);
  expect(look("")).toEqual([]);
  expect(look("a\u001b[1;31mred\u001b[0m b")).toEqual([["a"], ["red", "red", true], [" b"]]);
  expect(look("\u001b[92mgreen\u001b[39mplain\u001b[2mdim\u001b[22mplain")).toEqual([
    ["green", "green"],
    ["plain"],
    ["dim", "dim"],
    ["plain"],
  ]);
  expect(look("\u001b[38;5;196mof many\u001b[1;38;2;1;2;3;33mbold\u001b[48;5;31mstill\u001b[m.")).toEqual([
    ["of many"],
    ["bold", "yellow", true],
    ["still", "yellow", true],
    ["."],
  ]);
  expect(look("\u001b[31m\u001b[2K<b>")).toEqual([["<b>", "red"]]);
});
