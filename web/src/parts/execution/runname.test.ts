import { expect, test } from "vitest";
import type { Entry, LogLine } from "../../api/detail.ts";
import { namesOf, runName, textOf } from "./runname.ts";

const run = (seq: number, name = `task ${seq}`): Entry =>
  ({
    seq,
    name,
    kind: "call",
    reference: "/do/0/a",
    iteration: 0,
    iterations: [],
    attempt: 1,
    phase: "completed",
  }) as unknown as Entry;

const line = (seq: number | null, text = "text"): LogLine => ({
  line: 1,
  at: "2026-11-24T10:00:00.000Z",
  seq,
  level: "info",
  stream: "log",
  text,
});

test("a run has the name of its task, its pass and its attempt", () => {
  expect(runName({ name: "pay", iterations: [], attempt: 1 })).toBe("pay");
  expect(runName({ name: "pay", iterations: [0, 11], attempt: 3 })).toBe("pay · pass 1.12 · attempt 3");
});

test("the names of many runs are asked for by the hundred, and each hundred once", async () => {
  const asked: number[] = [];
  const names = await namesOf([line(1), line(7), line(null), line(250), line(7)], async (after) => {
    asked.push(after);
    return Array.from({ length: 100 }, (_, i) => run(after + 1 + i));
  });
  expect(asked).toEqual([0, 200]);
  expect([names.get(1), names.get(7), names.get(250)]).toEqual(["task 1", "task 7", "task 250"]);
});

test("a run that began after its hundred was read is asked for by itself, and one that was dropped has no name", async () => {
  const asked: number[] = [];
  const names = await namesOf([line(3), line(5)], async (after) => {
    asked.push(after);
    return after === 2 ? [run(3)] : [run(1)];
  });
  expect(asked).toEqual([0, 2, 4]);
  expect([names.get(3), names.has(5)]).toEqual(["task 3", false]);
});

test("the questions for names are bounded", async () => {
  let asked = 0;
  const lines = Array.from({ length: 20_000 }, (_, i) => line(i * 100 + 1));
  const names = await namesOf(lines, async (after) => {
    asked++;
    return [run(after + 1)];
  });
  expect(asked).toBe(100);
  expect(names.size).toBe(100);
});

test("a line of a file names its task, and a name makes no line", () => {
  const names = new Map([
    [1, "pay · pass 2"],
    [2, "evil\n2026 critical forged\r\u2028x\u001b[31m\u202ey\u0000\u0085z"],
  ]);
  expect(textOf([line(1, "a\u001b[1mb"), line(null), line(9), line(2)], names)).toBe(
    "2026-11-24T10:00:00.000Z info [pay · pass 2] ab\n" +
      "2026-11-24T10:00:00.000Z info text\n" +
      "2026-11-24T10:00:00.000Z info text\n" +
      "2026-11-24T10:00:00.000Z info [evil 2026 critical forged x y z] text\n",
  );
});
