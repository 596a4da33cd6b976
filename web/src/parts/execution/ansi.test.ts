import { expect, test } from "vitest";
import { plainLine } from "./ansi.ts";

test("what terminals understand is taken out, and text stays", () => {
  expect(plainLine("\u001b[1;31mred\u001b[0m and \u001b]0;title\u0007plain\u001b[2K")).toBe("red and plain");
  expect(plainLine("a\tb <b>[0m] ü")).toBe("a\tb <b>[0m] ü");
  expect(plainLine("50 %\r100 %\u0007")).toBe("50 %100 %");
});
