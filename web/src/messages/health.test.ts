import { expect, test } from "vitest";
import page from "../../../docs/reference/doctor.md?raw";
import { health } from "./health.de.ts";

test("all that doctor looks at has a German name", () => {
  const table = page.split("\n\n").find((part) => part.startsWith("| Finding |")) ?? "";
  const names = table
    .split("\n")
    .slice(2)
    .map((row) => row.split("|")[1]?.trim() ?? "")
    .flatMap((cell) => cell.split(", "));
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => health.finding(name) === name)).toEqual([]);
  expect(health.finding("something new")).toBe("something new");
});
